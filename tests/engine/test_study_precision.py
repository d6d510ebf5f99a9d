"""Precision under caching, predictors and stragglers, against brute force on tiny cases."""

import itertools

import numpy as np
import pytest

from engine.study import predictors
from engine.study.figures.stragglers import extra_misses
from engine.study.lfu_replay import Bools, Snapshots, lfu_snapshots
from engine.study.precision import _randomised, precision_at, precision_under_cache
from engine.study.predictors import Scores
from tests.helpers.fake_source import N_EXPERT, fake_routing

RNG = np.random.default_rng(3)


def brute_precision(scores: Scores, needed: Bools, candidates: Bools, coverage: float) -> float:
    """Try every threshold; the highest that covers enough."""
    missing = int((needed & candidates).sum())
    for threshold in sorted(set(scores[candidates].tolist()), reverse=True):
        selected = candidates & (scores >= threshold)
        found = int((selected & needed).sum())
        if found >= coverage * missing:
            return found / int(selected.sum())
    raise AssertionError


@pytest.mark.parametrize("coverage", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("levels", [4, 1000])  # few: many equal scores
def test_precision_is_that_of_the_highest_threshold_that_covers_enough(
    coverage: float, levels: int
) -> None:
    for _ in range(20):
        scores = (RNG.integers(0, levels, (3, 2, 6)) / levels).astype(np.float32)
        needed = RNG.random((3, 2, 6)) < 0.4
        candidates = RNG.random((3, 2, 6)) < 0.7
        if (needed & candidates).any():
            expected = brute_precision(scores, needed, candidates, coverage)
            assert precision_at(scores, needed, candidates, coverage) == pytest.approx(expected)


def test_nothing_missing_is_nothing_in_vain() -> None:
    none = np.zeros((1, 1, 4), dtype=bool)
    assert precision_at(np.zeros((1, 1, 4), dtype=np.float32), none, ~none, 0.8) == 1


def test_a_randomised_cache_holds_as_many_needed_and_unneeded_experts() -> None:
    resident, needed = RNG.random((40, 12)) < 0.4, RNG.random((40, 12)) < 0.3
    drawn = _randomised(resident, needed, np.random.default_rng(0))
    for group in (needed, ~needed):
        assert ((drawn & group).sum(axis=1) == (resident & group).sum(axis=1)).all()
    assert (drawn != resident).any()


def test_a_randomised_cache_of_three_experts_is_uniform() -> None:
    resident, needed = np.array([[True, False, False]]), np.array([[False, False, True]])
    draws = [_randomised(resident, needed, np.random.default_rng(n))[0] for n in range(300)]
    assert 100 < sum(int(d[0]) for d in draws) < 200
    assert all(d[:2].sum() == 1 and not d[2] for d in draws)


def test_a_cache_that_keeps_the_predictable_makes_prefetching_less_precise() -> None:
    """Experts 0 and 1 are always needed and foretold; the others by chance."""
    needed = RNG.random((50, 1, 10)) < 0.2
    needed[:, :, :2] = True
    scores = RNG.random((50, 1, 10)).astype(np.float32) * 0.5
    scores[:, :, :2] = 1
    resident = np.zeros((50, 1, 10), dtype=bool)
    resident[:, :, :2] = True
    none = precision_at(scores, needed, np.ones_like(needed), 0.8)
    found = precision_under_cache(scores, Snapshots(resident, needed))
    assert found.actual < found.randomised < none
    assert found.held == pytest.approx(2 / (2 + needed[:, :, 2:].sum() / 50))


def test_layers_that_are_not_foretold_are_not_counted() -> None:
    needed = RNG.random((4, 2, 6)) < 0.5
    scores = RNG.random((4, 2, 6)).astype(np.float32)
    resident = np.zeros_like(needed)
    whole = precision_under_cache(scores[:, 1:], Snapshots(resident[:, 1:], needed[:, 1:]))
    scores[:, 0] = np.nan
    assert precision_under_cache(scores, Snapshots(resident, needed)) == whole


def test_the_replayed_cache_is_that_of_a_slow_obvious_one() -> None:
    routing = np.sort(RNG.permuted(np.tile(np.arange(6), (30, 2, 3, 1)), axis=3)[..., :2]).astype(
        np.int32
    )
    n_slot = 9
    found = lfu_snapshots(routing, 6, n_slot / 18)
    uses: dict[tuple[int, int], int] = {}
    used_at: dict[tuple[int, int], int] = {}
    held: set[tuple[int, int]] = set()
    for now, (step, il) in enumerate(itertools.product(range(30), range(3))):
        assert {e for e in range(6) if found.resident[step, il, e]} == {
            e for layer, e in held if layer == il
        }
        asked = [(il, int(e)) for e in routing[step, :, il].ravel()]
        assert {e for e in range(6) if found.needed[step, il, e]} == {e for _, e in asked}
        for each in asked:
            uses[each] = uses.get(each, 0) + 1
            used_at[each] = now
        pinned = set(asked)
        for _ in range(len(held | pinned) - n_slot):
            held.remove(min(held - pinned, key=lambda e: (uses[e], used_at[e], e)))
        held |= pinned


def test_the_next_router_foretells_from_the_layer_before() -> None:
    lookahead = RNG.random((2, 3, 4, 1, 5)).astype(np.float16)
    scores = predictors.next_router(lookahead)
    assert np.isnan(scores[:, 0]).all()
    expected = lookahead[1, :, 2, 0].astype(np.float32).max(axis=0)
    assert (scores[1, 3] == expected).all()


def test_maps_are_matched_by_the_cosine_of_the_trajectory() -> None:
    probabilities = RNG.random((5, 2, 5, 4))
    scores = predictors.map_match(probabilities, distance=2, n_maps=4)
    assert np.isnan(scores[0]).all() and np.isnan(scores[:, :2]).all()
    for step, il in itertools.product(range(1, 5), range(2, 5)):
        foretold = []
        for request in range(2):
            now = probabilities[step, request, : il - 1].ravel()
            past = probabilities[max(0, step - 2) : step].reshape(-1, 5, 4)  # 4 maps: 2 steps
            cosines = [
                now @ each[: il - 1].ravel() / np.linalg.norm(each[: il - 1]) for each in past
            ]
            foretold.append(past[int(np.argmax(cosines)), il])
        assert scores[step, il] == pytest.approx(np.max(foretold, axis=0), rel=1e-5)


def test_a_learned_predictor_finds_a_rule_that_routers_do_not_tell() -> None:
    """The expert of layer 2 is that of layer 0, moved by three; looking ahead says nothing."""
    first = RNG.integers(0, 8, (60, 1))
    experts = np.zeros((60, 1, 3, 1), dtype=np.int16)
    experts[:, :, 0, 0], experts[:, :, 2, 0] = first, (first + 3) % 8
    probabilities = np.full((60, 1, 3, 8), 0.02)
    np.put_along_axis(probabilities, experts.astype(int), 0.86, axis=3)
    scores = predictors.learned(experts, probabilities, None, 40)
    assert (scores[40:, 2].argmax(axis=1) == experts[40:, 0, 2, 0]).all()
    assert np.isnan(scores[:, :2]).all()


def test_predictors_are_better_than_chance_on_made_up_routing() -> None:
    trace = fake_routing(40)
    assert trace.probabilities is not None and trace.lookahead is not None
    needed = lfu_snapshots(trace.experts.astype(np.int32), N_EXPERT, 0).needed
    found = {
        "next": predictors.next_router(trace.lookahead),
        "map": predictors.map_match(trace.probabilities),
        "learned": predictors.learned(trace.experts, trace.probabilities, trace.lookahead, 20),
    }
    for scores in found.values():
        scores[:20] = np.nan
        scores[:, :3] = np.nan
        none = Snapshots(np.zeros_like(needed), needed)
        assert precision_under_cache(scores, none).actual > 1.15 * needed[20:, 3:].mean()


def test_extra_misses_follow_the_rank_of_the_first_layers() -> None:
    """Four requests; the cache holds what the first uses, the fourth always asks for new ones."""
    n_step, n_layer, n_expert = 20, 8, 64
    routing = np.zeros((n_step, 4, n_layer, 2), dtype=np.int32)
    for step, request in itertools.product(range(n_step), range(4)):
        fresh = 8 + (step * 2) % 48
        routing[step, request] = (
            (fresh, fresh + 1) if request == 3 else (2 * request, 2 * request + 1)
        )
    extra = extra_misses(routing, n_expert, 0.5, n_step // 2)
    assert extra.shape == (4, n_layer - 4)
    assert extra.sum(axis=0) == pytest.approx(0)
    assert (np.diff(extra[0]) > 0).all() and (extra[1:] < 0).all()
