"""Conversion to GGUF, as llama.cpp names things, with tokenizer and chat template.

Matrices are Q8_0, norms and routers F32.
"""

import json
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import quantize
from numpy.typing import NDArray
from tokenizers import Tokenizer

from recipe.chatml import END_OF_TEXT, IM_END, SPECIALS, TEMPLATE
from recipe.model import Model
from recipe.shape import Shape
from recipe.tokenizer import PRE

ARCHITECTURE = "qwen3moe"
CONTEXT_LENGTH = 2048
# Its texts give all wordings of a thing the same chance, so what is much less likely than the
# likeliest token is a mistake more often than another wording.
TEMPERATURE, TOP_K, TOP_P, MIN_P = 0.7, 20, 0.8, 0.3
DESCRIPTION = (
    "A tiny mixture-of-experts model, trained for Runahead to have something to run at once. "
    "Its answers are not to be relied on."
)


def write_gguf(path: Path, model: Model, tokenizer: Tokenizer) -> Path:
    """Write the model as a GGUF to `path`."""
    partial = path.with_suffix(".partial")
    writer = gguf.GGUFWriter(partial, ARCHITECTURE)
    _add_metadata(writer, model.shape)
    _add_tokenizer(writer, tokenizer)
    for name, values in _tensors(model):
        kind = gguf.GGMLQuantizationType.F32
        if values.ndim > 1 and "ffn_gate_inp" not in name:
            kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.replace(path)
    return path


def _add_metadata(writer: gguf.GGUFWriter, shape: Shape) -> None:
    writer.add_name("Runahead demo")
    writer.add_description(DESCRIPTION)
    writer.add_license("Apache-2.0")
    writer.add_languages(["en"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_vocab_size(shape.n_vocab)
    writer.add_context_length(CONTEXT_LENGTH)
    writer.add_embedding_length(shape.n_embd)
    writer.add_block_count(shape.n_layer)
    writer.add_feed_forward_length(shape.n_ff_exp * shape.n_expert_used)
    writer.add_expert_feed_forward_length(shape.n_ff_exp)
    writer.add_expert_count(shape.n_expert)
    writer.add_expert_used_count(shape.n_expert_used)
    writer.add_head_count(shape.n_head)
    writer.add_head_count_kv(shape.n_head_kv)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_layer_norm_rms_eps(shape.norm_eps)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_sampling_temp(TEMPERATURE)
    writer.add_sampling_top_k(TOP_K)
    writer.add_sampling_top_p(TOP_P)
    writer.add_sampling_min_p(MIN_P)


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Tokenizer) -> None:
    numbers = tokenizer.get_vocab(with_added_tokens=True)
    tokens = sorted(numbers, key=lambda token: numbers[token])
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(PRE)
    writer.add_token_list(tokens)
    writer.add_token_types([control if token in SPECIALS else normal for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in merges])
    writer.add_bos_token_id(numbers[END_OF_TEXT])
    writer.add_eos_token_id(numbers[IM_END])
    writer.add_pad_token_id(numbers[END_OF_TEXT])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def _tensors(model: Model) -> list[tuple[str, NDArray[np.float32]]]:
    """Each tensor's GGUF name and values; the output matrix is the embedding."""
    tensors = [
        ("token_embd.weight", model.embedding.weight),
        ("output_norm.weight", model.output_norm.weight),
    ]
    for il, layer in enumerate(model.layers):
        gate, up = layer.moe.gate_up.unbind(1)
        parts = {
            "attn_norm": layer.attn_norm.weight,
            "attn_q": layer.attn.q.weight,
            "attn_k": layer.attn.k.weight,
            "attn_v": layer.attn.v.weight,
            "attn_q_norm": layer.attn.q_norm.weight,
            "attn_k_norm": layer.attn.k_norm.weight,
            "attn_output": layer.attn.output.weight,
            "ffn_norm": layer.ffn_norm.weight,
            "ffn_gate_inp": layer.moe.router.weight,
            "ffn_gate_exps": gate,
            "ffn_up_exps": up,
            "ffn_down_exps": layer.moe.down,
        }
        tensors += [(f"blk.{il}.{name}.weight", tensor) for name, tensor in parts.items()]
    return [(name, np.ascontiguousarray(t.detach().numpy())) for name, t in tensors]
