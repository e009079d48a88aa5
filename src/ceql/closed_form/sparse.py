"""Which few of many columns make up a goal without remainder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

AT_ONCE = (12, 30, 80, 130)  # so many candidates are all taken, and those that are not needed left out
_MOST_TERMS = 12
_RIVALS = 3
_ROWS_PER_TERM = 4
_ROWS_PER_CANDIDATE = 1.5
_ROWS_ONE_BY_ONE = 200  # for the choice of one candidate after the other, which takes the most time
_LIKELY = 12  # candidates of every step that are looked at together when one by one has failed
_VANISHES, _ROUNDING = 3e-13, 1e-16  # what a sum leaves of the goal
_CANCELLED, _MOST_CANCELLED = 1e-15, 3e-12  # what it leaves of terms much larger than the goal, and the most of it
_LEAP = 1e4  # by which that falls with the last term; a smooth function that is no such sum gains far less
_USED_UP, _NOTHING_NEW = 1e-9, 1e-6  # of a candidate: what remains of it beside others is rounding, or too little


@np.errstate(all="ignore")  # what overflows is not used
def few_of(columns: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Numbers of the columns and their factors; None where no few columns make up the goal.

    The likeliest columns come first: among the first few alone there are fewer that look like each other.
    """
    size = np.linalg.norm(columns, axis=0)
    usable = np.flatnonzero(np.isfinite(size) & (size > 0))
    length = float(np.linalg.norm(goal))
    if not np.isfinite(length) or length == 0.0 or not len(usable):
        return None
    columns, goal = columns[:, usable] / size[usable], goal / length
    chosen = _first_found(columns, goal)
    if chosen is None:
        return None
    return usable[chosen], length * _solved(columns[:, chosen], goal) / size[usable[chosen]]


def _independent(columns: np.ndarray) -> np.ndarray:
    """Which columns say something that those before them do not."""
    triangle = np.linalg.qr(columns, mode="r")
    new = np.ones(columns.shape[1], bool)
    new[: len(triangle)] = np.abs(np.diag(triangle)) > _NOTHING_NEW
    return new


def _first_found(columns: np.ndarray, goal: np.ndarray) -> list[int] | None:
    new = np.flatnonzero(_independent(columns[:, : AT_ONCE[-1]]))
    for number in AT_ONCE:
        if (chosen := _left_over(columns, new[new < number], goal)) is not None:
            return chosen
        if number >= columns.shape[1]:
            return None
    some = np.linspace(0, len(goal) - 1, min(len(goal), _ROWS_ONE_BY_ONE)).astype(int)
    length = np.linalg.norm(columns[some], axis=0)
    seen = np.flatnonzero(length > 0.0)
    chosen = _chosen(columns[np.ix_(some, seen)] / length[seen], goal[some] / np.linalg.norm(goal[some]))
    return None if chosen is None else [int(seen[k]) for k in chosen]


@dataclass(frozen=True, eq=False)
class _Path:
    """Terms chosen so far, what they leave of the goal, and what they leave of each candidate."""

    chosen: tuple[int, ...]
    left: np.ndarray
    candidates: np.ndarray

    def likely(self) -> np.ndarray:
        """The candidates that would bring most, best first."""
        size = np.linalg.norm(self.candidates, axis=0)
        fresh = size > _USED_UP
        gain = np.where(fresh, np.abs(self.left @ self.candidates) / np.where(fresh, size, 1.0), 0.0)
        best = np.argsort(-gain, kind="stable")[:_LIKELY]
        return best[gain[best] > 0.0]

    def step(self, term: int) -> _Step:
        direction = self.candidates[:, term] / np.linalg.norm(self.candidates[:, term])
        left = self.left - direction * (direction @ self.left)
        return _Step(self, term, direction, left, float(np.linalg.norm(left)))


@dataclass(frozen=True, eq=False)
class _Step:
    path: _Path
    term: int
    direction: np.ndarray
    left: np.ndarray
    size: float

    def taken(self) -> _Path:
        candidates = self.path.candidates - np.outer(self.direction, self.direction @ self.path.candidates)
        return _Path((*self.path.chosen, self.term), self.left, candidates)


def _chosen(columns: np.ndarray, goal: np.ndarray) -> list[int] | None:
    paths = [_Path((), goal, columns)]
    likely: dict[int, None] = {}
    for _ in range(min(_MOST_TERMS, len(goal) // _ROWS_PER_TERM)):
        steps = []
        for path in paths:
            best = path.likely()
            likely.update(dict.fromkeys(best.tolist()))
            steps += [path.step(int(k)) for k in best[:_RIVALS]]
        kept: dict[frozenset[int], _Step] = {}
        for step in sorted(steps, key=lambda step: step.size):
            terms = (*step.path.chosen, step.term)
            if step.size < _VANISHES:
                leap = float(np.linalg.norm(step.path.left)) > _LEAP * max(step.size, _ROUNDING)
                return _needed(columns, goal, list(terms)) if leap and _vanishes(columns[:, terms], goal) else None
            kept.setdefault(frozenset(terms), step)
        paths = [step.taken() for step in list(kept.values())[:_RIVALS]]
    together = np.sort(np.array(list(likely), int)[: int(len(goal) / _ROWS_PER_CANDIDATE)])
    return _left_over(columns, together[_independent(columns[:, together])], goal)


def _left_over(columns: np.ndarray, alive: np.ndarray, goal: np.ndarray) -> list[int] | None:
    """What is left when all these are taken and those that count least go, half of them at a time at first."""
    if len(goal) < _ROWS_PER_CANDIDATE * len(alive) or not _vanishes(columns[:, alive], goal):
        return None
    while len(alive) > 1:
        order = np.argsort(-_worth(columns[:, alive], goal), kind="stable")
        for kept in (len(alive) // 2, 3 * len(alive) // 4, len(alive) - 1):
            if kept and _vanishes(columns[:, alive[order[:kept]]], goal):
                alive = alive[order[:kept]]
                break
        else:
            break
    few = [int(k) for k in alive]
    return _needed(columns, goal, few) if len(few) <= _MOST_TERMS else None


def _worth(columns: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """What each column alone would leave of the goal if it went and the others made the best of it."""
    left, sizes, right = np.linalg.svd(columns, full_matrices=False)
    sizes = np.maximum(sizes, 1e-15 * sizes[0])
    factors = right.T @ ((left.T @ goal) / sizes)
    return np.abs(factors) / np.sqrt(np.sum((right.T / sizes) ** 2, axis=1))


def _solved(columns: np.ndarray, goal: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(columns, goal, rcond=None)[0]


def _vanishes(columns: np.ndarray, goal: np.ndarray) -> bool:
    """Whether these columns, each of length one, make up the goal up to rounding."""
    factors = _solved(columns, goal)
    length = np.linalg.norm(goal)
    rounding = min(_CANCELLED * float(np.abs(factors).sum()), _MOST_CANCELLED * length)
    return bool(np.linalg.norm(goal - columns @ factors) < max(_VANISHES * length, rounding))


def _needed(columns: np.ndarray, goal: np.ndarray, terms: list[int]) -> list[int]:
    """Without the terms that the others make up for: the first choices were made knowing little."""
    for term in list(terms):
        others = [k for k in terms if k != term]
        if others and _vanishes(columns[:, others], goal):
            terms = others
    return terms
