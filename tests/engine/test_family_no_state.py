"""A file of a family with recurrent layers may have none: then sessions keep no state.

There is nothing to compare with: llama.cpp ends the process for such a file.
"""

from tests.helpers.family_models import head, usual_layer, usual_settings, vector, write_model
from tests.helpers.native_runs import finish, open_engine, text_tokens

N_EMBD = 64


def test_lfm2moe_with_attention_in_every_layer_runs() -> None:
    settings = usual_settings(2, N_EMBD, 2, [1, 1], 4, 2) | {
        "feed_forward_length": 32,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "shortconv.l_cache": 3,
        "expert_feed_forward_length": 32,
        "expert_gating_func": 2,
    }
    tensors = head(N_EMBD, tied=True)
    tensors[1] = vector("token_embd_norm.weight", N_EMBD)
    for il in range(2):
        tensors += usual_layer(il, N_EMBD, 2, 1, 4, 32, qk_norm=32)
    engine = open_engine(write_model("lfm2moe", settings, tensors), store="memory")
    request = engine.submit(text_tokens(20), max_tokens=8, ignore_end=True)
    reply = finish(engine, [request])[request]
    engine.close()
    assert (reply.reason, reply.detail) == ("length", "")
