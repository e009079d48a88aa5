"""Long sums for noisy tables of many columns: one term after the other, as far as rows held out may ask for.

What many columns do to y is often a sum of a dozen simple terms, none of which stands out. Each sum is made of the one
before: the term that explains most joins, and each of the others gives way where another one does better beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.closed_form.choosing import Choice
from ceql.closed_form.policy import LongSumPolicy
from ceql.closed_form.sums import Written, candidates
from ceql.engine.one_thread import one_thread

_SAME = 1e-9  # of its size: a term that varies less is a constant


@dataclass(frozen=True, eq=False)
class LongSum:
    """A constant and terms with their factors."""

    constant: float
    factors: np.ndarray
    terms: tuple[Written, ...]

    @property
    def values(self) -> np.ndarray:
        """In all rows, those without weight too."""
        return self.constant + np.stack([values for values, _ in self.terms], axis=1) @ self.factors

    @property
    def expression(self) -> Any:
        products = (float(factor) * write() for factor, (_, write) in zip(self.factors, self.terms, strict=True))
        return self.constant + sum(products)


@one_thread
def growing_sums(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    functions: Sequence[str],
    policy: LongSumPolicy,
    may_be_term: Callable[[Any], bool] | None,
    weight: np.ndarray,
) -> Iterator[LongSum]:
    """The sum of one term, of two and so on; rows without weight have no say in them."""
    with np.errstate(all="ignore"):
        terms = candidates(x, symbols, functions, policy.terms.most_candidates, y, np.sqrt(weight), policy.terms)
    terms = [term for term in terms if may_be_term is None or may_be_term(term[1]())]
    if not terms:
        return
    columns, share = np.stack([values for values, _ in terms], axis=1), weight / weight.sum()
    usable = _usable(columns, share, policy)
    columns, terms = columns[:, usable], [terms[k] for k in usable]
    means, mean = share @ columns, float(share @ y)
    counted = share > 0.0
    unit = (columns - means)[counted] * np.sqrt(share[counted])[:, None]
    length = np.linalg.norm(unit, axis=0)
    unit, goal = unit / length, (y[counted] - mean) * np.sqrt(share[counted])
    most = min(policy.terms.most_terms, int(counted.sum()) // policy.rows_a_term)
    for chosen in Choice(unit, goal, np.zeros(len(usable), bool), policy.terms).growing(most):
        factors = np.linalg.lstsq(unit[:, chosen], goal, rcond=None)[0] / length[chosen]
        yield LongSum(float(mean - means[chosen] @ factors), factors, tuple(terms[k] for k in chosen))


def _usable(columns: np.ndarray, share: np.ndarray, policy: LongSumPolicy) -> np.ndarray:
    """Columns that vary, and not in a single row, which says nothing about the others."""
    with np.errstate(all="ignore"):
        apart = (columns - share @ columns) ** 2 * share[:, None]
        varies = np.sum(apart, axis=0) > (_SAME * np.abs(columns).max(axis=0)) ** 2
        lone = np.max(apart, axis=0) > policy.lone * np.sum(apart, axis=0)
        return np.flatnonzero(np.isfinite(columns).all(axis=0) & varies & ~lone)
