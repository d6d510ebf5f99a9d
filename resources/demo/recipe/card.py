"""The model card, written from what evaluation found."""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recipe.shape import Shape

# With places for figures.
_TEXT = Path(__file__).with_suffix(".md")
_REPLIES = "<!-- replies -->\n"  # where they come


Good = Mapping[str, int | None]


def card(
    results: dict[str, Any], settings: dict[str, Any], own_good: Good, others_good: Good
) -> str:
    """The card as Markdown.

    Of the recipe's own prompts and those of others, a `Good` has, by temperature, the replies to
    how many a reader found grammatical and on topic; None: nobody counted.
    """
    shape = Shape()
    experts = results["experts"]
    perplexity = results["perplexity"]
    effective = experts["effective_experts"]
    hits = experts["lfu_hit"]
    filled = _TEXT.read_text(encoding="utf-8").format(
        file_mb=results["file_bytes"] / 1e6,
        n_layer=shape.n_layer,
        n_embd=shape.n_embd,
        n_head=shape.n_head,
        n_head_kv=shape.n_head_kv,
        head_dim=shape.head_dim,
        n_expert=shape.n_expert,
        n_used=shape.n_expert_used,
        n_vocab=shape.n_vocab,
        n_parameter=shape.n_parameter(shape.n_expert) / 1e6,
        n_active=shape.n_parameter(shape.n_expert_used) / 1e6,
        n_train_million=perplexity["n_train_token"] / 1e6,
        n_conversation=perplexity["n_conversation"],
        n_token=perplexity["n_token"],
        model=perplexity["model"],
        trigram=perplexity["trigram"],
        unigram=perplexity["unigram"],
        n_reply=experts["n_reply"],
        n_expert_step=experts["n_step"],
        n_counted_step=experts["n_counted_step"],
        n_expert_total=shape.n_expert * shape.n_layer,
        record_kb=experts["record_bytes"] / 1e3,
        effective_low=min(effective),
        effective_high=max(effective),
        never_used=experts["never_used"],
        shares=" | ".join(f"{float(share):.0%}" for share in hits),
        rules=" --- |" * len(hits),
        hits=" | ".join(f"{hit:.0%}" for hit in hits.values()),
        recall=experts["next_router_recall"],
        repeat=experts["repeat_share"],
        sampling=results["sampling"],
        n_own=len(results["own_replies"]),
        n_others=len(results["replies"]),
        n_same=results["llama_cpp"].count(None),
        n_compared=len(results["llama_cpp"]),
        apart=_apart([gap for gap in results["llama_cpp"] if gap is not None]),
        **settings,
    )
    own, others, _ = filled.split(_REPLIES)
    parts = ((own, "own_replies", own_good), (others, "replies", others_good))
    return "".join(
        text + _read(good, len(results[key])) + "".join(_conversations(results[key]))
        for text, key, good in parts
    )


def _read(good: Good, n_prompt: int) -> str:
    found = [
        f"{n} of {n_prompt} at temperature {temperature}"
        for temperature, n in good.items()
        if n is not None
    ]
    if not found:
        return ""
    return (
        f"\nThe stricter of two readers found {' and '.join(found)} grammatical and on topic in"
        " every reply.\n"
    )


def _apart(gaps: list[float]) -> str:
    if not gaps:
        return ""
    return f"; in the others its choice and ours were {max(gaps):.2g} apart in logits at most"


def _conversations(replies: list[dict[str, Any]]) -> Iterator[str]:
    for number, answered in enumerate(replies, 1):
        yield f"\n### {number}\n"
        for turn, question in enumerate(answered["prompt"]):
            yield f"\n**{_inline(question)}**\n"
            for temperature in ("0.0", "0.7"):
                said = answered[temperature]
                cut = "" if said["ends"][turn] == "stop" else " *(cut off)*"
                yield f"\n- {float(temperature):g}: {_inline(said['replies'][turn])}{cut}"
            yield "\n"


def _inline(text: str) -> str:
    """On one line, with Markdown's signs taken literally."""
    for sign in "\\`*_<>#|[]":
        text = text.replace(sign, f"\\{sign}")
    return " / ".join(line.strip() for line in text.splitlines() if line.strip())


def main() -> None:
    """Write the card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("settings", type=Path)
    parser.add_argument("card", type=Path)
    for whose in ("own", "others"):
        parser.add_argument(
            f"--{whose}",
            type=int,
            nargs=2,
            default=(None, None),
            metavar="N",
            help="for how many of these prompts a reader found the replies good, at 0 and at 0.7",
        )
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text(encoding="utf-8"))
    settings = json.loads(arguments.settings.read_text(encoding="utf-8"))
    own, others = (
        dict(zip(("0", "0.7"), counts, strict=True)) for counts in (arguments.own, arguments.others)
    )
    arguments.card.write_text(card(results, settings, own, others), encoding="utf-8")


if __name__ == "__main__":
    main()
