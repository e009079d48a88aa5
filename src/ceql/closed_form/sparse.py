"""Finds the few of many columns whose combination equals a goal without remainder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ceql.closed_form.policy import FewTermsPolicy

_ROUNDING = 1e-16  # share of the goal that even the right terms leave


@np.errstate(all="ignore")  # values that overflow are not used
def few_of(
    columns: np.ndarray, goal: np.ndarray, policy: FewTermsPolicy = FewTermsPolicy()
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the indices of the few columns that make up the goal, and their factors; None if there are none.

    The likeliest columns should come first: the first few are tried on their own, as fewer of them resemble each other.
    """
    size = np.linalg.norm(columns, axis=0)
    usable = np.flatnonzero(np.isfinite(size) & (size > 0))
    length = float(np.linalg.norm(goal))
    if not np.isfinite(length) or length == 0.0 or not len(usable):
        return None
    sums = _Sums(columns[:, usable] / size[usable], goal / length, policy)
    chosen = sums.first_found()
    if chosen is None:
        return None
    return usable[chosen], length * sums.factors(chosen) / size[usable[chosen]]


@dataclass(frozen=True, eq=False)
class _Path:
    """The terms chosen so far, and the residuals of the goal and of each candidate beside them."""

    chosen: tuple[int, ...]
    left: np.ndarray
    candidates: np.ndarray

    def likely(self, policy: FewTermsPolicy) -> np.ndarray:
        """Return the candidates that would reduce the residual most, best first."""
        size = np.linalg.norm(self.candidates, axis=0)
        fresh = size > policy.used_up
        gain = np.where(fresh, np.abs(self.left @ self.candidates) / np.where(fresh, size, 1.0), 0.0)
        best = np.argsort(-gain, kind="stable")[: policy.likely]
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


@dataclass(frozen=True, eq=False)
class _Sums:
    """A search for a sum of few unit-length columns that equals a goal."""

    columns: np.ndarray
    goal: np.ndarray
    policy: FewTermsPolicy

    def first_found(self) -> list[int] | None:
        """Return the first choice found: from all of the first columns together, then more of them; then, on some of
        the rows, by trying pairs and finally one by one."""
        new = self._independent(np.arange(min(self.columns.shape[1], self.policy.at_once[-1])))
        for number in self.policy.at_once:
            if (chosen := self._left_over(new[new < number])) is not None:
                return chosen
            if number >= self.columns.shape[1]:
                return None
        some = np.linspace(0, len(self.goal) - 1, min(len(self.goal), self.policy.rows_one_by_one)).astype(int)
        length = np.linalg.norm(self.columns[some], axis=0)
        seen = np.flatnonzero(length > 0.0)
        columns, goal = self.columns[np.ix_(some, seen)] / length[seen], self.goal[some]
        seldom = _Sums(columns, goal / np.linalg.norm(goal), self.policy)
        chosen = seldom._in_pairs() or seldom._one_by_one()
        return None if chosen is None else [int(seen[k]) for k in chosen]

    def factors(self, terms: Sequence[int] | np.ndarray) -> np.ndarray:
        return np.linalg.lstsq(self.columns[:, terms], self.goal, rcond=None)[0]

    def _independent(self, terms: np.ndarray) -> np.ndarray:
        """Return the terms that are linearly independent of those before them."""
        triangle = np.linalg.qr(self.columns[:, terms], mode="r")
        new = np.ones(len(terms), bool)
        new[: len(triangle)] = np.abs(np.diag(triangle)) > self.policy.nothing_new
        return terms[new]

    def _in_pairs(self) -> list[int] | None:
        """Try the first term with any two others: choosing one by one, the column closest to the goal may mislead."""
        first, others = self.columns[:, 0], self.columns[:, 1 : self.policy.most_paired]
        left = others - np.outer(first, first @ others)
        size = np.linalg.norm(left, axis=0)
        fresh = np.flatnonzero(size > self.policy.nothing_new)
        if len(fresh) < 2 or len(self.goal) < 3 * self.policy.rows_per_term:
            return None
        left = left[:, fresh] / size[fresh]
        shares, alike = self.goal @ left, left.T @ left
        # What each pair of columns explains, given their correlation; each pair once.
        apart = np.maximum(1.0 - alike**2, self.policy.nothing_new)
        gain = (shares[:, None] ** 2 + shares**2 - 2.0 * alike * np.outer(shares, shares)) / apart
        rest = 1.0 - (first @ self.goal) ** 2 - gain
        close = np.flatnonzero(np.triu(rest < self.policy.glimpse, 1))
        for pair in close[np.argsort(rest.flat[close], kind="stable")[: self.policy.pairs_tried]]:
            terms = [0, *(1 + fresh[list(divmod(int(pair), len(fresh)))]).tolist()]
            if self._vanishes(terms):
                return self._needed(terms)
        return None

    def _one_by_one(self) -> list[int] | None:
        policy = self.policy
        paths = [_Path((), self.goal, self.columns)]
        likely: dict[int, None] = {}
        for _ in range(min(policy.most_terms, len(self.goal) // policy.rows_per_term)):
            steps = []
            for path in paths:
                best = path.likely(policy)
                likely.update(dict.fromkeys(best.tolist()))
                steps += [path.step(int(k)) for k in best[: policy.rivals]]
            kept: dict[frozenset[int], _Step] = {}
            for step in sorted(steps, key=lambda step: step.size):
                terms = [*step.path.chosen, step.term]
                if step.size < policy.vanishes:
                    leap = float(np.linalg.norm(step.path.left)) > policy.leap * max(step.size, _ROUNDING)
                    return self._needed(terms) if leap and self._vanishes(terms) else None
                kept.setdefault(frozenset(terms), step)
            paths = [step.taken() for step in list(kept.values())[: policy.rivals]]
        together = np.sort(np.array(list(likely), int)[: int(len(self.goal) / policy.rows_per_candidate)])
        return self._left_over(self._independent(together))

    def _left_over(self, alive: np.ndarray) -> list[int] | None:
        """Start with all these terms and remove the least important, up to half at a time, while the rest suffice."""
        if len(self.goal) < self.policy.rows_per_candidate * len(alive) or not self._vanishes(alive):
            return None
        while len(alive) > 1:
            order = np.argsort(-self._worth(alive), kind="stable")
            for kept in (len(alive) // 2, 3 * len(alive) // 4, len(alive) - 1):
                if kept and self._vanishes(alive[order[:kept]]):
                    alive = alive[order[:kept]]
                    break
            else:
                break
        return self._needed(alive.tolist()) if len(alive) <= self.policy.most_terms else None

    def _worth(self, terms: np.ndarray) -> np.ndarray:
        """Return, per term, the residual if it alone were removed and the others refitted."""
        left, sizes, right = np.linalg.svd(self.columns[:, terms], full_matrices=False)
        sizes = np.maximum(sizes, 1e-15 * sizes[0])
        factors = right.T @ ((left.T @ self.goal) / sizes)
        return np.abs(factors) / np.sqrt(np.sum((right.T / sizes) ** 2, axis=1))

    def _vanishes(self, terms: Sequence[int] | np.ndarray) -> bool:
        """Return whether these terms equal the goal up to rounding."""
        factors, length = self.factors(terms), np.linalg.norm(self.goal)
        rounding = min(self.policy.cancelled * float(np.abs(factors).sum()), self.policy.most_cancelled * length)
        left = np.linalg.norm(self.goal - self.columns[:, terms] @ factors)
        return bool(left < max(self.policy.vanishes * length, rounding))

    def _needed(self, terms: list[int]) -> list[int]:
        """Return the terms without superfluous ones; the first were chosen without knowing the rest."""
        for term in list(terms):
            others = [k for k in terms if k != term]
            if others and self._vanishes(others):
                terms = others
        return terms
