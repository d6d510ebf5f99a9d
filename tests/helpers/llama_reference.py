"""Logits of llama.cpp itself, through llama-cpp-python's low-level interface."""

import ctypes
from pathlib import Path

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine.rival.repack_buffer import repack_overrides

# llama.cpp keeps the callback, so it has to live as long as the process.
_QUIET = llama_cpp.llama_log_callback(lambda level, text, data: None)


def reference_logits(
    model: Path,
    prompt: list[int],
    forced: list[int] = [],  # noqa: B006
) -> NDArray[np.float32]:
    """[len(prompt) + len(forced), n_vocab]: the prompt as one batch, `forced` token by token.

    By the kernels that the engine takes: repacked ones, never AMX. Others round otherwise, which is
    enough to decide close calls of a router the other way.
    """
    n_tokens = len(prompt) + len(forced)
    llama_cpp.llama_backend_init()
    llama_cpp.llama_log_set(_QUIET, ctypes.c_void_p(0))
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = 0
    params.use_extra_bufts = False
    overrides = repack_overrides(str(model))
    params.tensor_buft_overrides = ctypes.cast(overrides, ctypes.c_void_p)
    handle = llama_cpp.llama_model_load_from_file(str(model).encode(), params)
    assert handle, f"llama.cpp does not load {model}"
    try:
        n_vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(handle))
        context_params = llama_cpp.llama_context_default_params()
        context_params.n_ctx = n_tokens + 8
        context_params.n_batch = context_params.n_ubatch = len(prompt)
        context_params.n_threads = context_params.n_threads_batch = 2
        context = llama_cpp.llama_init_from_model(handle, context_params)
        assert context
        try:
            parts = [prompt, *([token] for token in forced)]
            positions = np.cumsum([0, *map(len, parts)])
            return np.concatenate(
                [
                    _decode(context, part, int(at), n_vocab)
                    for part, at in zip(parts, positions, strict=False)
                ]
            )
        finally:
            llama_cpp.llama_free(context)
    finally:
        llama_cpp.llama_model_free(handle)


def _decode(
    context: llama_cpp.llama_context_p, tokens: list[int], position: int, n_vocab: int
) -> NDArray[np.float32]:
    batch = llama_cpp.llama_batch_init(len(tokens), 0, 1)
    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        batch.token[i] = token
        batch.pos[i] = position + i
        batch.n_seq_id[i] = 1
        batch.seq_id[i][0] = 0
        batch.logits[i] = True
    assert llama_cpp.llama_decode(context, batch) == 0
    pointer = llama_cpp.llama_get_logits(context)
    logits = np.ctypeslib.as_array(pointer, shape=(len(tokens), n_vocab)).copy()
    llama_cpp.llama_batch_free(batch)
    return logits
