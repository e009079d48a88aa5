"""Greedy choice of the few columns that explain a noisy goal best; chosen columns are exchanged for better ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ceql.closed_form.policy import NoisyFormPolicy

_SPECK = 1e-12  # added to the diagonal, so that identical columns do not make the matrix singular


class Choice:
    """Chooses the few of many unit-length columns that explain y best. All inner products are computed once."""

    def __init__(
        self,
        columns: np.ndarray,
        y: np.ndarray,
        scarce: np.ndarray,
        policy: NoisyFormPolicy,
        prices: np.ndarray | None = None,  # per column, a surcharge that it must earn, in the units of `_score`
    ) -> None:
        self.columns, self._rows, self._scarce, self._policy = columns, len(y), scarce, policy
        self._prices = prices
        self._gram, self._against, self._total = columns.T @ columns, columns.T @ y, float(y @ y)
        self._beside: dict[tuple[int, ...], int] = {}  # restarts often meet the same terms again

    def best(self) -> list[list[int]]:
        policy, rng = self._policy, np.random.default_rng(0)
        chosen: list[int] = []
        scores: dict[tuple[int, ...], float] = {}
        likely = np.argsort(-np.abs(self._against), kind="stable")[: policy.likely]
        for count in range(1, min(policy.most_terms, len(self._against)) + 1):
            starts = [[*chosen, self._best_beside(chosen)]]
            if count > 1:
                starts += [self._allowed(rng.permutation(likely)[:count].tolist()) for _ in range(policy.restarts)]
            chosen = min((self._exchanged(start) for start in starts), key=self._score)
            # The right terms may have been found only together with a superfluous one.
            fewer = [chosen[:k] + chosen[k + 1 :] for k in range(len(chosen)) if len(chosen) > 1]
            scores |= {tuple(sorted(terms)): self._score(terms) for terms in (chosen, *fewer)}
        return [list(terms) for terms in sorted(scores, key=lambda terms: scores[terms])[: policy.kept]]

    def growing(self, most: int) -> Iterator[list[int]]:
        """Yield a choice of one column, then of two and so on, each grown from the previous one."""
        chosen: list[int] = []
        for _ in range(min(most, len(self._against))):
            chosen = self._exchanged([*chosen, self._best_beside(chosen)])
            if len(set(chosen)) < len(chosen):  # no remaining column adds anything
                return
            yield chosen

    def _score(self, terms: Sequence[int]) -> float:
        left = max(self._total - float(self._against[terms] @ self._solved(terms, self._against[terms])), 1e-300)
        return float(self._rows * np.log(left) + len(terms) * (np.log(self._rows) + self._policy.price))

    def _solved(self, chosen: Sequence[int], right: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self._gram[np.ix_(chosen, chosen)] + _SPECK * np.eye(len(chosen)), right)

    def _allowed(self, terms: list[int]) -> list[int]:
        scarce = [k for k in terms if self._scarce[k]]
        return [k for k in terms if k not in scarce[1:]]

    def _best_beside(self, others: list[int]) -> int:
        """Return the column that, together with the others, leaves the smallest residual of y."""
        known = self._beside.get(tuple(others))
        if known is None:
            known = self._beside[tuple(others)] = self._found_beside(others)
        return known

    def _found_beside(self, others: list[int]) -> int:
        solved = self._solved(others, self._gram[others])
        size = np.diag(self._gram) - np.sum(self._gram[others] * solved, axis=0)
        gain = (self._against - self._against[others] @ solved) ** 2
        fresh = size > self._policy.nothing_new
        if self._scarce[others].any():
            fresh &= ~self._scarce
        gain = np.where(fresh, gain / np.maximum(size, 1e-300), 0.0)
        if self._prices is None:
            return int(np.argmax(gain))
        left = self._total - float(self._against[others] @ self._solved(others, self._against[others]))
        misfit = self._rows * np.log(np.maximum(left - gain, _SPECK * self._total))
        return int(np.argmin(np.where(fresh, misfit + self._prices, np.inf)))

    def _exchanged(self, chosen: list[int]) -> list[int]:
        """Replace each term by a better one if there is one; the first terms were chosen without knowing the rest."""
        for _ in range(self._policy.sweeps):
            before = list(chosen)
            for place in range(len(chosen)):
                others = chosen[:place] + chosen[place + 1 :]
                chosen = [*chosen[:place], self._best_beside(others), *chosen[place + 1 :]]
            if chosen == before:
                break
        return chosen
