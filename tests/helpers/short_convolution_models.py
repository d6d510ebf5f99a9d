"""Tiny models of lfm2moe, whose layers are short convolutions but for some."""

from pathlib import Path

from tests.helpers.family_models import (
    Tensor,
    attention,
    bias,
    experts,
    gated_ffn,
    head,
    matrix,
    qk_norms,
    usual_settings,
    vector,
    write_model,
)

N_EMBD, N_HEAD, N_HEAD_KV, HEAD_DIM, N_EXPERT, N_FF, N_DENSE, KERNEL = 128, 4, 2, 32, 8, 64, 96, 3
HAS_ATTENTION = [False, True, False, False]


def short_convolution_model(type: str = "f32") -> Path:
    n_head_kv = [N_HEAD_KV * has for has in HAS_ATTENTION]
    tensors = head(N_EMBD, tied=True)
    tensors[1] = vector("token_embd_norm.weight", N_EMBD)
    for il, has_attention in enumerate(HAS_ATTENTION):
        tensors += [
            vector(f"blk.{il}.attn_norm.weight", N_EMBD),
            vector(f"blk.{il}.ffn_norm.weight", N_EMBD),
            *(_attention(il) if has_attention else _convolution(il)),
        ]
        if il == 0:
            tensors += gated_ffn(il, N_EMBD, N_DENSE)
        else:
            tensors += experts(il, N_EMBD, N_FF, N_EXPERT)
            tensors.append(bias(f"blk.{il}.exp_probs_b.bias", N_EXPERT))
    return write_model(
        "lfm2moe",
        usual_settings(len(HAS_ATTENTION), N_EMBD, N_HEAD, n_head_kv, N_EXPERT, 3)
        | {
            "feed_forward_length": N_DENSE,
            "attention.layer_norm_rms_epsilon": 1e-5,
            "rope.freq_base": 1e6,
            "shortconv.l_cache": KERNEL,
            "leading_dense_block_count": 1,
            "expert_feed_forward_length": N_FF,
            "expert_gating_func": 2,
        },
        tensors,
        type,
    )


def _attention(il: int) -> list[Tensor]:
    return [
        *attention(il, N_EMBD, N_HEAD, N_HEAD_KV, HEAD_DIM),
        *qk_norms(il, HEAD_DIM, HEAD_DIM),
    ]


def _convolution(il: int) -> list[Tensor]:
    p = f"blk.{il}.shortconv."
    return [
        Tensor(f"{p}conv.weight", (KERNEL, N_EMBD), 0.6, 0.1, True),
        matrix(f"{p}in_proj.weight", N_EMBD, 3 * N_EMBD),
        matrix(f"{p}out_proj.weight", N_EMBD, N_EMBD),
    ]
