"""Prompts for benchmarks: those of a workload; `short` where none is named."""

from engine.workloads import prompts
from engine.workloads.lengths import Prompt, Tokenize
from engine.workloads.short import TEXTS as TEXTS


def bench_prompts(
    tokenize: Tokenize, n_requests: int, n_tokens: int, workload: str = "short"
) -> list[Prompt]:
    """`n_requests` distinct prompts of exactly `n_tokens` tokens. Raises InvalidRequestError."""
    return prompts(workload, n_requests, n_tokens, tokenize)
