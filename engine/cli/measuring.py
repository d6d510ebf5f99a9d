"""What the commands that measure have in common."""

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from engine import errors, native
from engine.cache_size import CacheSize
from engine.cli.arguments import engine_options
from engine.cli.generate import STAGES
from engine.cli.terminal import native_progress
from engine.engine import Engine
from engine.model_info import inspect_model
from engine.room import check_room


def open_engine(
    args: argparse.Namespace,
    *,
    context: int,
    cases: Iterable[tuple[int, CacheSize]],
    **options: Any,
) -> Engine:
    """An engine for the measurement alone; of its options, those that are not in `args`.

    cases: Numbers of requests that must run ahead of each other, each with its cache. Raises
    InvalidRequestError, before a pack is built, when one has no room.
    """
    model = inspect_model(args.model)
    check_room(model, cases)
    chosen = engine_options(args, context=max(16, context), run_log=False, **options)
    with native_progress(STAGES) as progress:
        return Engine.open(model, chosen, progress)


def check_policies(policies: Iterable[str], parse: Callable[[str], object] | None = None) -> None:
    """Raise InvalidRequestError for a policy that `parse` (native.parse_policy) refuses."""
    with native.translated():
        for policy in policies:
            (parse or native.parse_policy)(native.utf8(policy, "The policy"))


def check_folder_can_be_made(path: Path) -> None:
    """Raise StorageError when a folder neither is there nor can be made; nothing is made yet."""
    there = next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise errors.StorageError(f"{path} cannot be made: {there} is a file", "")
    if not os.access(there, os.W_OK | os.X_OK):
        raise errors.StorageError(f"{path} cannot be made: {there} may not be written", "")


def check_can_be_made(path: Path | None) -> None:
    """Raise StorageError, before minutes of work, when a file to be written has no folder."""
    if path and not path.absolute().parent.is_dir():
        raise errors.StorageError(f"{path} cannot be written: its folder does not exist", "")
