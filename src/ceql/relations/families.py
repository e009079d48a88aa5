"""Small families of terms that are fitted as a whole and then reduced, to find relations with many terms.

A sum of five terms may be nearly zero although no sum of three of them is, so a search that adds one term at a time
misses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ceql.relations.policy import SupportPolicy
from ceql.relations.supports import Moments, Support
from ceql.relations.terms import RADIAL, SHAPES, Term

_POWERS = {"x": 1, "x^2": 2, "x^3": 3, "x^4": 4}
_OTHERS = tuple(shape.name for shape in SHAPES if shape.name != "x")
_ALONE = (("log",), ("1/x",))
_IN_PAIRS = (
    *(("x", name) for name in _OTHERS),
    *(("sin", "cos"), ("x^2", "cos"), ("1/x", "log"), ("exp", "exp-")),
    *(("x^2", shape.name) for shape in RADIAL),
)


def thinned_families(terms: Sequence[Term], moments: Moments, policy: SupportPolicy) -> list[Support]:
    """The sets that remain as terms are removed one by one from each family."""
    found: dict[Support, None] = {}
    for family in dict.fromkeys(_families(terms)):
        if 2 < len(family) <= policy.largest_whole:
            found.update(dict.fromkeys(_thinned(family, moments, policy)))
    return list(found)


def _families(terms: Sequence[Term]) -> Iterator[Support]:
    """Families of all columns and of every two or three: polynomials, and sums and products of two functions of
    each."""
    every = sorted(frozenset().union(*(term.columns for term in terms)))
    sizes = {2, 3, len(every)}
    for chosen in (frozenset(some) for size in sizes for some in combinations(every, size)):
        inside = [k for k, term in enumerate(terms) if term.columns <= chosen]
        for degree in (1, 2, 3, 4):
            yield tuple(k for k in inside if _degree(terms[k]) <= degree)
        for names in (*_ALONE, *_IN_PAIRS):
            of_these = [k for k in inside if all(factor.shape.name in names for factor in terms[k].factors)]
            yield tuple(k for k in of_these if len(terms[k].factors) == 1)
            yield tuple(k for k in of_these if len(terms[k].factors) <= 2)


def _degree(term: Term) -> float:
    return sum(_POWERS.get(factor.shape.name, np.inf) for factor in term.factors)


def _thinned(family: Support, moments: Moments, policy: SupportPolicy) -> Iterator[Support]:
    while len(family) > 2:
        if len(family) <= policy.largest_thinned:
            yield family
        fewer = np.array([family[:k] + family[k + 1 :] for k in range(len(family))])
        family = tuple(fewer[int(np.argmin(moments.scores(fewer)))].tolist())
    yield family
