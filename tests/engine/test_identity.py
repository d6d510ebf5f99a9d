"""A request's logits have the same bits whatever runs beside it and whatever the cache does."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine._native import Engine, presets
from tests.helpers.family_checks import logits_beside_others
from tests.helpers.models import FILE_TYPES, tiny_model
from tests.helpers.native_runs import finish, logits_of, open_engine, text_tokens

PROMPT = text_tokens(40, seed=1)
FORCED = text_tokens(12, seed=2)


def alone(type: str, **options: Any) -> NDArray[np.float32]:
    """The logits of one request with nothing beside it and all experts cached."""
    engine = open_engine(tiny_model(type), **options)
    logits = logits_of(engine, PROMPT, FORCED)
    engine.close()
    return logits


def beside_others(engine: Engine, n: int) -> NDArray[np.float32]:
    """The same request's logits, decoded with n - 1 others of other lengths."""
    return logits_beside_others(engine, PROMPT, FORCED, n, others_tokens=30)


@pytest.mark.parametrize("type", FILE_TYPES)
def test_group_size_does_not_matter(type: str) -> None:
    expected = alone(type)
    engine = open_engine(tiny_model(type))
    for n in (1, 2, 3, 5, 8, 16):
        np.testing.assert_array_equal(beside_others(engine, n), expected, err_msg=f"{n} requests")
    engine.close()


@pytest.mark.parametrize("type", ["q4_0", "q4_k_m", "q6_k", "f32"])
@pytest.mark.parametrize("policy", ["bevy", "lockstep-lru", "runahead/fifo/global-srtf/lru/none"])
def test_policy_and_cache_size_do_not_matter(type: str, policy: str) -> None:
    expected = alone(type)
    model = tiny_model(type)
    engine = open_engine(model, policy=policy)
    info = engine.info()
    smallest = info["min_cache_bytes"]
    for size in (smallest, 2 * smallest, 4 * smallest, info["experts_total_bytes"] // 2):
        engine.set_cache(size)
        np.testing.assert_array_equal(
            beside_others(engine, 4), expected, err_msg=f"{size} bytes of cache"
        )
    engine.close()


@pytest.mark.parametrize(
    "policy",
    [name for name, _ in presets()]
    + [f"static:{sizes}/fifo/layer-srtf/lfu/none" for sizes in ("2:2", "3:1", "1:1:1:1")]
    + [
        "runahead/lowest-layer/fifo/lfuda/prescope",
        "runahead/lowest-layer/layer-srtf/lfu/promoe",
        "runahead/lowest-layer/layer-srtf/lfu/finemoe",
    ],
)
def test_no_preset_no_static_grouping_and_no_prefetcher_matters(policy: str) -> None:
    expected = alone("q4_0")
    engine = open_engine(tiny_model("q4_0"), policy=policy)
    smallest = engine.info()["min_cache_bytes"]
    # Prefetches have room beside the slots that four requests need.
    for size in (4 * smallest, 5 * smallest, 6 * smallest):
        engine.set_cache(size)
        np.testing.assert_array_equal(
            beside_others(engine, 4), expected, err_msg=f"{size} bytes of cache"
        )
    engine.close()


@pytest.mark.parametrize(
    "options",
    [
        {"n_readers": 1},
        {"staged": True},
        {"store": "gguf"},
        {"store": "memory"},
        {"verify_reads": True},
        {"link_bytes_per_s": 200_000_000},
    ],
    ids=str,
)
@pytest.mark.parametrize("type", ["q8_0", "bf16"])
def test_ways_to_read_do_not_matter(type: str, options: dict[str, Any]) -> None:
    # These types are not repacked on this kind of processor, so every store holds the same bytes.
    engine = open_engine(tiny_model(type), **options)
    engine.set_cache(8 * engine.info()["min_cache_bytes"] // 2)
    np.testing.assert_array_equal(beside_others(engine, 4), alone(type))
    engine.close()


@pytest.mark.parametrize("n_prompt", [1, 7, 512, 1000])
@pytest.mark.parametrize("type", ["q4_0", "f16"])
def test_prefill_does_not_depend_on_the_cache(type: str, n_prompt: int) -> None:
    prompt = text_tokens(n_prompt, seed=5)
    engine = open_engine(tiny_model(type))
    expected = logits_of(engine, prompt, FORCED)
    for size in (engine.info()["min_cache_bytes"], engine.info()["experts_total_bytes"] // 3):
        engine.set_cache(size)
        np.testing.assert_array_equal(logits_of(engine, prompt, FORCED), expected)
    engine.close()


def test_resizing_while_running_does_not_matter() -> None:
    expected = alone("q4_0")
    engine = open_engine(tiny_model("q4_0"))
    info = engine.info()
    sizes = [info["experts_total_bytes"] * i // 10 for i in (9, 1, 5, 2, 10, 3)] * 20
    requests = [
        engine.submit(
            PROMPT, forced=FORCED, max_tokens=len(FORCED), keep_logits=True, ignore_end=True
        )
        for _ in range(6)
    ]
    ended: set[int] = set()
    for size in sizes:
        engine.set_cache(size)
        engine.wait(0.01)
        ended.update(event[0] for event in engine.poll() if event[1] == "end")
    if rest := [r for r in requests if r not in ended]:
        finish(engine, rest)
    for request in requests:
        np.testing.assert_array_equal(engine.take_logits(request), expected)
    engine.close()
