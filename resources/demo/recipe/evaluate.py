"""Evaluation of the finished file: perplexity, replies to held-out prompts, how experts are used.

Runs where Runahead is installed: llama.cpp gives the perplexity, Runahead's engine the rest.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import llama_cpp
import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.cache_size import CacheSize
from engine.engine import Engine
from engine.events import Finished, Piece
from engine.options import EngineOptions
from engine.request import Message, Request
from engine.sampling import SamplingParams
from recipe.chatml import IM_START, chat_text
from recipe.corpus import conversations, held_out_prompts
from recipe.expert_use import expert_use
from recipe.made_of import StaleFolderError, check
from recipe.ngrams import Trigram, Unigram
from recipe.rows import Rows

HELD_OUT_SEED, N_HELD_OUT = 4, 300  # conversations
OWN_SEED, N_OWN = 5, 30  # conversations
TEMPERATURES = (0.0, 0.7)
_CONTEXT = 1024
_MOST = 256  # tokens of a reply
MOST_OF_TRIGRAM = 0.5  # the model's perplexity, or it has not learnt enough to ship


def evaluate(model: Path, rows_folder: Path) -> dict[str, Any]:
    """What the card says about the model. The n-grams learn from the rows it was trained on.

    Raises StaleFolderError when those are another recipe's.
    """
    check(rows_folder)
    options = EngineOptions(
        store="memory", cache=CacheSize(fraction=1), context=_CONTEXT, run_log=False, n_threads=2
    )
    llama = load_llama(model, n_threads=2)
    with Engine.open(model, options) as engine:
        held_out = [
            engine.tokenize(chat_text(conversation), add_special=False)[:_CONTEXT]
            for conversation in islice(conversations("held-out", HELD_OUT_SEED), N_HELD_OUT)
        ]
        found = [replies(engine, turns) for turns in held_out_prompts()]
        return {
            "file_bytes": model.stat().st_size,
            "perplexity": perplexities(llama, rows_folder, held_out, engine.info.n_vocab),
            "sampling": msgspec.structs.asdict(sampled(engine, TEMPERATURES[-1], seed=1)),
            "replies": found,
            "own_replies": [replies(engine, turns) for turns in own_prompts()],
            "llama_cpp": [
                difference(engine, llama, tuple(prompt))
                for answered in found
                for prompt in greedy_prompts(engine, answered)
            ],
            "experts": expert_use(engine),
        }


def load_llama(model: Path, n_threads: int) -> llama_cpp.Llama:
    """llama.cpp with flash attention, as it chooses itself; this binding would choose another."""
    return llama_cpp.Llama(
        str(model),
        n_ctx=_CONTEXT,
        n_batch=_CONTEXT,
        logits_all=True,
        flash_attn=True,
        n_threads=n_threads,
        verbose=False,
    )


def perplexities(
    llama: llama_cpp.Llama, rows_folder: Path, held_out: Sequence[Sequence[int]], n_vocab: int
) -> dict[str, Any]:
    """Per token of the held-out conversations, for all tokens and for those of the assistant."""
    rows = [
        row
        for name in ("short", "long")
        for row in Rows.load(rows_folder / f"{name}.npz").tokens.tolist()
    ]
    said = np.concatenate([_said(llama, tokens) for tokens in held_out])
    found: dict[str, Any] = {"n_conversation": len(held_out), "n_token": len(said)}
    found["n_train_token"] = sum(map(len, rows))
    for name, chances in (
        ("model", [_chances(llama, tokens) for tokens in held_out]),
        ("trigram", _each(Trigram(rows, n_vocab), held_out)),
        ("unigram", _each(Unigram(rows, n_vocab), held_out)),
    ):
        logs = np.log(np.concatenate(chances))
        found[name] = {
            "all": float(np.exp(-logs.mean())),
            "assistant": float(np.exp(-logs[said].mean())),
        }
    return found


def own_prompts() -> list[list[str]]:
    """The user's turns of the first held-out conversations of a seed of their own."""
    made = islice(conversations("held-out", OWN_SEED), N_OWN)
    return [[turn.text for turn in c if turn.role == "user"] for c in made]


def replies(
    engine: Engine, turns: Sequence[str], temperatures: Sequence[float] = TEMPERATURES
) -> dict[str, Any]:
    """A chat with the user's `turns`, at each temperature: what was said, how it ended."""
    answered: dict[str, Any] = {"prompt": list(turns)}
    for temperature in temperatures:
        said: list[str] = []
        ends: list[str] = []
        for n in range(len(turns)):
            params = sampled(engine, temperature, seed=1)
            text, end = _reply(engine, _asked(turns[: n + 1], said, params))
            said.append(text)
            ends.append(end)
        answered[str(temperature)] = {"replies": said, "ends": ends}
    return answered


def sampled(engine: Engine, temperature: float, seed: int) -> SamplingParams:
    """As the file recommends, but for the temperature."""
    recommended = engine.model.sampling.applied(SamplingParams(seed=seed, max_tokens=_MOST))
    return msgspec.structs.replace(recommended, temperature=temperature)


def greedy_prompts(engine: Engine, answered: dict[str, Any]) -> list[list[int]]:
    """What each turn of a chat reads at temperature 0, with our replies to those before it."""
    turns, said = answered["prompt"], answered["0.0"]["replies"]
    return [engine.prompt_of(_asked(turns[: n + 1], said[:n])).tokens for n in range(len(turns))]


def share_of_trigram(perplexity: dict[str, Any]) -> float:
    """The model's perplexity as a share of the trigram's, of what counts where it is larger."""
    model, trigram = perplexity["model"], perplexity["trigram"]
    return max(float(model[tokens]) / float(trigram[tokens]) for tokens in model)


def difference(engine: Engine, llama: llama_cpp.Llama, prompt: tuple[int, ...]) -> float | None:
    """None when llama.cpp's greedy reply has the same text as ours.

    Else by how much it prefers its token, in logits, where the two first differ.
    """
    params = SamplingParams(temperature=0, max_tokens=_MOST)
    ours, _ = _reply(engine, Request(tokens=prompt, params=params))
    llama.reset()
    answer = llama.create_completion(list(prompt), temperature=0, max_tokens=_MOST)
    theirs = answer["choices"][0]["text"]
    if theirs == ours:
        return None
    tokens = [engine.tokenize(text, add_special=False) for text in (theirs, ours)]
    for said in tokens:
        said.append(llama.token_eos())
    same = next(i for i, (a, b) in enumerate(zip(*tokens, strict=False)) if a != b)
    llama.reset()
    llama.eval([*prompt, *tokens[0][:same]])
    logits = llama.scores[llama.n_tokens - 1]
    return float(logits[tokens[0][same]] - logits[tokens[1][same]])


def _reply(engine: Engine, request: Request) -> tuple[str, str]:
    """A reply's text, and why it ended."""
    number = engine.submit(request)
    text = ""
    while True:
        engine.wait(0.1)
        for event in engine.poll():
            if isinstance(event, Piece) and event.request == number:
                text += event.text
            elif isinstance(event, Finished) and event.request == number:
                return text, event.reason


def _asked(
    turns: Sequence[str], said: Sequence[str] = (), params: SamplingParams | None = None
) -> Request:
    messages = []
    for n, turn in enumerate(turns):
        messages.append(Message("user", turn))
        messages += [Message("assistant", text) for text in said[n : n + 1]]
    return Request(messages=tuple(messages), params=params or SamplingParams())


def _chances(llama: llama_cpp.Llama, tokens: Sequence[int]) -> NDArray[np.float64]:
    """What the model gave each token but the first."""
    llama.reset()
    llama.eval(tokens)
    logits = np.array(llama.scores[: len(tokens) - 1], dtype=np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    chances = np.exp(logits)
    found: NDArray[np.float64] = chances[np.arange(len(logits)), list(tokens[1:])] / chances.sum(
        axis=1
    )
    return found


def _each(model: Trigram | Unigram, held_out: Sequence[Sequence[int]]) -> list[list[float]]:
    return [model.chances(tokens) for tokens in held_out]


def _said(llama: llama_cpp.Llama, tokens: Sequence[int]) -> NDArray[np.bool_]:
    """Which tokens but the first stand in a turn of the assistant, behind its heading."""
    start = llama.tokenize(IM_START.encode(), add_bos=False, special=True)[0]
    heading = llama.tokenize(f"{IM_START}assistant\n".encode(), add_bos=False, special=True)
    end = llama.token_eos()
    said, inside, n_heading = [], False, len(heading)
    for i, token in enumerate(tokens):
        said.append(inside and token != start)
        if token == end:
            inside = False
        elif list(tokens[max(0, i - n_heading + 1) : i + 1]) == heading:
            inside = True
    return np.array(said[1:])


def main() -> None:
    """Write the results as JSON; fails when the model is too close to a trigram."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("rows_folder", type=Path)
    parser.add_argument("results", type=Path)
    arguments = parser.parse_args()
    try:
        results = evaluate(arguments.model, arguments.rows_folder)
    except StaleFolderError as error:
        sys.exit(str(error))
    arguments.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    share = share_of_trigram(results["perplexity"])
    if share > MOST_OF_TRIGRAM:
        sys.exit(
            f"The perplexity is {share:.2f} of the trigram's; a model that ships has at most"
            f" {MOST_OF_TRIGRAM}. Train it longer."
        )


if __name__ == "__main__":
    main()
