"""Long sums for noisy tables with many columns, grown term by term; held-out rows decide how long they get.

Many columns often act on y as a sum of a dozen simple terms, none of which stands out. Each sum grows from the previous
one: the term that explains most is added, and then each other term is replaced if another one does better. There are
few simple terms but thousands of larger ones, some of which fit any rows by chance. So the more terms there are that
are no larger than a term, the more it has to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ceql.closed_form.choosing import Choice
from ceql.closed_form.policy import LongSumPolicy
from ceql.closed_form.sums import Written, sized_candidates

_SAME = 1e-9  # a term that varies by less than this share of its size is a constant


def growing_sums(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    functions: Sequence[str],
    policy: LongSumPolicy,
    may_be_term: Callable[[Any], bool] | None,
    weight: np.ndarray,
) -> Iterator[tuple[Written, ...]]:
    """Yield the terms of a sum of one term, then of two and so on, with values in all rows.

    Rows without weight have no influence on the choice.
    """
    with np.errstate(all="ignore"):
        sized = sized_candidates(x, symbols, functions, policy.terms.most_candidates, y, np.sqrt(weight), policy.terms)
    sized = [each for each in sized if may_be_term is None or may_be_term(each[0][1]())]
    if not sized:
        return
    columns, share = np.stack([values for (values, _), _ in sized], axis=1), weight / weight.sum()
    usable = _usable(columns, share, policy)
    terms, sizes = [sized[k][0] for k in usable], np.array([sized[k][1] for k in usable])
    counted = share > 0.0
    unit = (columns[:, usable] - share @ columns[:, usable])[counted] * np.sqrt(share[counted])[:, None]
    unit, goal = unit / np.linalg.norm(unit, axis=0), (y - share @ y)[counted] * np.sqrt(share[counted])
    most = min(policy.terms.most_terms, int(counted.sum()) // policy.rows_a_term)
    for chosen in Choice(unit, goal, np.zeros(len(usable), bool), policy.terms, _prices(sizes)).growing(most):
        yield tuple(terms[k] for k in chosen)


def _prices(sizes: np.ndarray) -> np.ndarray:
    """Return, per term, twice the logarithm of the number of terms that are no larger."""
    return 2.0 * np.log(np.searchsorted(np.sort(sizes), sizes, side="right"))


def _usable(columns: np.ndarray, share: np.ndarray, policy: LongSumPolicy) -> np.ndarray:
    """Return the columns that vary, except those that vary mainly in a single row."""
    with np.errstate(all="ignore"):
        apart = (columns - share @ columns) ** 2 * share[:, None]
        varies = np.sum(apart, axis=0) > (_SAME * np.abs(columns).max(axis=0)) ** 2
        lone = np.max(apart, axis=0) > policy.lone * np.sum(apart, axis=0)
        return np.flatnonzero(np.isfinite(columns).all(axis=0) & varies & ~lone)
