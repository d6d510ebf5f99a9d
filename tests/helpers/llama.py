"""llama.cpp's own engine, plain (no repacked weights), as a reference for tests."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine.rival.repack_buffer import TensorHead

_QUIET = llama_cpp.llama_log_callback(lambda level, text, user: None)


class Llama:
    """A model with `n_seq` sequences that advance together."""

    def __init__(self, model: int, context: int, n_seq: int) -> None:
        self._context = context
        self._vocab = llama_cpp.llama_model_get_vocab(model)
        self.n_vocab = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self._batch = llama_cpp.llama_batch_init(n_seq, 0, 1)
        self._position = 0
        self.seen: dict[str, NDArray[np.generic]] = {}  # watched tensors of the last step

    def tokenize(self, text: str) -> list[int]:
        data = text.encode()
        tokens = (llama_cpp.llama_token * (len(data) + 8))()
        n = llama_cpp.llama_tokenize(self._vocab, data, len(data), tokens, len(tokens), True, True)
        return list(tokens[:n])

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        buffer = ctypes.create_string_buffer(64)
        text = b""
        for token in tokens:
            n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, 64, 0, True)
            text += buffer.raw[:n]
        return text

    def step(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """One token for each sequence; logits [n_seq, n_vocab]."""
        batch = self._batch
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i] = token
            batch.pos[i] = self._position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = i
            batch.logits[i] = 1
        assert llama_cpp.llama_decode(self._context, batch) == 0
        self._position += 1
        rows = [llama_cpp.llama_get_logits_ith(self._context, i) for i in range(len(tokens))]
        return np.stack([np.ctypeslib.as_array(row, (self.n_vocab,)).copy() for row in rows])

    def close(self) -> None:
        llama_cpp.llama_batch_free(self._batch)


@contextmanager
def opened(
    path: Path, n_seq: int = 1, n_step: int = 256, watch: Sequence[str] = ()
) -> Iterator[Llama]:
    """`watch`: names of graph tensors, without their "-layer", kept in `seen` at each step."""
    llama_cpp.llama_log_set(_QUIET, None)
    llama_cpp.llama_backend_init()
    model_params = llama_cpp.llama_model_default_params()
    model_params.use_extra_bufts = False
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), model_params)
    assert model, f"llama.cpp does not load {path}"
    watcher = _Watcher(watch)
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = n_seq * -(-n_step // 256) * 256
    params.n_seq_max = n_seq
    params.n_threads = params.n_threads_batch = 1
    if watch:
        params.cb_eval = watcher.callback(type(params.cb_eval))
    context = llama_cpp.llama_init_from_model(model, params)
    assert context
    llama = Llama(model, context, n_seq)
    llama.seen = watcher.seen
    try:
        yield llama
    finally:
        llama.close()
        llama_cpp.llama_free(context)
        llama_cpp.llama_model_free(model)


class _Watcher:
    def __init__(self, names: Sequence[str]) -> None:
        self.seen: dict[str, NDArray[np.generic]] = {}
        self._names = names
        if not names:
            return
        self._ggml = ctypes.CDLL("libggml-base.so.0")  # loaded already, with llama.cpp
        self._ggml.ggml_get_name.restype = ctypes.c_char_p
        self._ggml.ggml_get_name.argtypes = [ctypes.c_void_p]
        self._ggml.ggml_get_data.restype = ctypes.c_void_p
        self._ggml.ggml_get_data.argtypes = [ctypes.c_void_p]

    def callback(self, c_type: type) -> object:
        signature = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_bool, ctypes.c_void_p)
        self._kept = signature(self._on_tensor)
        return ctypes.cast(self._kept, c_type)

    def _on_tensor(self, address: int, ask: bool, user: object) -> bool:
        name = self._ggml.ggml_get_name(address).decode()
        head, _, layer = name.partition("-")
        wanted = head in self._names and layer.isdigit()
        if wanted and not ask:
            tensor = TensorHead.from_address(address)
            n, n_rows, stride = tensor.ne[0], tensor.ne[1], tensor.nb[1]
            size = stride * (n_rows - 1) + 4 * n
            data = (ctypes.c_uint8 * size).from_address(self._ggml.ggml_get_data(address))
            dtype = np.int32 if tensor.type == 26 else np.float32  # GGML_TYPE_I32
            self.seen[name] = np.ndarray((n_rows, n), dtype, data, strides=(stride, 4)).copy()
        return wanted or not ask
