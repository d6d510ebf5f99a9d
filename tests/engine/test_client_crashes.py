"""When an engine's process dies, hangs or refuses: what its client says, and that it goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine import client as client_module
from engine.bench_models.gguf_writer import GgufWriter, string
from engine.cache_size import CacheSize
from engine.cli.replies import Replies, Reply
from engine.client import EngineClient, TokensCounted
from engine.engine import Engine
from engine.engine_state import EngineState
from engine.link_speed import LinkSpeed
from engine.request import Message
from engine.runlog.reader import RunLog
from tests.helpers import listening
from tests.helpers.listening import Ear, alive, asked, options, wait_until_gone
from tests.helpers.models import tiny_model

ROOT = Path(__file__).parents[2]
SLOW = {"link": LinkSpeed.parse("1MB/s"), "cache": CacheSize(fraction=0.3)}


@pytest.fixture(scope="module")
def model() -> Path:
    return tiny_model("q4_0")


@pytest.fixture
def ear() -> Iterator[Ear]:
    made = EngineClient()
    yield Ear(made)
    made.close()


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has the client start a host that behaves like this."""

    def be(behaviour: str) -> None:
        monkeypatch.setenv("RUNAHEAD_TEST_HOST", behaviour)
        monkeypatch.setenv("RUNAHEAD_TEST_KIND", "engine")
        monkeypatch.setattr(client_module, "HOST", "tests.helpers.odd_host")

    return be


def opened(ear: Ear, model: Path, **fields: object) -> int:
    """The process that has the model open."""
    pid = listening.opened(ear, model, **fields).pid
    assert pid is not None
    return pid


def refused(ear: Ear, path: Path, **fields: object) -> EngineState:
    ear.client.load(path, options(**fields))
    state = ear.phase("ready", "failed")
    assert (state.phase, state.crashed, state.info) == ("failed", False, None)
    assert ear.client.pid is None
    return state


def test_a_killed_engine_ends_its_requests_with_the_text_so_far_and_one_call_restarts(
    ear: Ear, model: Path
) -> None:
    pid = opened(ear, model)
    session = ear.client.open_session()
    numbers = [ear.client.submit(asked("One", 480, session=session))]
    numbers.append(ear.client.submit(asked("Two", 480)))
    ear.until(lambda: all(len(ear.tokens(number)) > 5 for number in numbers))
    os.kill(pid, signal.SIGKILL)
    ends = [ear.end(number) for number in numbers]
    assert {end.reason for end in ends} == {"error"}
    assert all(end.detail.startswith("The engine stopped") for end in ends)
    state = ear.states()[-1]
    assert (state.phase, state.crashed) == ("failed", True)
    assert "memory" in state.reason and "cache" in state.hint
    assert ear.events.index(ends[-1]) < max(
        at for at, event in enumerate(ear.events) if getattr(event, "state", None) is state
    )
    kept = [ear.tokens(number) for number in numbers]
    assert all(kept)

    ear.client.restart()
    assert ear.phase("ready", "failed").phase == "ready"
    again = ear.client.submit(asked("One", 480, session=session))
    assert again not in numbers
    assert ear.end(again).reason == "length"
    assert ear.tokens(again)[: len(kept[0])] == kept[0]
    assert ear.used(again).reused_tokens == 0
    more = ear.client.submit(asked("One more", 2, session=session))
    ear.end(more)
    assert ear.used(more).reused_tokens == len("One")


def test_a_query_of_a_dead_engine_is_answered(ear: Ear, model: Path) -> None:
    pid = opened(ear, model)
    os.kill(pid, signal.SIGSTOP)
    query = ear.client.count_tokens([Message("user", "x")])
    os.kill(pid, signal.SIGKILL)
    ear.phase("failed")
    assert TokensCounted(query, -1) in ear.events


def test_restart_keeps_the_policy_and_the_link_but_not_a_larger_cache(
    ear: Ear, model: Path, home: Path
) -> None:
    pid = opened(ear, model, run_log=True, cache=CacheSize(fraction=0.5))
    ear.client.set_policy("lockstep-lfu")
    ear.client.set_link(LinkSpeed.parse("2GB/s"))
    ear.client.set_cache_size(CacheSize())
    ear.client.count_tokens([Message("user", "x")])
    ear.until(lambda: bool(ear.of(TokensCounted)))  # answered in order, so all was done
    os.kill(pid, signal.SIGKILL)
    ear.phase("failed")
    ear.client.restart()
    ear.phase("ready")
    runs = sorted((home / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)
    asked_for = RunLog(runs[-1]).meta.options
    assert len(runs) == 2
    assert asked_for["policy"] == "lockstep-lfu"
    assert asked_for["link"] == {"bytes_per_s": 2_000_000_000}
    assert asked_for["cache"]["fraction"] == 0.5


def test_what_a_crashing_process_said_last_becomes_the_reason(
    ear: Ear, model: Path, odd: Callable[[str], None]
) -> None:
    odd("leaves")
    ear.client.load(model, options())
    state = ear.phase("failed")
    assert state.crashed
    assert "code 7" in state.reason and "CHECK failed: 1 == 2 (somewhere.cpp:3)" in state.reason
    assert ".log" in state.hint
    odd("crashes")
    ear.client.restart()
    ear.phase("starting")
    state = ear.phase("failed")
    assert state.crashed
    assert "SIGSEGV" in state.reason and "Segmentation fault" in state.reason
    assert "File " not in state.reason  # the rest of the report stays in the log


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("talks nonsense", "cannot be read"),
        ("announces too much", "1073741824 bytes"),
        ("says what it may not", "Wish"),
        ("hangs up", "did not answer"),
    ],
)
def test_a_process_that_talks_nonsense_is_ended_with_a_sentence(
    ear: Ear, model: Path, odd: Callable[[str], None], behaviour: str, said: str
) -> None:
    odd(behaviour)
    ear.client.load(model, options())
    pid = ear.client.pid
    state = ear.phase("failed")
    assert state.crashed and said in state.reason
    ear.client.close()
    assert pid is not None and not alive(pid)


@pytest.mark.parametrize(
    ("stage", "store"), [("pack", "pack"), ("weights", "gguf"), ("experts", "memory")]
)
def test_a_load_is_cancelled_at_any_stage_and_leaves_nothing(
    ear: Ear, model: Path, odd: Callable[[str], None], home: Path, stage: str, store: str
) -> None:
    odd(f"stays in {stage}")
    ear.client.load(model, options(store=store))
    ear.until(lambda: ear.client.state.stage == stage)
    pid = ear.client.pid
    assert pid is not None and ear.client.state.phase == "loading"
    ear.client.unload()
    ear.listen()
    assert ear.client.state == EngineState()
    ear.client.close()
    assert not alive(pid)
    left = [path for path in home.rglob("*") if path.is_file()]
    assert left == []


def test_an_engine_that_hangs_is_killed_after_a_second(ear: Ear, model: Path) -> None:
    pid = opened(ear, model)
    os.kill(pid, signal.SIGSTOP)
    ear.client.load(model, options())
    assert ear.client.state.phase == "starting" and ear.client.pid is None
    began = time.monotonic()
    ear.until(lambda: ear.client.pid is not None)
    assert 0.9 < time.monotonic() - began < 10
    assert not alive(pid)
    assert ear.phase("ready", "failed").phase == "ready"


def test_a_process_that_never_listens_is_killed_after_a_second(
    ear: Ear, model: Path, odd: Callable[[str], None]
) -> None:
    odd("is deaf")
    ear.client.load(model, options())
    pid = ear.client.pid
    ear.client.unload()
    ear.client.close()
    assert pid is not None and not alive(pid)


def test_closing_at_any_moment_leaves_no_process(model: Path) -> None:
    for wait_s in (0, 0.02, 0.1, 0.2, 0.4):
        ear = Ear(EngineClient())
        ear.client.load(model, options())
        pid = ear.client.pid
        assert pid is not None
        time.sleep(wait_s)
        ear.client.close()
        assert not alive(pid)


def test_every_refused_load_says_why_and_what_to_try(ear: Ear, model: Path, tmp_path: Path) -> None:
    dense = tmp_path / "dense.gguf"
    with dense.open("wb") as file:
        GgufWriter(file, {"general.architecture": string("llama")}, [])
    assert "llama" in refused(ear, dense).reason
    text = tmp_path / "notes.txt"
    text.write_text("This is no model at all.")
    state = refused(ear, text)
    assert "notes.txt" in state.reason and "not a GGUF" in state.reason and state.hint
    state = refused(ear, tmp_path / "absent.gguf")
    assert "absent.gguf" in state.reason and state.hint
    state = refused(ear, model, context=100_000)
    assert "context 100000" in state.reason and "4096" in state.reason
    assert "no-such-policy" in refused(ear, model, policy="no-such-policy").reason
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(model.read_bytes()[:-5000])
    state = refused(ear, cut)
    assert "cut.gguf" in state.reason and "damaged" in state.reason
    broken = tmp_path / "\udcff.gguf"
    assert "path" in refused(ear, broken).reason
    pack = tmp_path / "mine.pack"
    pack.write_text("mine")
    assert "mine.pack" in refused(ear, model, store="pack", pack_path=str(pack)).reason
    assert pack.read_text() == "mine"
    ear.client.load(model, options())
    assert ear.phase("ready", "failed").phase == "ready"


def test_a_terminals_ctrl_c_and_the_kernels_need_for_memory_are_prepared_for(
    ear: Ear, model: Path
) -> None:
    pid = opened(ear, model)
    assert os.getsid(pid) == pid != os.getsid(0)
    os.kill(pid, signal.SIGINT)
    assert ear.end(ear.client.submit(asked("x", 4))).reason == "length"
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"


PARENT = """
import sys, time
from pathlib import Path
from engine.cli.replies import Replies, Reply
from engine.client import EngineClient
from engine.options import EngineOptions
from engine.request import Request
from engine.sampling import SamplingParams

client = EngineClient()
client.load(Path(sys.argv[1]), EngineOptions(n_threads=1, context=512, run_log=False))
print(client.pid, flush=True)
while True:
    for event in client.poll():
        phase = client.state.phase
        print(phase, flush=True)
        if phase == "ready" and type(event).__name__ == "StateChanged":
            params = SamplingParams(max_tokens=480, ignore_end=True)
            client.submit(Request(prompt="x", params=params))
        if type(event).__name__ == "Piece":
            print("piece", flush=True)
    time.sleep(0.002)
"""


@pytest.mark.parametrize("moment", ["start", "starting", "loading", "ready", "piece"])
def test_a_killed_parent_leaves_no_engine_behind(model: Path, home: Path, moment: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(model)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "RUNAHEAD_HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        while moment != "start" and parent.stdout.readline().strip() != moment:
            assert parent.poll() is None
        assert alive(pid) or moment == "start"
        parent.kill()
        wait_until_gone(pid, 2.0)


def test_a_dead_engines_text_equals_the_beginning_of_a_whole_one(ear: Ear, model: Path) -> None:
    pid = opened(ear, model)
    number = ear.client.submit(asked("One", 480))
    ear.until(lambda: len(ear.tokens(number)) > 20)
    os.kill(pid, signal.SIGTERM)
    ear.end(number)
    with Engine.open(model, options()) as engine:
        whole = Reply(engine.submit(asked("One", 480)), "One")
        Replies(engine, [whole]).run()
    assert whole.text.startswith(ear.text(number)) and ear.text(number)
    assert "SIGTERM" in ear.client.state.reason
