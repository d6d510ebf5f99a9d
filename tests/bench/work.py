"""What both engines are asked to do: the same prompts, and the same tokens one after the other."""

from dataclasses import dataclass

PROMPTS = (
    "Explain why the sky is blue to a ten-year-old.",
    "Write a function that finds the longest palindrome in a string.",
    "What were the main causes of the fall of the Roman Republic?",
    "Translate into French: the train to Lyon leaves at seven in the morning.",
    "A farmer has 17 sheep and all but 9 run away. How many are left, and why?",
    "Give me a recipe for a lentil soup with what most kitchens have.",
    "Summarise the rules of chess in ten sentences.",
    "List three ways in which a bridge can fail and how each is prevented.",
)
CONTEXT = 1024  # tokens of one sequence, in both engines
PREFILL_TOKENS = 512
# Decode steps that are not measured: in eight Runahead's requests join one by one, four warm up.
WARM_STEPS = 12


@dataclass(frozen=True)
class Sequence:
    """A prompt and what follows it; forced, so that both engines compute the same thing."""

    prompt: list[int]
    continuation: list[int]


@dataclass(frozen=True)
class Work:
    """sequences: one per prompt; prefill: a prompt of PREFILL_TOKENS tokens."""

    sequences: list[Sequence]
    prefill: list[int]


@dataclass(frozen=True)
class Measure:
    """One figure: tokens per second of `n_sequences` decoding together, or of prefill (0)."""

    name: str
    n_sequences: int


MEASURES = (Measure("decode 1", 1), Measure("decode 8", 8), Measure("prefill 512", 0))
