"""Where `ceql fit` keeps a search: in the file that was named, or in one of its own beside what the user is doing."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ceql.checkpoint import Checkpoint, CheckpointError, read_checkpoint

SUFFIX = ".ceql-checkpoint"


def checkpoint_for(named: Path | None, own: Path, resume: bool, every: float, say: Callable[[str], None]) -> Checkpoint:
    """The checkpoint for this run. What is in a file already is never lost without a word.

    `own` is the file that is used where none is named. Without `resume` it is there for emergencies only: a search of
    a few seconds writes none, and one that ends by itself leaves none.
    """
    path = own if named is None else named
    if resume:
        if not path.exists():
            say(f"There is no checkpoint {path}{_others(own) if named is None else ''}: starting from the beginning.")
        return Checkpoint(path, every)
    if not path.exists():
        return Checkpoint(path, every, transient=named is None)
    if named is not None:
        raise CheckpointError(
            f"{path} exists already. Add --resume to go on from it, or delete it, or name another file."
        )
    say(f"{path} holds this search from an earlier run. To go on from there, stop this one and add --resume.")
    return Checkpoint(path, every, resume=False, transient=True)


def how_to_go_on(checkpoint: Checkpoint) -> str:
    """What to tell the user where the search could go on from the file that it left; nothing where it is done."""
    path = Path(checkpoint.path)
    if not path.exists():
        return ""
    try:
        ending = read_checkpoint(path)[0].ending
    except CheckpointError:  # somebody else's file, which was left alone
        return ""
    if ending is not None and ending.stands_until == math.inf:
        return ""
    return f"The search is kept in {path}: --resume goes on with it, after the time limit with a higher --time-limit."


def own_path(table: Path, target: str, options: dict[str, Any]) -> Path:
    """In the current folder; another one for other options, so that runs side by side stay apart."""
    mark = hashlib.sha256(json.dumps([str(table.resolve()), target, options]).encode()).hexdigest()[:8]
    return Path(f"{_stem(table, target)}.{mark}{SUFFIX}")


def _stem(table: Path, target: str) -> str:
    return re.sub(r"[^\w.-]", "_", f"{table.stem}.{target}")[:100]


def _others(own: Path) -> str:
    """The checkpoints of the same table and target with other options."""
    stem = own.name.removesuffix(SUFFIX).rpartition(".")[0]
    others = sorted(
        path.name for path in Path().iterdir() if re.fullmatch(rf"{re.escape(stem)}\.\w{{8}}{SUFFIX}", path.name)
    )
    return f" (with other options there is {', '.join(others)}; --checkpoint names one)" if others else ""
