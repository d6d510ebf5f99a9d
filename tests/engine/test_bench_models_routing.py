"""The replay that measures routing, and the routing of the shipped shapes."""

import msgspec
import numpy as np
import pytest

from engine.bench_models.network import Network, dynamics_like
from engine.bench_models.routing import Routing, calibrate
from engine.bench_models.shapes import shape_like
from engine.bench_models.surrogate import Surrogate, measure
from engine.bench_models.vocabulary import byte_vocabulary
from tests.helpers.llama import opened
from tests.helpers.models import tiny_model


def _routing(steps: list[list[list[list[int]]]]) -> Routing:
    return np.array(steps, dtype=np.int32)


def test_everything_hits_once_all_experts_fit() -> None:
    routing = np.random.default_rng(0).integers(0, 8, (40, 3, 2, 2)).astype(np.int32)
    c = calibrate(routing, 8, cached_share=1.0)
    assert c.lfu_hit == c.lru_hit == c.lfu_use_hit == 1


def test_lru_misses_all_of_a_cycle_that_does_not_fit_and_lfu_keeps_a_part() -> None:
    # Two layers: expert 0 of each in every step, experts 1, 2, 3 in turn; 3 slots.
    routing = _routing([[[[0, 1 + step % 3]] * 2] for step in range(60)])
    c = calibrate(routing, 4, cached_share=3 / 8)
    assert c.lru_hit == 0
    assert c.lfu_hit == 0.5
    assert c.distinct_per_layer == 2


def test_an_expert_shared_by_requests_counts_once_and_per_use_for_each() -> None:
    # Layer of 4 experts, 2 slots: 0 is used by all 3 requests, and 1, 2, 3 in turn by the last.
    routing = _routing([[[[0]], [[0]], [[0]], [[1 + step % 3]]] for step in range(30)])
    c = calibrate(routing, 4, cached_share=0.5)
    assert c.lfu_hit == pytest.approx(0.5)
    assert c.lfu_use_hit == pytest.approx(0.75)


def test_perfect_predictions_waste_nothing_and_wrong_ones_everything() -> None:
    rng = np.random.default_rng(1)
    routing = rng.integers(0, 16, (60, 2, 3, 2)).astype(np.int32)
    perfect = calibrate(routing, 32, routing)
    assert perfect.prefetch_waste == 0
    assert perfect.prediction_recall == 1
    wrong = calibrate(routing, 32, routing + 16)
    assert wrong.prefetch_waste == 1
    assert wrong.prediction_recall == 0


def test_prefetches_count_only_absent_experts() -> None:
    routing = np.zeros((20, 1, 2, 1), dtype=np.int32)
    c = calibrate(routing, 4, routing, cached_share=0.5)
    assert c.prefetch_per_layer == 0  # after the warm-up all are resident
    assert c.prefetch_waste is not None


def test_one_layer_has_no_next_router() -> None:
    routing = np.random.default_rng(2).integers(0, 8, (20, 2, 1, 2)).astype(np.int32)
    assert calibrate(routing, 8, routing).prefetch_waste is None


def test_repeats_are_counted_per_request() -> None:
    # The first request repeats itself always, the second never.
    routing = _routing([[[[0]], [[1 + step % 2]]] for step in range(20)])
    assert calibrate(routing, 4).repeat_share == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("like", ["qwen3-30b-a3b", "qwen3.6-35b-a3b-experts"])
@pytest.mark.parametrize("seed", [0, 1])
def test_shipped_shapes_route_as_the_paper_reports(like: str, seed: int) -> None:
    c = measure(Network(shape_like(like), dynamics_like(like), seed))
    assert 0.50 < c.lfu_hit < 0.58  # paper: 0.541
    assert c.prefetch_waste is not None
    assert 0.51 < c.prefetch_waste < 0.64  # paper: 0.51 to 0.64


@pytest.mark.parametrize("n_layer", [6, 48])
def test_the_stream_has_the_expected_size_at_any_depth(n_layer: int) -> None:
    shape = shape_like("tiny", n_layer=n_layer, n_expert=32)
    network = Network(shape, dynamics_like("qwen3-30b-a3b"), 0)
    surrogate = Surrogate(network, byte_vocabulary(), n_request=4, max_steps=24)
    surrogate.record(24)
    assert surrogate.stream_rms == pytest.approx(network.stream_rms(), rel=0.3)
    assert network.stream_rms() < 1000


def test_the_surrogate_routes_as_the_model_does_in_llama_cpp() -> None:
    sizes = {"n_layer": 6, "n_expert": 32}
    n_request, n_step = 4, 96
    network = Network(shape_like("tiny", **sizes), dynamics_like("tiny"), 0)
    routers = [network.router(il) for il in range(6)]
    n_predicted = 6
    rng = np.random.default_rng(0)
    tokens = rng.integers(0x21, 0x7F, n_request)
    routing, predicted = [], []
    watch = ["ffn_moe_topk", "ffn_norm"]
    with opened(tiny_model("f32", **sizes), n_request, n_step, watch) as llama:
        for _ in range(n_step):
            logits = llama.step([int(token) for token in tokens])
            tokens = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
            inputs = [np.asarray(llama.seen[f"ffn_norm-{il}"]) for il in range(6)]
            routing.append(np.stack([llama.seen[f"ffn_moe_topk-{il}"] for il in range(6)], 1))
            foretold = [inputs[max(0, il - 1)] @ routers[il].T for il in range(6)]
            ranked = [np.argsort(-scores, axis=1)[:, :n_predicted] for scores in foretold]
            predicted.append(np.stack(ranked, 1).astype(np.int32))
    real = calibrate(np.stack(routing).astype(np.int32), 32, np.stack(predicted))
    surrogate = Surrogate(network, byte_vocabulary(), n_request, n_step)
    recording = surrogate.record(n_step)
    stand_in = calibrate(recording.routing, 32, recording.predicted)
    for field in ("lfu_hit", "lfu_use_hit", "prefetch_waste", "prediction_recall", "repeat_share"):
        assert getattr(stand_in, field) == pytest.approx(getattr(real, field), abs=0.06), field
    assert stand_in.distinct_per_layer == pytest.approx(real.distinct_per_layer, rel=0.1)
    assert msgspec.json.decode(msgspec.json.encode(real), type=type(real)) == real
