"""Finds the best pairs of terms to add to a sum. The core scans them without storing products of directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql import _core
from ceql.operators.tape import in_layout


@dataclass(frozen=True)
class PairRules:
    """The rules for scoring pairs in a scan."""

    most: int  # number of pairs that explain most, and of pairs with the best score, to return
    weight: float  # weight of the logarithm of the unexplained share in the score, beside the prices
    least_left: float  # a direction is ignored if the first term leaves no more than this share of its square
    too_much: float  # a pair that seems to explain this share or more does so by rounding, and counts for nothing
    rounding: float  # lower limit on the unexplained share in the score


@dataclass(frozen=True, eq=False)
class Directions:
    """Terms as orthonormal directions, with an existing sum projected out; missing directions are zero."""

    columns: np.ndarray  # (width, rows, terms)
    prices: np.ndarray
    present: np.ndarray  # (width, terms)


def best_pairs(
    one: Directions, other: Directions, rest: np.ndarray, rules: PairRules, *, ordered: bool = False, threads: int = 1
) -> list[tuple[float, int, int]]:
    """Return the best pairs of a term of `one` and a term of `other`: the share of the unit-length rest that each pair
    explains, and the indices of both terms.

    Terms of `other` have one or two directions. If both lists are the same, set `ordered` to count each pair once.
    """
    first, second = (in_layout(each.columns, np.float32) for each in (one, other))
    rest = in_layout(rest, np.float32)
    index, gain = _core.best_pairs(
        first,
        second,
        rest @ first,
        rest @ second,
        in_layout(other.present, np.float32),
        in_layout(one.prices, np.float32),
        in_layout(other.prices, np.float32),
        most=rules.most,
        weight=rules.weight,
        least_left=rules.least_left,
        too_much=rules.too_much,
        rounding=rules.rounding,
        ordered=ordered,
        threads=threads,
    )
    rows, columns = np.divmod(index, second.shape[2])
    return list(zip(gain.tolist(), rows.tolist(), columns.tolist(), strict=True))
