"""What routers say can be recorded, and says what was computed."""

import numpy as np

from tests.helpers.models import tiny_model
from tests.helpers.native_runs import finish, logits_of, open_engine, text_tokens

PROMPT = text_tokens(20, seed=1)
FORCED = text_tokens(12, seed=2)


def test_rows_hold_the_routers_choice_and_the_next_routers_guess() -> None:
    engine = open_engine(tiny_model("q4_0"))
    engine.record_routing(2)
    requests = [
        engine.submit(PROMPT, forced=FORCED, max_tokens=len(FORCED), ignore_end=True)
        for _ in range(3)
    ]
    finish(engine, requests)
    info, rows = engine.info(), engine.take_routing()
    engine.close()
    n_layer, n_expert, k = info["n_layer"], info["n_expert"], info["n_expert_used"]
    n = len(rows["step"])
    assert n == 3 * (len(FORCED) - 1) * n_layer
    assert rows["experts"].shape == (n, k)
    assert rows["probabilities"].shape == (n, n_expert)
    assert rows["lookahead"].shape == (n, 2, n_expert)
    assert rows["dropped"] == 0
    assert set(rows["request"]) == set(requests)
    # One row per step, request and layer.
    keys = {*zip(rows["step"], rows["request"], rows["layer"], strict=True)}
    assert len(keys) == n
    np.testing.assert_allclose(rows["probabilities"].sum(axis=1), 1, rtol=1e-5)
    # The experts are the likeliest, in order.
    chosen = np.take_along_axis(rows["probabilities"], rows["experts"], axis=1)
    assert (np.diff(chosen, axis=1) <= 0).all()
    np.testing.assert_array_equal(chosen, np.sort(rows["probabilities"], axis=1)[:, : -k - 1 : -1])
    # Routers behind the last layer say nothing, the others are distributions.
    exists = rows["layer"][:, None] + np.array([1, 2]) < n_layer
    np.testing.assert_allclose(rows["lookahead"].sum(axis=2), exists, rtol=1e-5)


def test_recording_changes_no_bits_and_stops() -> None:
    engine = open_engine(tiny_model("q4_0"))
    expected = logits_of(engine, PROMPT, FORCED)
    engine.record_routing(3)
    np.testing.assert_array_equal(logits_of(engine, PROMPT, FORCED), expected)
    assert len(engine.take_routing()["step"]) > 0
    assert len(engine.take_routing()["step"]) == 0
    engine.record_routing(-1)
    logits_of(engine, PROMPT, FORCED)
    assert len(engine.take_routing()["step"]) == 0
    engine.close()
