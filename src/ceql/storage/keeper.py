"""Saves the state of one search on disk: it is read at the start, and written between rounds and at the end."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ceql.data.content import ContentError
from ceql.errors import CeqlWarning
from ceql.search.state import Ending, SearchState
from ceql.storage.checkpoint import Checkpoint, CheckpointError, damaged, read_checkpoint, to_bytes
from ceql.storage.files import place_of, remove_unfinished, require_writable, write_atomically
from ceql.storage.fingerprint import Fingerprint, differences
from ceql.storage.lock import held

Made = TypeVar("Made")


@contextmanager
def kept_alone(checkpoint: Checkpoint | None) -> Iterator[Checkpoint | None]:
    """Locks the checkpoint for this search and yields it, since two searches on one file would overwrite each other.

    If another search has the file, a checkpoint that the user asked for raises an error; otherwise None is yielded.
    """
    if checkpoint is None:
        yield None
        return
    try:
        place = place_of(checkpoint.path)
    except OSError:  # the keeper says what is wrong with it
        place = Path(checkpoint.path)
    with held(place) as holder:
        if holder and not checkpoint.transient:
            raise CheckpointError(
                f"{checkpoint.path} is in use by another search ({holder}): wait until it ends, or name another file."
            )
        if holder:
            warnings.warn(
                f"{checkpoint.path} is in use by another search ({holder}): this search continues without a "
                "checkpoint.",
                CeqlWarning,
                stacklevel=4,
            )
        yield None if holder else checkpoint


class Keeper:
    """Reads and writes the checkpoint of one search; does nothing if there is none."""

    def __init__(
        self,
        checkpoint: Checkpoint | None,
        fingerprint: Callable[[], Fingerprint],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._checkpoint, self._clock = checkpoint, clock
        self._latest: SearchState | None = None
        self._written: SearchState | None = None
        self.kept: SearchState | None = None  # the state that the search continues from
        self._there = (0, 0)  # the progress of a file that is replaced only when the search has come further
        self._is_ours = self._complained = False
        if checkpoint is None:
            return
        if not checkpoint.every > 0:
            raise CheckpointError(
                f"The seconds between two checkpoints must be a number above 0, not {checkpoint.every!r}."
            )
        self._path, self._fingerprint = Path(checkpoint.path), fingerprint()
        there = self._read()
        if checkpoint.resume:
            self.kept = self._latest = self._written = there
        elif there is not None:
            self._there = there.progress
        self._is_ours = there is not None
        if not checkpoint.transient:
            self._require_place()
        self._next = self._clock() + checkpoint.every

    def _read(self) -> SearchState | None:
        if not self._path.exists():
            return None
        try:
            state, fingerprint = read_checkpoint(self._path)
            if different := differences(self._fingerprint, fingerprint):
                raise CheckpointError(
                    f"{self._path} belongs to another search: {different}. Give the same data and settings to "
                    "continue it, or name another file for this search."
                )
            return state
        except CheckpointError:
            if self._resumes:
                raise
            return None

    @property
    def _resumes(self) -> bool:
        return self._checkpoint is not None and self._checkpoint.resume

    def _require_place(self) -> None:
        """Raises an error at the start of the search if the checkpoint cannot be written."""
        try:
            remove_unfinished(place_of(self._path))
            require_writable(self._path, CheckpointError, tried=b"")  # a full disk may have room again later
        except (OSError, CheckpointError) as error:
            raise CheckpointError(
                f"The checkpoint {self._path} cannot be written: {_reason(error)}. Name a file in a folder that "
                "exists and is writable."
            ) from error

    def ending(self, time_limit: float) -> Ending | None:
        """How the earlier search ended, if it would end the same way within this time limit; otherwise None."""
        ending = None if self.kept is None else self.kept.ending
        return ending if ending is not None and time_limit <= ending.stands_until else None

    def seconds(self, time_limit: float) -> float:
        """Seconds spent before the state that the search continues from, or in total if it has ended."""
        ending = self.ending(time_limit)
        if ending is not None:
            return ending.seconds
        return 0.0 if self.kept is None else self.kept.seconds

    def require(self, made: Callable[[], Made]) -> Made:
        """The result of `made`, which uses the saved state; a CheckpointError if the state is damaged."""
        try:
            return made()
        except ContentError as error:
            raise damaged(self._path, error) from error

    def note(self, state: SearchState) -> None:
        """Takes the state after a round, and writes it if enough time has passed."""
        self._latest = state
        if self._checkpoint is not None and self._clock() >= self._next:
            self.write()

    def write(self) -> None:
        """Writes the latest state, unless it is already in the file or the file is further than it."""
        state = self._latest
        if self._checkpoint is None or state is None or state is self._written:
            return
        if state.progress < self._there:
            return
        begin = self._clock()
        try:
            write_atomically(self._path, to_bytes(state, self._fingerprint), CheckpointError)
            self._written, self._is_ours = state, True
        except CheckpointError as error:
            self._complain(error)
        now = self._clock()
        self._next = now + max(self._checkpoint.every, (now - begin) / self._checkpoint.share)

    def _complain(self, error: CheckpointError) -> None:
        """Warns about a failed write, but only once. Writing is tried again later, since a full disk may have room
        again.
        """
        if not self._complained:
            self._complained = True
            warnings.warn(f"The checkpoint {error} The search continues without it.", CeqlWarning, stacklevel=2)

    def end(self, ending: Ending) -> Path | None:
        """Writes the last complete round with the ending; returns a file the user did not ask for that is no longer
        needed.

        The caller removes that file once the result is saved, so that a full disk does not lose the result of a long
        search. A search shorter than the interval between checkpoints writes no such file.
        """
        if self._checkpoint is None or self._latest is None:
            return None
        is_done = ending.stands_until == math.inf
        if not self._checkpoint.transient or ending.seconds >= self._checkpoint.every or (is_done and self._is_ours):
            self._latest = replace(self._latest, ending=ending)
            self._there = (0, 0) if is_done else self._there
            self.write()
        return self._path if self._checkpoint.transient and is_done and self._is_ours else None


def _reason(error: Exception) -> str:
    cause = error if isinstance(error, OSError) else error.__cause__
    return (isinstance(cause, OSError) and cause.strerror) or str(error)
