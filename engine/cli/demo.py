"""`runahead demo`: four chats at once with the model that ships, runahead against lockstep."""

import argparse
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import msgspec

from engine import errors, metrics
from engine.cache_size import CacheSize
from engine.cli.arguments import Commands, checked, positive
from engine.cli.generate import STAGES
from engine.cli.live_view import view_of
from engine.cli.replies import Replies, Reply
from engine.cli.summary import summary_table
from engine.cli.terminal import native_progress, note, stdout, visible
from engine.demo_model import DEMO_CACHE, DEMO_CHATS, DEMO_THREADS, demo_model
from engine.engine import Engine
from engine.events import Event, Notice, Piece
from engine.last_steps import LastSteps
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.request import Message, Request
from engine.sampling import SamplingParams
from engine.steps_so_far import StepsSoFar
from engine.trace import Records

# Slow enough, for so small a model, that reading takes a good part of the time and lockstep waits.
# In the window, where text is to be watched as it comes, the link is slower.
LINK = LinkSpeed.parse("250MB/s")
POLICIES = {
    "bevy": "runahead inference",
    "lockstep-lfu": "the conventional way: all wait at every layer for the last missing expert",
}


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "demo",
        parents=[common],
        help="see runahead inference at work, on the tiny model that ships with it",
        description="Holds four chats at once with the tiny model that ships, its link paced so"
        " that reading takes its time, unless --link says otherwise: first by runahead inference,"
        " then in lockstep. Shows what the device and the link did.",
    )
    parser.add_argument("--model", type=Path, metavar="GGUF", help="another model")
    parser.add_argument(
        "--max-tokens", type=positive, default=96, metavar="N", help="of a reply (default: 96)"
    )
    parser.add_argument(
        "--link",
        type=checked(LinkSpeed.parse),
        default=LINK,
        metavar="SPEED",
        help=f"emulate a disk of this speed, or full: as fast as the disk can (default: {LINK})",
    )
    parser.add_argument(
        "--cache",
        type=checked(CacheSize.parse),
        default=DEMO_CACHE,
        metavar="SIZE",
        help="memory for experts: 30%%, 4MB or all (default: 30%%)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show the demo."""
    out = stdout()
    started = time.monotonic()
    options = EngineOptions(
        cache=args.cache,
        link=args.link,
        context=1024,
        max_requests=len(DEMO_CHATS),
        n_threads=DEMO_THREADS,
    )
    with native_progress(STAGES) as progress:
        engine = Engine.open(args.model or demo_model(), options, progress)
    with engine:
        if args.model is None:
            out.print("The demo model is tiny: its answers are not to be relied on.")
        out.print(
            f"{visible(engine.model.title)}: {len(DEMO_CHATS)} chats at once,"
            f" cache {args.cache} of the experts, link {args.link.labelled}",
            markup=False,
        )
        names = list(POLICIES)
        out.print(f"\n[bold]{names[0]}[/bold], {POLICIES[names[0]]}")
        first = _Chats(engine, names[0], args.max_tokens, shown=True)
        latest = LastSteps()
        steps = first.run(latest.take)
        out.print(f"All chats were answered from {first.all_begun - started:.1f} s on.")
        out.print(f"\n[bold]{names[1]}[/bold], {POLICIES[names[1]]}")
        out.print("The same chats are held again, with the same replies.")
        other = _Chats(engine, names[1], args.max_tokens, shown=False).run()
        log = engine.run_log_folder
    summaries = dict(zip(names, (_warm(steps), _warm(other)), strict=True))
    out.print(summary_table(summaries, "While several chats were answered, the second half"))
    one, two = summaries.values()
    if two.tokens_per_s:
        ratio = one.tokens_per_s / two.tokens_per_s
        out.print(f"{names[0]} / {names[1]}: {ratio:.2f}x tokens/s (link {args.link.labelled})")
    if log is not None:
        from engine.runlog.timeline import write_timeline

        title = f"{names[0]}, link {args.link.labelled}"
        write_timeline(latest.records(), log / "timeline.png", title=title)
        out.print(f"run log:  {log}", markup=False, soft_wrap=True)
        out.print(f"timeline: {log / 'timeline.png'}", markup=False, soft_wrap=True)
    return 0


class _Chats:
    """All chats, a turn of each at a time.

    Attributes:
        all_begun: When each chat had some text; in seconds of time.monotonic().
    """

    def __init__(self, engine: Engine, policy: str, max_tokens: int, *, shown: bool) -> None:
        self._engine = engine
        self._max_tokens = max_tokens
        self._shown = shown
        self._sessions = [engine.open_session() for _ in DEMO_CHATS]
        self._said: list[list[Message]] = [[] for _ in DEMO_CHATS]
        self._silent: set[int] = set()
        self._measured = StepsSoFar()
        self.all_begun = 0.0
        engine.set_policy(policy, cold=True)
        engine.drain_events()

    def run(self, traced: Callable[[Records], None] = lambda records: None) -> metrics.Steps:
        """Hold the chats; the steps that the engine took. `traced` hears of all that it did.

        Raises EngineError when a reply fails.
        """
        for turn in zip(*DEMO_CHATS, strict=True):
            self._take_turn(turn, traced)
        for session in self._sessions:
            self._engine.close_session(session)
        return self._measured.steps()

    def _take_turn(self, questions: tuple[str, ...], traced: Callable[[Records], None]) -> None:
        replies = []
        for n, question in enumerate(questions):
            self._said[n].append(Message("user", question))
            params = self._engine.model.sampling.applied(
                SamplingParams(temperature=0.7, seed=n, max_tokens=self._max_tokens)
            )
            request = Request(
                messages=tuple(self._said[n]), params=params, session=self._sessions[n]
            )
            replies.append(Reply(self._engine.submit(request), question))
        if not self.all_begun:
            self._silent = {reply.request for reply in replies}
        with view_of(replies) if self._shown else nullcontext() as view:

            def on_event(event: Event) -> None:
                if isinstance(event, Notice):
                    note(event.text)
                    return
                if isinstance(event, Piece) and event.text:
                    self._heard(event.request)
                if view is not None:
                    view.take(event)

            def on_poll() -> None:
                records = self._engine.drain_events()
                self._measured.take(records)
                traced(records)

            running = Replies(self._engine, replies, on_event)
            running.run(on_poll)
        if failures := running.failures():
            raise errors.EngineError(f"A reply failed: {failures[0]}")
        for said, reply in zip(self._said, replies, strict=True):
            said.append(Message("assistant", reply.text))

    def _heard(self, request: int) -> None:
        self._silent.discard(request)
        if not self._silent and not self.all_begun:
            self.all_begun = time.monotonic()


def _warm(steps: metrics.Steps) -> metrics.Summary:
    """Of the steps with several requests, the second half: the cache is warm there.

    Its tokens/s are those of the steps, without the reading of prompts between turns.
    """
    several = steps[steps["requests"] > 1]
    warm = metrics.summarise(several[len(several) // 2 :])
    seconds = warm.steps * warm.step_ms / 1e3
    return msgspec.structs.replace(warm, tokens_per_s=warm.tokens / seconds if seconds else 0.0)
