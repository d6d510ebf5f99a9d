"""Policies in plain words."""

from app.language import tr
from app.settings.options import BY_NAME

_WORDS = {
    "bevy": "Requests whose experts are here run ahead, and so reveal what to read next. Nothing "
    "is guessed.",
    "bevy+prefetch": "Runahead; an idle link also reads what the next layer will probably want.",
    "lockstep-lfu": "All requests wait at each layer until every missing expert is there. The most "
    "used ones stay in the cache.",
    "llama.cpp": "All requests wait at each layer. Each layer keeps the experts that it used last.",
    "mixtral-offloading": "Lockstep, and guesses the next layer's experts by asking its router "
    "early.",
    "specmd": "Lockstep, and guesses generously; what this step is done with leaves the cache.",
    "finemoe": "Lockstep, and guesses from tokens of the past that went a similar way.",
    "promoe": "Lockstep, and guesses two layers ahead with a predictor that learns as it runs.",
    "prescope": "Lockstep; guesses several layers ahead and reads only what is worth its time.",
}


def policy_names() -> list[tuple[str, str]]:
    """(name, label) in the order in which they are offered."""
    return [(name, tr(label)) for name, label in BY_NAME["policy"].choices]


def policy_label(policy: str) -> str:
    """What it is called."""
    return next((label for name, label in policy_names() if name == policy), policy)


def policy_words(policy: str) -> str:
    """What it does, in one line."""
    words = _WORDS.get(policy)
    return tr(words) if words else tr("Five names of your own: {policy}", policy=policy)
