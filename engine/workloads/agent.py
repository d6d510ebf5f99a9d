"""The workload `agent`: what an agent at work reads, made up from the number of its request.

A task and its tools come first, then a log of calls and what they returned (listings, files, diffs,
test runs, traces) that goes on until the prompt is long enough. The same number always gives the
same text, and no two numbers the same task.
"""

import json
from collections.abc import Callable, Iterator

from engine.errors import InvalidRequestError
from engine.workloads.agent_words import (
    AREAS,
    FAULTS,
    NOUNS,
    SUFFIXES,
    TASKS,
    THOUGHTS,
    TOOLS,
    VERBS,
)
from engine.workloads.draw import Draw
from engine.workloads.lengths import Prompt, Tokenize, cut

_MOST_OBSERVATIONS = 400  # some 40,000 tokens: longer prompts are not what agents read at once


def prompts(n: int, n_tokens: int, tokenize: Tokenize) -> list[Prompt]:
    """Of agents 0 to n - 1."""
    found = cut((pieces(number) for number in range(n)), n, n_tokens, tokenize)
    if len(found) < n:
        raise InvalidRequestError(f"No agent reads {n_tokens} tokens: choose shorter prompts")
    return found


def pieces(number: int) -> Iterator[str]:
    """One agent's prompt, from its task to its last observation."""
    draw = Draw(number)
    area = draw.of(AREAS)
    task = draw.of(TASKS).format(noun=draw.of(NOUNS))
    yield (
        f"Run {number + 1} ({draw.below(10**6):06d}), {area}. {task}\n\n"
        "You are an agent that works in a repository. Think, then call exactly one tool, as JSON"
        " on a line of its own; the answer comes back as an observation. When nothing is left to"
        " do, call finish.\n\nTools:\n"
    )
    for tool in draw.some(TOOLS, 3 + draw.below(len(TOOLS) - 2)):
        yield json.dumps(tool) + "\n"
    for step in range(1, _MOST_OBSERVATIONS + 1):
        call, observe = draw.of(_OBSERVATIONS)
        thought = draw.of(THOUGHTS).format(noun=draw.of(NOUNS), area=area)
        path = _path(draw, area)
        arguments = json.dumps({"tool": call, "path": path, "step": step})
        yield f"\nThought {step}: {thought}\n{arguments}\nObservation:\n{observe(draw, path)}"


def _path(draw: Draw, area: str) -> str:
    return f"{area}/{draw.of(NOUNS)}/{draw.of(VERBS)}_{draw.of(NOUNS)}.py"


def _listing(draw: Draw, path: str) -> str:
    folder = path.rsplit("/", 1)[0]
    lines = [
        f"-rw-r--r-- {draw.below(200_000):7d} 20{20 + draw.below(6)}-0{1 + draw.below(9)}-"
        f"{10 + draw.below(19)} {folder}/{draw.of(VERBS)}_{draw.of(NOUNS)}{draw.of(SUFFIXES)}"
        for _ in range(4 + draw.below(12))
    ]
    return "\n".join(lines) + "\n"


def _source(draw: Draw, path: str) -> str:
    lines = [f"# {path}"]
    for _ in range(2 + draw.below(4)):
        verb, noun, other = draw.of(VERBS), draw.of(NOUNS), draw.of(NOUNS)
        lines += [
            f"def {verb}_{noun}({other}: dict[str, int], limit: int = {draw.below(500)}) -> int:",
            f'    """{verb.capitalize()} every {noun} of the {other}, up to the limit."""',
            f"    found = [key for key, value in {other}.items() if value > {draw.below(90)}]",
            f"    if len(found) > limit: raise ValueError(f'{{len(found)}} {noun} entries')",
            f"    return sum({other}[key] for key in found) // {1 + draw.below(9)}",
            "",
        ]
    return "\n".join(lines)


def _diff(draw: Draw, path: str) -> str:
    noun, verb, line = draw.of(NOUNS), draw.of(VERBS), 1 + draw.below(400)
    old, new = draw.below(1000), draw.below(1000)
    return "\n".join(
        [
            f"--- a/{path}",
            f"+++ b/{path}",
            f"@@ -{line},6 +{line},7 @@ def {verb}_{noun}(self):",
            f"     {noun} = self.{draw.of(NOUNS)}.get({old})",
            f"-    if {noun} is None or {noun}.size > {old}:",
            f"+    if {noun} is None:",
            f"+        raise LookupError('no {noun} of {draw.of(NOUNS)}')",
            f"+    if {noun}.size > {new}:",
            f"         return self.{draw.of(VERBS)}({noun}, {new})",
            f"     log.info('{verb} %s', {noun})",
            "",
        ]
    )


def _tests(draw: Draw, path: str) -> str:
    lines = [f"collected {20 + draw.below(300)} items"]
    for _ in range(3 + draw.below(7)):
        outcome = "FAILED" if draw.below(4) == 0 else "PASSED"
        name = f"test_{draw.of(VERBS)}_{draw.of(NOUNS)}_{draw.below(40)}"
        lines.append(f"tests/{path}::{name} {outcome} [{draw.below(101):3d}%] {draw.below(900)} ms")
    return "\n".join(lines) + "\n"


def _trace(draw: Draw, path: str) -> str:
    lines = ["Traceback (most recent call last):"]
    for _ in range(2 + draw.below(5)):
        verb, noun = draw.of(VERBS), draw.of(NOUNS)
        lines += [
            f'  File "{path}", line {1 + draw.below(900)}, in {verb}_{noun}',
            f"    return self.{draw.of(NOUNS)}.{draw.of(VERBS)}({noun}, timeout={draw.below(60)})",
        ]
    fault = draw.of(FAULTS).format(noun=draw.of(NOUNS), n=draw.below(10_000))
    return "\n".join([*lines, fault, ""])


def _table(draw: Draw, path: str) -> str:
    rows = [
        f"{draw.below(10**8):08d} | {draw.of(NOUNS):10} | {draw.of(VERBS):10} | {draw.below(10**5)}"
        for _ in range(5 + draw.below(10))
    ]
    return "\n".join(["id       | kind       | state      | amount", *rows, ""])


_OBSERVATIONS: tuple[tuple[str, Callable[[Draw, str], str]], ...] = (
    ("list_files", _listing),
    ("read_file", _source),
    ("show_diff", _diff),
    ("run_tests", _tests),
    ("run", _trace),
    ("query", _table),
)
