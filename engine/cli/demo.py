"""`runahead demo`: four prompts at once on a small made-up model, runahead against lockstep."""

import argparse
from pathlib import Path

import numpy as np

from engine import errors, metrics, trace
from engine.cache_size import CacheSize
from engine.cli.arguments import Commands, positive
from engine.cli.generate import STAGES
from engine.cli.live_view import view_of
from engine.cli.replies import Replies, Reply
from engine.cli.summary import summary_table
from engine.cli.terminal import native_progress, note, stdout, visible
from engine.demo_model import demo_model
from engine.engine import Engine
from engine.events import Event, Notice
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.request import Request
from engine.sampling import SamplingParams

POLICIES = {
    "bevy": "runahead inference",
    "lockstep-lfu": "the conventional way: all wait at every layer for the last missing expert",
}
PROMPTS = (
    "Why is the sky blue?",
    "Write a haiku about disks.",
    "Plan a weekend in the mountains.",
    "Explain mixture of experts to a cook.",
)
CACHE = CacheSize(fraction=0.3)
LINK = LinkSpeed.parse("1GB/s")


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "demo",
        parents=[common],
        help="see runahead inference at work, on a small made-up model",
        description="Makes a small random-weight model (its text is nonsense), answers four prompts"
        " at once, first by runahead inference, then in lockstep, and shows what the"
        " device and the link did.",
    )
    parser.add_argument("--model", type=Path, metavar="GGUF", help="another model (default: made)")
    parser.add_argument("--max-tokens", type=positive, default=96, metavar="N", help="default: 96")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show the demo."""
    out = stdout()
    model: Path = args.model or _demo_model()
    # On so small a model a second thread would only wait.
    options = EngineOptions(
        cache=CACHE, link=LINK, context=512, max_requests=len(PROMPTS), n_threads=1
    )
    with native_progress(STAGES) as progress:
        engine = Engine.open(model, options, progress)
    summaries = {}
    picture = None
    with engine:
        if args.model is None:
            out.print("The demo model has random weights: its text is nonsense, its work is real.")
        out.print(
            f"{visible(engine.model.title)}: {len(PROMPTS)} prompts at once,"
            f" cache {CACHE} of the experts, link {LINK} (emulated)",
            markup=False,
        )
        for policy, meaning in POLICIES.items():
            out.print(f"\n[bold]{policy}[/bold], {meaning}")
            records = _answer(engine, policy, args.max_tokens)
            summaries[policy] = _warm(records)
            picture = records if picture is None else picture
        log = engine.run_log_folder
    (first_name, first), (other_name, other) = summaries.items()
    out.print(summary_table(summaries, "The second half of each run"))
    if other.tokens_per_s:
        ratio = first.tokens_per_s / other.tokens_per_s
        out.print(f"{first_name} / {other_name}: {ratio:.2f}x tokens/s (link emulated)")
    if log is not None and picture is not None:
        from engine.runlog.timeline import write_timeline

        write_timeline(picture, log / "timeline.png", title=f"{first_name}, {LINK} emulated")
        out.print(f"run log:  {log}", markup=False, soft_wrap=True)
        out.print(f"timeline: {log / 'timeline.png'}", markup=False, soft_wrap=True)
    return 0


def _answer(engine: Engine, policy: str, max_tokens: int) -> trace.Records:
    engine.set_policy(policy, cold=True)
    engine.drain_events()
    replies = []
    for n, prompt in enumerate(PROMPTS):
        params = SamplingParams(temperature=1, seed=n, max_tokens=max_tokens, ignore_end=True)
        replies.append(Reply(engine.submit(Request(prompt=prompt, params=params)), prompt))
    records: list[trace.Records] = []
    view = view_of(replies)

    def on_event(event: Event) -> None:
        if isinstance(event, Notice):
            note(event.text)
        else:
            view.take(event)

    running = Replies(engine, replies, on_event)
    with view:
        running.run(lambda: records.append(engine.drain_events()))
    if failures := running.failures():
        raise errors.EngineError(f"A reply failed: {failures[0]}")
    return np.concatenate(records)


def _warm(records: trace.Records) -> metrics.Summary:
    """Of the steps with all requests active, the second half: the cache is warm there."""
    steps = metrics.step_table(records)
    full = steps[steps["requests"] == len(PROMPTS)]
    return metrics.summarise(full[len(full) // 2 :])


def _demo_model() -> Path:
    with native_progress({"write": "Making the demo model"}) as progress:
        return demo_model(progress)
