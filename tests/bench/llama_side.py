"""llama.cpp itself, through llama-cpp-python's low-level API, with all weights in memory."""

import ctypes
import time
from dataclasses import dataclass

import llama_cpp.llama_cpp as lib
import numpy as np
from repack_buffer import extra_buffer_types, repack_overrides
from work import CONTEXT, PREFILL_TOKENS, PROMPTS, WARM_STEPS, Measure, Sequence, Work


@dataclass(frozen=True)
class LlamaConfig:
    """One way to run llama.cpp.

    weights: "plain"; "extra", llama.cpp's own choice of extra buffer types (AMX among them where
    the CPU has it); "repack", CPU_REPACK for every matrix that it supports, without AMX.
    flash: whether flash attention is left to llama.cpp ("auto"), or "off".
    """

    weights: str
    flash: str

    def __str__(self) -> str:
        """For the table."""
        return f"{self.weights}, flash {self.flash}"


def configs() -> list[LlamaConfig]:
    """All that can differ on this CPU; without AMX, "extra" is the same as "repack"."""
    weights = ["plain", "extra", *(["repack"] if "AMX" in extra_buffer_types() else [])]
    return [LlamaConfig(w, f) for w in weights for f in ("auto", "off")]


@lib.llama_log_callback
def _silent(level: int, text: bytes, data: object) -> None:
    pass


class LlamaSide:
    """One open model. A context per number of sequences, with CONTEXT tokens for each."""

    def __init__(self, model_path: str, config: LlamaConfig, n_threads: int) -> None:
        lib.llama_log_set(_silent, ctypes.c_void_p(0))
        lib.llama_backend_init()
        params = lib.llama_model_default_params()
        params.load_mode = lib.LLAMA_LOAD_MODE_NONE
        params.n_gpu_layers = 0
        params.use_extra_bufts = config.weights == "extra"
        if config.weights == "repack":
            overrides = repack_overrides(model_path)
            params.tensor_buft_overrides = ctypes.cast(overrides, ctypes.c_void_p)
        self._model = lib.llama_model_load_from_file(model_path.encode(), params)
        if not self._model:
            raise RuntimeError(f"llama.cpp cannot load {model_path} ({config})")
        self._config = config
        self._n_threads = n_threads
        self._vocab = lib.llama_model_get_vocab(self._model)
        self._n_vocab = lib.llama_vocab_n_tokens(self._vocab)
        self._contexts: dict[int, int] = {}

    def make_work(self, n_steps: int, seed: int) -> Work:
        """Sample every continuation at temperature 1; the prefill is all of that text in a row."""
        random = np.random.default_rng(seed)
        context = self._context(1)
        sequences = []
        for text in PROMPTS:
            prompt = self._tokenize(text)
            lib.llama_memory_clear(lib.llama_get_memory(context), True)
            logits = self._decode(
                context, [(0, i, t) for i, t in enumerate(prompt)], last_only=True
            )
            continuation: list[int] = []
            while True:
                # The Gumbel trick: the largest of logit + noise is a sample of the softmax.
                continuation.append(int(np.argmax(logits[0] + random.gumbel(size=self._n_vocab))))
                if len(continuation) == WARM_STEPS + n_steps:
                    break
                position = len(prompt) + len(continuation) - 1
                logits = self._decode(context, [(0, position, continuation[-1])])
            sequences.append(Sequence(prompt, continuation))
        text_tokens = [t for s in sequences for t in (*s.prompt, *s.continuation)]
        prefill = (text_tokens * (PREFILL_TOKENS // len(text_tokens) + 1))[:PREFILL_TOKENS]
        return Work(sequences, prefill)

    def measure(self, measure: Measure, work: Work) -> float:
        """Tokens per second."""
        if measure.n_sequences == 0:
            return self._prefill(work.prefill)
        return self._decode_together(work.sequences[: measure.n_sequences])

    def _decode_together(self, sequences: list[Sequence]) -> float:
        context = self._context(len(sequences))
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        for s, sequence in enumerate(sequences):
            self._decode(
                context, [(s, i, t) for i, t in enumerate(sequence.prompt)], last_only=True
            )
        n_steps = len(sequences[0].continuation)
        begin = 0.0
        for step in range(n_steps):
            if step == WARM_STEPS:
                begin = time.perf_counter()
            self._decode(
                context,
                [(s, len(q.prompt) + step, q.continuation[step]) for s, q in enumerate(sequences)],
            )
        return (n_steps - WARM_STEPS) * len(sequences) / (time.perf_counter() - begin)

    def _prefill(self, tokens: list[int]) -> float:
        context = self._context(1)
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        begin = time.perf_counter()
        self._decode(context, [(0, i, t) for i, t in enumerate(tokens)], last_only=True)
        return len(tokens) / (time.perf_counter() - begin)

    def _context(self, n_sequences: int) -> int:
        if n_sequences not in self._contexts:
            params = lib.llama_context_default_params()
            params.n_ctx = CONTEXT * n_sequences
            params.n_seq_max = n_sequences
            params.n_batch = params.n_ubatch = PREFILL_TOKENS
            params.n_threads = params.n_threads_batch = self._n_threads
            params.kv_unified = False
            if self._config.flash == "off":
                params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
            context = lib.llama_init_from_model(self._model, params)
            if not context:
                raise RuntimeError(f"llama.cpp has no context of {params.n_ctx} tokens")
            self._contexts[n_sequences] = context
        return self._contexts[n_sequences]

    def _decode(
        self, context: int, tokens: list[tuple[int, int, int]], *, last_only: bool = False
    ) -> np.ndarray:
        """One llama_batch of (sequence, position, token); waits for its logits [rows, n_vocab]."""
        batch = lib.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, (sequence, position, token) in enumerate(tokens):
            batch.token[i], batch.pos[i] = token, position
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, sequence
            batch.logits[i] = not last_only or i == len(tokens) - 1
        status = lib.llama_decode(context, batch)
        lib.llama_batch_free(batch)
        if status != 0:
            raise RuntimeError(f"llama_decode gave {status} for a batch of {len(tokens)}")
        n_rows = 1 if last_only else len(tokens)
        return np.ctypeslib.as_array(lib.llama_get_logits(context), (n_rows, self._n_vocab))

    def _tokenize(self, text: str) -> list[int]:
        raw = text.encode()
        tokens = (lib.llama_token * (len(raw) + 8))()
        n = lib.llama_tokenize(self._vocab, raw, len(raw), tokens, len(tokens), True, False)
        if n <= 0:
            raise RuntimeError(f"this model's vocabulary gives no tokens for {text!r}")
        return list(tokens[:n])
