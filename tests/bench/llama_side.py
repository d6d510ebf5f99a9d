"""llama.cpp itself, with all weights in memory, asked for the work of both engines."""

import time

import numpy as np
from work import CONTEXT, PREFILL_TOKENS, PROMPTS, WARM_STEPS, Measure, Sequence, Work

from engine.rival.jobs import LlamaConfig
from engine.rival.llama_model import BATCH, LlamaContext, LlamaModel
from engine.rival.repack_buffer import extra_buffer_types

assert PREFILL_TOKENS <= BATCH


def configs() -> list[LlamaConfig]:
    """All that can differ on this CPU; without AMX, "extra" is the same as "repack"."""
    weights = ["plain", "extra", *(["repack"] if "AMX" in extra_buffer_types() else [])]
    return [
        LlamaConfig(weights=w, flash=f, load="none", kv="separate")
        for w in weights
        for f in ("auto", "off")
    ]


class LlamaSide:
    """One open model. A context per number of sequences, with CONTEXT tokens for each."""

    def __init__(self, model_path: str, config: LlamaConfig, n_threads: int) -> None:
        self._model = LlamaModel(model_path, config, n_threads)
        self._contexts: dict[int, LlamaContext] = {}

    def make_work(self, n_steps: int, seed: int) -> Work:
        """Sample every continuation at temperature 1; the prefill is all of that text in a row."""
        random = np.random.default_rng(seed)
        context = self._context(1)
        sequences = []
        for text in PROMPTS:
            prompt = self._model.tokenize(text)
            context.clear()
            logits = context.decode([(0, i, t) for i, t in enumerate(prompt)], last_only=True)
            continuation: list[int] = []
            while True:
                # The Gumbel trick: the largest of logit + noise is a sample of the softmax.
                noise = random.gumbel(size=self._model.n_vocab)
                continuation.append(int(np.argmax(logits[0] + noise)))
                if len(continuation) == WARM_STEPS + n_steps:
                    break
                position = len(prompt) + len(continuation) - 1
                logits = context.decode([(0, position, continuation[-1])])
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
        context.prefill([sequence.prompt for sequence in sequences])
        n_steps = len(sequences[0].continuation)
        begin = 0.0
        for step in range(n_steps):
            if step == WARM_STEPS:
                begin = time.perf_counter()
            context.decode(
                [(s, len(q.prompt) + step, q.continuation[step]) for s, q in enumerate(sequences)]
            )
        return (n_steps - WARM_STEPS) * len(sequences) / (time.perf_counter() - begin)

    def _prefill(self, tokens: list[int]) -> float:
        context = self._context(1)
        begin = time.perf_counter()
        context.prefill([tokens])
        return len(tokens) / (time.perf_counter() - begin)

    def _context(self, n_sequences: int) -> LlamaContext:
        """Empty."""
        if n_sequences not in self._contexts:
            self._contexts[n_sequences] = self._model.context(n_sequences, CONTEXT)
        context = self._contexts[n_sequences]
        context.clear()
        return context
