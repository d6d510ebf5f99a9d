"""How each family names its keys and tensors, and which rows of the network fill them.

The files are what llama.cpp's converter would write; only the values are random. Where a family
does more than Qwen3-MoE (shared experts, delta nets, biases), the additions are kept small, so that
the stream stays what network.py says.
"""

from collections.abc import Callable

import msgspec
import numpy as np

from engine.bench_models.gguf_writer import Metadata, f32, i32s, string, u32
from engine.bench_models.network import FloatRows
from engine.bench_models.parts import Part, Parts
from engine.bench_models.shapes import Shape

# The root mean square of silu of a standard normal, and of attention's average over values.
_SILU_RMS, _ATTENTION_RMS = 0.6, 0.45
_SHARED = 0.3  # what a shared expert gives, relative to the experts


class BenchFamily(msgspec.Struct, frozen=True):
    """Keys beyond the usual ones, tensors beside the layers, and those of a layer."""

    metadata: Callable[[Shape], Metadata]
    extra: Callable[[Parts], list[Part]]
    layer: Callable[[Parts, int], list[Part]]
    scales_embedding: bool = False


def _none(_: Parts) -> list[Part]:
    return []


def _usual_experts(p: Parts, il: int) -> list[Part]:
    n_ff = p.shape.n_ff_exp
    return [
        p.router(il),
        p.banked_experts("ffn_gate_exps", il, n_ff),
        p.banked_experts("ffn_up_exps", il, n_ff),
        p.down_experts(il, lambda: p.network.down_bank(il)),
    ]


def _qkv(p: Parts, il: int) -> list[Part]:
    s = p.shape
    return [
        p.banked("attn_q", il, s.n_head * s.head_dim),
        p.banked("attn_k", il, s.n_head_kv * s.head_dim),
        p.banked("attn_v", il, s.n_head_kv * s.head_dim),
    ]


def _head_norms(p: Parts, il: int) -> list[Part]:
    norm = p.network.head_norm()
    return [p.vector("attn_q_norm", il, norm), p.vector("attn_k_norm", il, norm)]


def _attn_output(p: Parts, il: int) -> Part:
    s = p.shape
    rows = lambda: p.network.attn_output(il)  # noqa: E731
    return p.matrix("attn_output", il, rows, s.n_head * s.head_dim, s.n_embd)


def _qwen3moe_layer(p: Parts, il: int) -> list[Part]:
    return [
        p.vector("attn_norm", il, p.network.attn_norm()),
        *_qkv(p, il),
        *_head_norms(p, il),
        _attn_output(p, il),
        p.vector("ffn_norm", il, p.network.ffn_norm(il)),
        *_usual_experts(p, il),
    ]


# -- Qwen3.5, Qwen3.6 ------------------------------------------------------------------------------

_V_HEADS, _K_HEADS, _STATE, _KERNEL = 32, 16, 128, 4
_INNER = _V_HEADS * _STATE
_PERIOD = 4


def _qwen35moe_metadata(s: Shape) -> Metadata:
    return {
        "expert_shared_feed_forward_length": u32(s.n_ff_exp),
        "full_attention_interval": u32(_PERIOD),
        "rope.dimension_count": u32(64),
        "rope.dimension_sections": i32s([11, 11, 10, 0]),
        "ssm.conv_kernel": u32(_KERNEL),
        "ssm.inner_size": u32(_INNER),
        "ssm.state_size": u32(_STATE),
        "ssm.time_step_rank": u32(_V_HEADS),
        "ssm.group_count": u32(_K_HEADS),
    }


def _qwen35moe_layer(p: Parts, il: int) -> list[Part]:
    s = p.shape
    mixer = _delta_net(p, il) if (il + 1) % _PERIOD else _gated_attention(p, il)
    return [
        p.vector("attn_norm", il, p.network.attn_norm()),
        *mixer,
        p.vector("post_attention_norm", il, p.network.ffn_norm(il)),
        *_usual_experts(p, il),
        p.banked("ffn_gate_shexp", il, s.n_ff_exp),
        p.banked("ffn_up_shexp", il, s.n_ff_exp),
        p.matrix(
            "ffn_down_shexp",
            il,
            lambda: _SHARED * p.network.down_bank(il),
            s.n_ff_exp,
            s.n_embd,
        ),
        p.constant("ffn_gate_inp_shexp", il, 0.0, s.n_embd),
    ]


def _gated_attention(p: Parts, il: int) -> list[Part]:
    s = p.shape
    query_and_gate = p.banked("attn_q", il, 2 * s.n_head * s.head_dim)
    return [query_and_gate, *_qkv(p, il)[1:], *_head_norms(p, il), _attn_output(p, il)]


def _delta_net(p: Parts, il: int) -> list[Part]:
    s = p.shape
    channels = 2 * _K_HEADS * _STATE + _INNER
    kernel = np.tile(np.array([0.2, 0.3, 0.5, 1.0], dtype=np.float32), (channels, 1))

    def output() -> FloatRows:
        return _ATTENTION_RMS / _SILU_RMS * p.network.written("ssm_out", il, _INNER)

    return [
        p.banked("attn_qkv", il, channels),
        p.banked("attn_gate", il, _INNER),
        p.vector("ssm_conv1d", il, kernel),
        p.constant("ssm_dt", il, -2.0, _V_HEADS, suffix=".bias"),
        p.constant("ssm_a", il, -0.5, _V_HEADS, suffix=""),
        p.banked("ssm_beta", il, _V_HEADS),
        p.banked("ssm_alpha", il, _V_HEADS),
        p.constant("ssm_norm", il, 1.0, _STATE),
        p.matrix("ssm_out", il, output, _INNER, s.n_embd),
    ]


# -- Gemma 4 ---------------------------------------------------------------------------------------

_GLOBAL_DIM, _GLOBAL_KV, _WINDOW_PERIOD = 512, 2, 6


def _is_global(il: int) -> bool:
    return (il + 1) % _WINDOW_PERIOD == 0


def _gemma4_metadata(s: Shape) -> Metadata:
    layers = range(s.n_layer)
    return {
        "embedding_length_per_layer_input": u32(0),
        "attention.head_count_kv": i32s(
            [_GLOBAL_KV if _is_global(i) else s.n_head_kv for i in layers]
        ),
        "attention.key_length": u32(_GLOBAL_DIM),
        "attention.value_length": u32(_GLOBAL_DIM),
        "attention.key_length_swa": u32(s.head_dim),
        "attention.value_length_swa": u32(s.head_dim),
        "attention.sliding_window": u32(1024),
        "attention.sliding_window_pattern": i32s([not _is_global(i) for i in layers]),
        "attention.shared_kv_layers": u32(0),
        "rope.dimension_count": u32(_GLOBAL_DIM),
        "rope.dimension_count_swa": u32(s.head_dim),
        "rope.freq_base_swa": f32(10000.0),
        "final_logit_softcapping": f32(30.0),
    }


def _gemma4_extra(p: Parts) -> list[Part]:
    # A quarter of a global layer's head turns; the rest stands practically still.
    factors = np.full(_GLOBAL_DIM // 2, 1e30, dtype=np.float32)
    factors[: _GLOBAL_DIM // 8] = 1
    return [p.vector("rope_freqs", -1, factors)]


def _gemma4_layer(p: Parts, il: int) -> list[Part]:
    s, n = p.shape, p.network
    dim, n_kv = (_GLOBAL_DIM, _GLOBAL_KV) if _is_global(il) else (s.head_dim, s.n_head_kv)
    norm = np.full(dim, n.dynamics.attention_sharpness**0.5 * dim**-0.25, dtype=np.float32)
    unseen = n.attn_norm()  # ones, but for the constant
    attention = [
        p.banked("attn_q", il, s.n_head * dim),
        p.banked("attn_k", il, n_kv * dim),
        p.vector("attn_q_norm", il, norm),
        p.vector("attn_k_norm", il, norm),
        p.matrix("attn_output", il, lambda: n.plain("attn_output", il, s.n_head * dim),
                 s.n_head * dim, s.n_embd),
    ]  # fmt: skip
    if not _is_global(il):
        attention.insert(2, p.banked("attn_v", il, n_kv * dim))
    return [
        p.vector("attn_norm", il, unseen),
        *attention,
        # Norms behind a block say how loud it is.
        p.vector("post_attention_norm", il, _ATTENTION_RMS * n.attention_deviation(il)),
        p.vector("ffn_norm", il, unseen),
        p.banked("ffn_gate", il, s.n_ff),
        p.banked("ffn_up", il, s.n_ff),
        p.matrix("ffn_down", il, lambda: n.plain("ffn_down", il, s.n_ff), s.n_ff, s.n_embd),
        p.vector("post_ffw_norm_1", il, _SHARED * unseen),
        p.vector("pre_ffw_norm_2", il, unseen),
        p.vector("ffn_gate_inp", il, s.n_embd**0.5 * n.ffn_norm(il), ".scale"),
        p.router(il),
        p.banked_experts("ffn_gate_up_exps", il, 2 * s.n_ff_exp),
        p.down_experts(il, lambda: n.plain("ffn_down_exps", il, s.n_ff_exp)),
        p.constant("ffn_down_exps", il, 1.0, s.n_expert, suffix=".scale"),
        p.vector("post_ffw_norm_2", il, unseen),
        p.vector("post_ffw_norm", il, n.expert_deviation(il)),
        p.constant("layer_output_scale", il, 1.0, 1),
    ]


# -- gpt-oss ---------------------------------------------------------------------------------------


def _gptoss_metadata(s: Shape) -> Metadata:
    return {
        "attention.sliding_window": u32(128),
        "rope.scaling.type": string("yarn"),
        "rope.scaling.factor": f32(32.0),
        "rope.scaling.original_context_length": u32(4096),
    }


def _gptoss_layer(p: Parts, il: int) -> list[Part]:
    s = p.shape
    widths = {"q": s.n_head * s.head_dim, "k": s.n_head_kv * s.head_dim}
    widths["v"] = widths["k"]

    def no_bias(role: str, *ne: int) -> Part:
        return p.constant(role, il, 0.0, *ne, suffix=".bias")

    return [
        p.vector("attn_norm", il, p.network.attn_norm()),
        *_qkv(p, il),
        *(no_bias(f"attn_{name}", n) for name, n in widths.items()),
        _attn_output(p, il),
        no_bias("attn_output", s.n_embd),
        p.constant("attn_sinks", il, 0.0, s.n_head),
        p.vector("post_attention_norm", il, p.network.ffn_norm(il)),
        *_usual_experts(p, il),
        no_bias("ffn_gate_inp", s.n_expert),
        no_bias("ffn_gate_exps", s.n_ff_exp, s.n_expert),
        no_bias("ffn_up_exps", s.n_ff_exp, s.n_expert),
        no_bias("ffn_down_exps", s.n_embd, s.n_expert),
    ]


def _no_keys(_: Shape) -> Metadata:
    return {}


FAMILIES = {
    "qwen3moe": BenchFamily(_no_keys, _none, _qwen3moe_layer),
    "qwen35moe": BenchFamily(_qwen35moe_metadata, _none, _qwen35moe_layer),
    "gemma4": BenchFamily(_gemma4_metadata, _gemma4_extra, _gemma4_layer, scales_embedding=True),
    "gpt-oss": BenchFamily(_gptoss_metadata, _none, _gptoss_layer),
}
