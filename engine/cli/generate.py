"""`runahead generate`: reply to one or several prompts at once."""

import argparse
import sys
from contextlib import nullcontext
from typing import Any

import msgspec

from engine import errors, metrics
from engine.cli.arguments import (
    Commands,
    add_engine_arguments,
    add_policy_arguments,
    engine_options,
    positive,
)
from engine.cli.live_view import view_of
from engine.cli.replies import Replies, Reply
from engine.cli.summary import summary_json, summary_table
from engine.cli.terminal import as_json, native_progress, note, stderr, stdout
from engine.engine import Engine
from engine.events import Event, Notice
from engine.model_info import ModelInfo, inspect_model
from engine.options import MAX_REQUESTS, EngineOptions, usual_context
from engine.request import Message, Request
from engine.sampling import SamplingParams
from engine.steps_so_far import StepsSoFar

DEFAULTS = SamplingParams()
# name, type, metavar
SAMPLING = (
    ("temperature", float, "T"),
    ("top_k", int, "K"),
    ("top_p", float, "P"),
    ("min_p", float, "P"),
    ("repeat_penalty", float, "R"),
)
STAGES = {
    "pack": "Building the expert pack",
    "weights": "Loading",
    "experts": "Loading the experts",
}


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "generate",
        parents=[common],
        help="reply to prompts, all at once",
        description="Replies to one or several prompts at the same time. Without --prompt, the"
        " prompt is read from standard input.",
    )
    parser.add_argument("model", metavar="MODEL", help="a GGUF file")
    parser.add_argument(
        "-p", "--prompt", action="append", default=[], metavar="TEXT", help="may be repeated"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--chat", action="store_true", help="as a chat (default when the model has a template)"
    )
    kind.add_argument("--raw", action="store_true", help="continue the text as it is")
    parser.add_argument("--system", default="", metavar="TEXT", help="system message of the chats")
    sampling = parser.add_argument_group("sampling")
    sampling.add_argument("--max-tokens", type=positive, default=256, metavar="N")
    for name, kind, letter in SAMPLING:
        sampling.add_argument(
            f"--{name.replace('_', '-')}",
            type=kind,
            metavar=letter,
            help=f"default: what the model's file recommends, else {getattr(DEFAULTS, name):g}",
        )
    sampling.add_argument("--seed", type=int, default=0, help="of the first; the next has one more")
    sampling.add_argument("--stop", action="append", default=[], metavar="TEXT")
    add_policy_arguments(parser)
    add_engine_arguments(parser)
    parser.add_argument(
        "--context",
        type=positive,
        metavar="N",
        help=f"tokens (default: {EngineOptions().context}, or what the model was trained for)",
    )
    parser.add_argument("--json", action="store_true", help="the replies and figures as JSON")
    parser.add_argument("--no-log", action="store_true", help="keep no run log")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Generate."""
    prompts = args.prompt or [_stdin()]
    model = inspect_model(args.model)
    params = [_params(args, model, n) for n in range(len(prompts))]
    options = engine_options(
        args,
        policy=args.policy,
        cache=args.cache,
        link=args.link,
        context=args.context or usual_context(model.context_length),
        max_requests=max(1, min(MAX_REQUESTS, len(prompts))),
        run_log=not args.no_log,
    )
    with native_progress(STAGES) as progress:
        engine = Engine.open(model, options, progress)
    with engine:
        replies = [
            Reply(engine.submit(_request(args, engine, prompt, each)), prompt)
            for prompt, each in zip(prompts, params, strict=True)
        ]
        measured = StepsSoFar()
        view = nullcontext() if args.json else view_of(replies)

        def on_event(event: Event) -> None:
            if isinstance(event, Notice):
                note(event.text)
            elif shown is not None:
                shown.take(event)

        running = Replies(engine, replies, on_event)
        with view as shown:
            running.run(lambda: measured.take(engine.drain_events()))
        _show_end(args, engine, replies, metrics.summarise(measured.steps()))
    if failures := running.failures():
        raise errors.EngineError(f"{len(failures)} of {len(replies)} replies failed: {failures[0]}")
    return 0


def _stdin() -> str:
    try:
        prompt = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    except UnicodeDecodeError as error:
        raise errors.InvalidRequestError(
            f"The prompt is not {sys.stdin.encoding.upper()}, at byte {error.start}",
            "Convert it first, for example with iconv.",
        ) from error
    if not prompt.strip():
        raise errors.InvalidRequestError("There is no prompt: give --prompt TEXT, or pipe one in")
    return prompt


def _params(args: argparse.Namespace, model: ModelInfo, n: int) -> SamplingParams:
    given = {name: getattr(args, name) for name, _, _ in SAMPLING}
    return msgspec.structs.replace(
        model.sampling.applied(DEFAULTS),
        **{name: value for name, value in given.items() if value is not None},
        max_tokens=args.max_tokens,
        seed=args.seed + n,
        stop=tuple(args.stop),
    )


def _request(
    args: argparse.Namespace, engine: Engine, prompt: str, params: SamplingParams
) -> Request:
    if args.raw or not (args.chat or args.system or engine.info.chat_template):
        return Request(prompt=prompt, params=params)
    system = (Message("system", args.system),) if args.system else ()
    return Request(messages=(*system, Message("user", prompt)), params=params)


def _show_end(
    args: argparse.Namespace, engine: Engine, replies: list[Reply], summary: metrics.Summary
) -> None:
    if args.json:
        report: dict[str, Any] = {
            "model": engine.model.title,
            "policy": args.policy,
            "cache_bytes": engine.stats().cache_bytes,
            "link_bytes_per_s": args.link.bytes_per_s,
            "link_emulated": args.link.emulated,
            "replies": [
                {
                    "prompt": reply.prompt,
                    "text": reply.text,
                    "tokens": len(reply.tokens),
                    "reason": reply.end.reason if reply.end else "cancelled",
                    "detail": reply.end.detail if reply.end else "",
                }
                for reply in replies
            ],
            "summary": summary_json(summary),
            "run_log": str(engine.run_log_folder or ""),
        }
        sys.stdout.write(as_json(report) + "\n")
        return
    link = f", link {args.link} (emulated)" if args.link.emulated else ""
    # A pipe gets the replies only.
    console = stdout() if stdout().is_terminal else stderr()
    console.print(summary_table({args.policy: summary}, f"cache {args.cache}{link}"))
    if engine.run_log_folder:
        console.print(f"run log: {engine.run_log_folder}", markup=False, soft_wrap=True)
