"""Sums of y itself, searched in a separate thread that may be some rounds behind.

The rounds depend on the sums in three ways only: an exact sum ends the search, a nearly exact one is kept, and what
remains beside sure terms becomes a target. In these cases the search returns to the round that the sums belong to, as
if it had waited for them. So the result is the same as on one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace

from ceql.formula import Formula
from ceql.search.rests import with_rests
from ceql.search.scheduler import is_measured, looks_noisy
from ceql.search.stage import Search, Stage
from ceql.search.state import SearchState
from ceql.search.summing import Summing, exact_sum, has_exact, next_sums


@dataclass(frozen=True, eq=False)
class Moment:
    """A search after a round, before its sums."""

    stage: Stage
    state: SearchState
    before: int  # starts before this round


@dataclass(frozen=True, eq=False)
class _Step:
    """The sums of a round."""

    sums: Summing | None
    is_found: bool  # whether one seems to be exact
    is_whole: bool  # whether nothing cut it short


@dataclass(eq=False)
class _Waiting:
    moment: Moment
    step: Future[_Step]
    size: int  # bytes of what this round has changed
    after: SearchState | None = None  # once the search goes on


class SumsBeside:
    """The sums that belong to the rounds so far, as far as they are there."""

    def __init__(self, search: Search) -> None:
        self._search = search
        memory = search.policy.memory
        self._room = memory.held * memory.budget() if search.workers.has_spare else 0.0
        self._thread = ThreadPoolExecutor(1)
        self._waiting: deque[_Waiting] = deque()
        self._given_up = self._is_behind = False
        self.settled: SearchState | None = None  # the last state whose sums are there: one to go on from another day

    def follow(self, moment: Moment) -> tuple[Moment, list[Formula]]:
        """The search with the sums that are there by now; where these change it, the earlier moment to go on from, or
        the formulas that it ends with."""
        if self._search.deadline_of_rounds.over or not _has_sums(self._search):
            return moment, []
        begun = self._thread.submit(copy_context().run, self._step(moment))
        self._waiting.append(_Waiting(moment, begun, self._size(moment)))
        return self._taken(moment, [], self._room)

    def caught_up(self, moment: Moment, exact: list[Formula]) -> tuple[Moment, list[Formula]]:
        """The same with the sums of all rounds before, unless the time is up; an earlier exact one comes first."""
        return self._taken(moment, exact, 0.0)

    def goes_on(self, state: SearchState) -> None:
        """Takes note of the state that the next round begins with."""
        if self._waiting:
            self._waiting[-1].after = state
        else:
            self.settled = state

    def close(self) -> None:
        self._forget()
        self._thread.shutdown()

    def _step(self, moment: Moment) -> Callable[[], _Step]:
        search, state, main = self._search, moment.state, moment.stage.main
        threads, is_noisy = search.workers.threads_here, looks_noisy(moment.stage.targets, state)
        starts, last = state.starts - state.started_before, self._waiting[-1].step if self._waiting else None

        def stop() -> bool:
            return self._given_up or search.deadline_of_rounds.over

        def step() -> _Step:
            before = state.sums if last is None else last.result().sums  # there is one thread: it is done
            in_noise = bool(state.started_before) or _is_left_to_noise(before, is_noisy)
            sums = next_sums(main, before, starts, in_noise, threads, stop)
            return _Step(sums, sums is not None and has_exact(main, sums), not stop())

        return step

    def _size(self, moment: Moment) -> int:
        """Bytes of the archives that no state has which is held already."""
        held = {id(archive) for archive in self._waiting[-1].moment.state.archives} if self._waiting else set()
        fresh = [archive.chunk for archive in moment.state.archives if id(archive) not in held]
        return sum(chunk.params.nbytes + chunk.edges.nbytes for chunk in fresh)

    def _taken(self, now: Moment, exact: list[Formula], room: float) -> tuple[Moment, list[Formula]]:
        while self._waiting and (
            sum(waiting.size for waiting in self._waiting) > room or room == 0.0 or self._waiting[0].step.done()
        ):
            waiting = self._waiting.popleft()
            then, step = waiting.moment, waiting.step.result()
            if step.sums is not None and step.is_found:
                known = then.state.targets[0]
                changed, formulas = exact_sum(then.stage.main, known, step.sums, self._search.workers.threads_here)
                if not formulas and changed is not known and self._search.deadline_of_rounds.over:
                    spared = replace(now.state.targets[0], spare=changed.spare)  # there is no time to go back for it
                    now = replace(now, state=now.state.with_target(0, spared))
                elif formulas or changed is not known:
                    self._forget()
                    return replace(then, state=replace(then.state, sums=step.sums).with_target(0, changed)), formulas
            rested = with_rests(replace(then.state, sums=step.sums), self._search.policy.rests)
            if rested.rests is not then.state.rests:
                if not self._search.deadline_of_rounds.over:
                    self._forget()
                    return replace(then, state=rested), []
                self._is_behind = True  # there is no time to go back, and from here nobody could go on another day
            if waiting.after is not None and step.is_whole and not self._is_behind:
                self.settled = replace(waiting.after, sums=step.sums)
            now = replace(now, state=replace(now.state, sums=step.sums))
        return now, exact

    def _forget(self) -> None:
        self._given_up = True
        for waiting in self._waiting:
            waiting.step.cancel()
        for waiting in self._waiting:
            if not waiting.step.cancelled():
                waiting.step.exception()
        self._waiting.clear()
        self._given_up = False


def _is_left_to_noise(sums: Summing | None, is_noisy: bool) -> bool:
    """Whether y has been taken apart without an exact sum and looks noisy; it then stays so."""
    if sums is None or sums.in_noise:
        return sums is not None
    return is_noisy and not sums.peeled.waiting


def _has_sums(search: Search) -> bool:
    """Under squares, since the weights are solved for. Of few measured rows none: these cannot tell sums apart from the
    small forms, which are all tried."""
    if search.loss is not None or search.settings.template is not None:
        return False
    return not is_measured(search.data.y, search.policy.end)
