"""Chooses the checkpoint file of `ceql fit`: the named one, or its own file in the current folder."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ceql.discovery import Outcome
from ceql.storage.checkpoint import Checkpoint, CheckpointError, may_go_on

SUFFIX = ".ceql-checkpoint"
# Options that do not change the course of a search. Any other option makes it another search, in another file.
_FREE = {"time_limit", "jobs", "address", "named", "checkpoint_every", "no_checkpoint", "resume"}
_FREE |= {"choice", "cv", "more", "struck", "threads"}


def checkpoint_for(
    table: Path, targets: Sequence[str], options: Mapping[str, Any], say: Callable[[str], None]
) -> Checkpoint | None:
    """The checkpoint for this run; None with --no-checkpoint. An existing file is never overwritten without a message.

    Without a named file it is a temporary one in case of a crash: without --resume, a search of a few seconds writes
    none, and one that ends by itself leaves none.
    """
    if options["no_checkpoint"]:
        return None
    named, every = options["named"], options["checkpoint_every"]
    path = own_path(table, targets, options) if named is None else named
    there = _there(Checkpoint(path), targets)
    if options["resume"]:
        if not there:
            say(f"There is no checkpoint {path}{_others(path) if named is None else ''}: starting from the beginning.")
        return Checkpoint(path, every)
    if not there:
        return Checkpoint(path, every, transient=named is None)
    files = ", ".join(map(str, there))
    if named is not None:
        raise CheckpointError(
            f"{files} exists already. Add --resume to continue from it, or delete it, or name another file."
        )
    say(f"{files} holds this search from an earlier run. To continue from there, stop this run and add --resume.")
    return Checkpoint(path, every, resume=False, transient=True)


def how_to_go_on(checkpoint: Checkpoint, targets: Sequence[str], outcomes: Sequence[Outcome]) -> str:
    """A hint for the user if searches with these outcomes can be continued from their files; empty otherwise."""
    ended = zip(checkpoint.of_each(targets), outcomes, strict=True)
    left = [Path(own.path) for own, outcome in ended if may_go_on(own.path, outcome)]
    files = ", ".join(map(str, left))
    if not files:
        return ""
    return (
        f"The search is saved in {files}: add --resume to continue it, and a higher --time-limit if it ran out of time."
    )


def how_to_write_again(checkpoint: Checkpoint | None, targets: Sequence[str]) -> str:
    """A hint for the user if the search has ended but its result could not be written; empty without a checkpoint."""
    if checkpoint is None:
        return ""
    files = ", ".join(map(str, _there(checkpoint, targets)))
    return f"The search is saved in {files}: the same command with --resume writes its result again." if files else ""


def own_path(table: Path, targets: Sequence[str], options: Mapping[str, Any]) -> Path:
    """The checkpoint file in the current folder; its name depends on the options, so that parallel runs stay apart."""
    course = {name: value for name, value in options.items() if name not in _FREE}
    content = json.dumps([str(table.resolve()), *targets, course], sort_keys=True)
    stem = re.sub(r"[^\w.-]", "_", f"{table.stem}.{'.'.join(targets)}")[:100]
    return Path(f"{stem}.{hashlib.sha256(content.encode()).hexdigest()[:8]}{SUFFIX}")


def _there(checkpoint: Checkpoint, targets: Sequence[str]) -> list[Path]:
    return [path for own in checkpoint.of_each(targets) if (path := Path(own.path)).exists()]


def _others(own: Path) -> str:
    """A note that names checkpoints of the same table and targets with other options; empty if there are none."""
    stem = re.escape(own.name.removesuffix(SUFFIX).rpartition(".")[0])
    pattern = re.compile(rf"{stem}\.[0-9a-f]{{8}}(-.*)?{re.escape(SUFFIX)}")
    others = sorted(path.name for path in Path().iterdir() if pattern.fullmatch(path.name))
    return f" (with other options there is {', '.join(others)}; --checkpoint names one)" if others else ""
