"""How many bytes of KV cache one token of a session takes, from a model's metadata."""

import re

from engine.model_info import ModelInfo

_F16_BYTES = 2
_NUMBER = re.compile(r"[0-9]{1,18}")  # the library saves no more than 64 bits


def kv_bytes_per_token(info: ModelInfo) -> int | None:
    """Keys and values of all layers in F16; None when the metadata does not say enough.

    That is so where layers differ in their heads, which the description does not list.
    """
    metadata = dict(info.metadata)

    def number(name: str) -> int | None:
        text = metadata.get(f"{info.architecture}.{name}", "")
        return int(text) if _NUMBER.fullmatch(text) else None

    heads = number("attention.head_count")
    kv_heads_name = "attention.head_count_kv"
    if f"{info.architecture}.{kv_heads_name}" in metadata and number(kv_heads_name) is None:
        return None
    kv_heads = number(kv_heads_name) or heads
    if not kv_heads:
        return None
    head_dim = info.n_embd // heads if heads else None
    keys = number("attention.key_length") or head_dim
    values = number("attention.value_length") or keys
    if not keys or not values:
        return None
    if number("attention.kv_lora_rank") and kv_heads == 1:
        values = 0  # latent attention: values are a part of the keys
    # Hybrid models attend in every nth layer; the others keep a state of fixed size.
    n_layer = info.n_layer // (number("full_attention_interval") or 1)
    n_bytes = n_layer * kv_heads * (keys + values) * _F16_BYTES
    return n_bytes if n_bytes < 1 << 63 else None
