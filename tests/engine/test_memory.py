"""What the engine takes: weights that stay, slots, KV caches and little else, however long it runs.

Measured in processes of their own, on the real engine.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.models import tiny_model

MB = 1 << 20
ROOT = Path(__file__).parents[2]

# Replies of 50 tokens to 4 prompts at once, in batches until so many decode steps are done.
REPLY = """
import json, os, pathlib, subprocess, sys
from engine.cache_size import CacheSize
from engine.cli.replies import Replies, Reply
from engine.engine import Engine
from engine.options import EngineOptions
from engine.sampling import SamplingParams

def peak(engine):
    # Linux counts the parent's peak to getrusage's of a child, but not to this.
    status = pathlib.Path("/proc/self/status")
    if not status.exists():
        return engine.stats().peak_bytes
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024

def batches(engine, n_step):
    while engine.stats().steps < n_step:
        replies = []
        for at in range(4):
            params = SamplingParams(seed=at, max_tokens=50, ignore_end=True, temperature=1)
            prompt = f"{at} " * 20
            replies.append(Reply(engine.submit_prompt(prompt, params), prompt))
        running = Replies(engine, replies)
        running.run(engine.drain_events)
        assert not running.failures(), running.failures()
"""


def child(code: str, model: Path, home: Path) -> Any:
    """What `code`, after REPLY, prints as JSON; it finds the model in argv."""
    done = subprocess.run(
        [sys.executable, "-c", REPLY + code, str(model)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "RUNAHEAD_HOME": str(home)},
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_model_larger_than_its_cache_takes_what_was_promised(home: Path) -> None:
    sizes = {"n_layer": 10, "n_expert": 32, "n_embd": 1024, "n_ff_exp": 1024}
    model = tiny_model("q4_0", **sizes)
    found = child(
        """
options = EngineOptions(cache=CacheSize(fraction=0.2), context=512, max_requests=4, n_threads=1)
with Engine.open(sys.argv[1], options) as engine:  # builds the pack as well
    batches(engine, 100)
    info, stats = engine.info, engine.stats()
    print(json.dumps({"experts": info.experts_total_bytes, "resident": info.resident_bytes,
                      "cache": stats.cache_bytes, "peak": peak(engine)}))
""",
        model,
        home,
    )
    kv = 4 * 512 * 10 * 2 * (2 * 64) * 2  # requests, tokens, layers, K and V, two heads of F16
    allowed = found["resident"] + found["cache"] + kv + 300 * MB
    print({name: f"{n / MB:.0f} MB" for name, n in {**found, "kv": kv}.items()})
    assert found["experts"] > allowed  # so that memory for all experts would be seen
    assert found["peak"] <= allowed


def test_memory_does_not_grow_with_the_steps(home: Path) -> None:
    found = child(
        """
def resident():
    return 1024 * int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())]))

options = EngineOptions(cache=CacheSize(fraction=0.6), context=256, n_threads=1)
with Engine.open(sys.argv[1], options) as engine:
    batches(engine, 200)
    before = resident()
    batches(engine, 2200)
    print(json.dumps({"before": before, "grown": resident() - before}))
""",
        tiny_model("q4_0"),
        home,
    )
    print({name: f"{n / MB:.1f} MB" for name, n in found.items()})
    assert found["grown"] < 6 * MB
