"""llama.cpp's model and contexts, through llama-cpp-python's low-level API.

Only in a process of its own: Runahead's setting for OpenMP does not hold here, and a kernel that
crashes must end nothing else.
"""

import ctypes
import os
from pathlib import Path
from typing import Any

# engine/__init__.py has said it for Runahead's kernels; llama.cpp's run with libgomp's own choice.
os.environ.pop("GOMP_SPINCOUNT", None)

import llama_cpp.llama_cpp as lib  # libgomp reads its environment now
import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError, ModelFileError
from engine.rival.jobs import LlamaConfig
from engine.rival.repack_buffer import repack_overrides

BATCH = 512  # most tokens that are computed at once
_RANDOM, _HUGEPAGE = 1, 14  # madvise(2)
_ADVICE = {
    "normal": (),
    "random": (_RANDOM,),
    "hugepage": (_HUGEPAGE,),
    "hugepage-random": (_HUGEPAGE, _RANDOM),
}

# (sequence, position, token)
Row = tuple[int, int, int]


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _silent(level: int, text: bytes, data: object) -> None:
    pass


class LlamaModel:
    """One loaded model."""

    def __init__(self, path: str, config: LlamaConfig, n_threads: int) -> None:
        lib.llama_log_set(_silent, ctypes.c_void_p(0))
        lib.llama_backend_init()
        self.config = config
        self.n_threads = n_threads
        params = lib.llama_model_default_params()
        params.load_mode = (
            lib.LLAMA_LOAD_MODE_MMAP if config.load == "mmap" else lib.LLAMA_LOAD_MODE_NONE
        )
        params.n_gpu_layers = 0
        params.use_extra_bufts = config.weights == "extra"
        if config.weights.startswith("repack"):
            shared_only = config.weights == "repack-shared"
            overrides = repack_overrides(path, shared_only=shared_only)
            params.tensor_buft_overrides = ctypes.cast(overrides, ctypes.c_void_p)
        self._pointer = lib.llama_model_load_from_file(path.encode(), params)
        if not self._pointer:
            raise ModelFileError(f"llama.cpp cannot load {path} ({config})", "")
        self._path = Path(path).resolve()
        self._vocab = lib.llama_model_get_vocab(self._pointer)
        self.n_vocab = int(lib.llama_vocab_n_tokens(self._vocab))

    def context(self, n_sequences: int, n_tokens: int) -> "LlamaContext":
        """A context of `n_tokens` for each sequence."""
        params = lib.llama_context_default_params()
        params.n_ctx = n_tokens * n_sequences
        params.n_seq_max = n_sequences
        params.n_batch = params.n_ubatch = BATCH
        params.n_threads = params.n_threads_batch = self.n_threads
        params.kv_unified = self.config.kv == "unified"
        if self.config.flash == "off":
            params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        pointer = lib.llama_init_from_model(self._pointer, params)
        if not pointer:
            raise EngineError(f"llama.cpp has no context of {params.n_ctx} tokens")
        return LlamaContext(pointer, self.n_vocab)

    def advise(self) -> None:
        """Tell Linux the configuration's advice for all mappings of the model's files."""
        folder = f"{self._path.parent}{os.sep}"  # a split model's other files are there too
        libc = ctypes.CDLL(None, use_errno=True)
        for line in Path("/proc/self/maps").read_text().splitlines():
            addresses, *_, name = line.split(None, 5)
            if not (name.startswith(folder) and name.endswith(self._path.suffix)):
                continue
            begin, end = (int(address, 16) for address in addresses.split("-"))
            for advice in _ADVICE[self.config.advice]:
                if libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), advice):
                    reason = os.strerror(ctypes.get_errno())
                    raise EngineError(f"madvise({advice}) of {name}: {reason}")

    def tokenize(self, text: str) -> list[int]:
        """With the special tokens that the model wants around it."""
        raw = text.encode()
        tokens = (lib.llama_token * (len(raw) + 8))()
        n = lib.llama_tokenize(self._vocab, raw, len(raw), tokens, len(tokens), True, False)
        if n <= 0:
            raise EngineError(f"This model's vocabulary gives no tokens for {text!r}")
        return list(tokens[:n])


class LlamaContext:
    """The KV caches of a few sequences."""

    def __init__(self, pointer: Any, n_vocab: int) -> None:
        self._pointer = pointer
        self._n_vocab = n_vocab

    def clear(self) -> None:
        """Forget all sequences."""
        lib.llama_memory_clear(lib.llama_get_memory(self._pointer), True)

    def decode(self, rows: list[Row], *, last_only: bool = False) -> NDArray[np.float32]:
        """One llama_batch of up to BATCH rows; waits for its logits [rows or 1, n_vocab].

        The result is a view, until the next call.
        """
        batch = lib.llama_batch_init(len(rows), 0, 1)
        batch.n_tokens = len(rows)
        for i, (sequence, position, token) in enumerate(rows):
            batch.token[i], batch.pos[i] = token, position
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, sequence
            batch.logits[i] = not last_only or i == len(rows) - 1
        status = lib.llama_decode(self._pointer, batch)
        lib.llama_batch_free(batch)
        if status != 0:
            raise EngineError(f"llama_decode gave {status} for a batch of {len(rows)}")
        n_rows = 1 if last_only else len(rows)
        logits = lib.llama_get_logits(self._pointer)
        return np.ctypeslib.as_array(logits, (n_rows, self._n_vocab))

    def prefill(self, prompts: list[list[int]]) -> None:
        """Prompt n becomes the beginning of sequence n; as many together as a batch holds."""
        rows = [(s, i, t) for s, prompt in enumerate(prompts) for i, t in enumerate(prompt)]
        for at in range(0, len(rows), BATCH):
            self.decode(rows[at : at + BATCH], last_only=True)
