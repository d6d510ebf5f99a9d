"""Workloads: what requests of a benchmark ask.

short   a few sentences, half like chats and half like steps of agents
chat    conversations that people had with a model (ShareGPT; needs the extra `bench`)
agent   what agents read: their task, tools, listings, diffs, traces
mixed   chat and agent in turn
"""

from engine.errors import InvalidRequestError
from engine.workloads import agent, sharegpt, short
from engine.workloads.lengths import Prompt, Tokenize

# A length of prompts at which each is like itself.
PROMPT_TOKENS = {"short": 64, "chat": 256, "agent": 1024, "mixed": 512}
WORKLOADS = tuple(PROMPT_TOKENS)


def prompts(workload: str, n: int, n_tokens: int, tokenize: Tokenize) -> list[Prompt]:
    """`n` distinct prompts of exactly `n_tokens` tokens; always the same ones.

    Raises InvalidRequestError for an unknown workload, or where its texts are not installed or too
    few of them are so long.
    """
    if n < 1 or n_tokens < 1:
        raise InvalidRequestError(f"{n} prompts of {n_tokens} tokens cannot be made")
    if workload == "mixed":
        chats = sharegpt.prompts((n + 1) // 2, n_tokens, tokenize)
        agents = agent.prompts(n // 2, n_tokens, tokenize)
        found = [(agents if at % 2 else chats)[at // 2] for at in range(n)]
    elif workload in _TEXTS:
        found = _TEXTS[workload].prompts(n, n_tokens, tokenize)
    else:
        raise InvalidRequestError(
            f"There is no workload {workload!r}: choose one of {', '.join(WORKLOADS)}"
        )
    return found


_TEXTS = {"short": short, "chat": sharegpt, "agent": agent}
