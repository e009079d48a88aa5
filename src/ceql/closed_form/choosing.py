"""Which few of many columns explain a noisy goal best: chosen one by one, each replaced where another does better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ceql.closed_form.policy import NoisyFormPolicy

_SPECK = 1e-12  # on the diagonal: it keeps columns apart that are twins


class Choice:
    """Which few of many columns of length one explain y best. All their products are worked out once."""

    def __init__(
        self,
        columns: np.ndarray,
        y: np.ndarray,
        scarce: np.ndarray,
        policy: NoisyFormPolicy,
        prices: np.ndarray | None = None,  # what a column must explain more than one that is free, as for `_score`
    ) -> None:
        self.columns, self._rows, self._scarce, self._policy = columns, len(y), scarce, policy
        self._prices = prices
        self._gram, self._against, self._total = columns.T @ columns, columns.T @ y, float(y @ y)
        self._beside: dict[tuple[int, ...], int] = {}  # restarts come by the same terms again and again

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
            # The right terms may only have been found together with one too many.
            fewer = [chosen[:k] + chosen[k + 1 :] for k in range(len(chosen)) if len(chosen) > 1]
            scores |= {tuple(sorted(terms)): self._score(terms) for terms in (chosen, *fewer)}
        return [list(terms) for terms in sorted(scores, key=lambda terms: scores[terms])[: policy.kept]]

    def growing(self, most: int) -> Iterator[list[int]]:
        """Choices of one column, of two and so on, each made of the one before."""
        chosen: list[int] = []
        for _ in range(min(most, len(self._against))):
            chosen = self._exchanged([*chosen, self._best_beside(chosen)])
            if len(set(chosen)) < len(chosen):  # no column is left that says anything new
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
        """The column that leaves the least of y together with the others."""
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
        """Each term is replaced by a better one, if there is one: the first were chosen knowing little."""
        for _ in range(self._policy.sweeps):
            before = list(chosen)
            for place in range(len(chosen)):
                others = chosen[:place] + chosen[place + 1 :]
                chosen = [*chosen[:place], self._best_beside(others), *chosen[place + 1 :]]
            if chosen == before:
                break
        return chosen
