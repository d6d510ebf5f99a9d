"""Arguments that several subcommands share, and how their values are read."""

import argparse
from collections.abc import Callable
from typing import Any, TypeVar

from engine.cache_size import CacheSize
from engine.errors import InvalidRequestError
from engine.link_speed import LinkSpeed
from engine.options import PRESETS, STORES, EngineOptions

T = TypeVar("T")

# What ArgumentParser.add_subparsers gives; argparse has no public name for it.
Commands = Any


def checked(parse: Callable[[str], T]) -> Callable[[str], T]:
    """`parse` for argparse: a refusal becomes a usage error with its own words."""

    def read(text: str) -> T:
        try:
            return parse(text)
        except InvalidRequestError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def listed(parse: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Reads "a,b,c"; an empty or doubled item is refused."""

    def read(text: str) -> tuple[T, ...]:
        parts = [part.strip() for part in text.split(",")]
        if not all(parts):
            raise argparse.ArgumentTypeError(f"{text!r} has an empty item")
        items = tuple(checked(parse)(part) for part in parts)
        if len(set(items)) < len(items):
            raise argparse.ArgumentTypeError(f"{text!r} names something twice")
        return items

    return read


def positive(text: str) -> int:
    """An integer over 0."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number over 0")
    return int(text)


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """How the engine is opened, whatever it then does."""
    group = parser.add_argument_group("engine")
    group.add_argument(
        "--store",
        choices=STORES,
        default="pack",
        help="where experts are read from: an expert pack, which is built when there is none"
        " (default), the model file in place, or host memory",
    )
    group.add_argument("--pack", default="", metavar="FILE", help="the expert pack to use")
    group.add_argument(
        "--threads", type=positive, default=0, metavar="N", help="compute threads (default: all)"
    )
    group.add_argument(
        "--readers", type=positive, default=8, metavar="N", help="reader threads (default: 8)"
    )


def add_policy_arguments(parser: argparse.ArgumentParser) -> None:
    """One policy, one cache size, one link speed."""
    group = parser.add_argument_group("policy")
    group.add_argument(
        "--policy",
        default="bevy",
        help=f"a preset ({', '.join(PRESETS)}), or five names joined by '/' (default: bevy)",
    )
    group.add_argument(
        "--cache",
        type=checked(CacheSize.parse),
        default=CacheSize(fraction=0.3),
        metavar="SIZE",
        help="memory for experts: 30%%, 4GB, 512MiB or all (default: 30%%)",
    )
    group.add_argument(
        "--link",
        type=checked(LinkSpeed.parse),
        default=LinkSpeed(),
        metavar="SPEED",
        help="emulate a slower disk, for example 2GB/s (default: full)",
    )


def engine_options(args: argparse.Namespace, **others: Any) -> EngineOptions:
    """The options that the arguments of add_engine_arguments mean, and `others`."""
    return EngineOptions(
        store=args.store,
        pack_path=args.pack,
        n_threads=args.threads,
        n_readers=args.readers,
        **others,
    )
