"""The best pairs of terms that may be added to a sum: they are scanned in the core, without a
product of two directions in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql import _core
from ceql.operators.tape import in_layout


@dataclass(frozen=True)
class PairRules:
    """What counts in a scan of pairs."""

    most: int  # pairs by what they explain, and as many by that and their price
    weight: float  # of the logarithm of what is left, beside the prices
    least_left: float  # of the square of a direction, what the first term must leave of it
    too_much: float  # explained: it is rounding that explains
    rounding: float  # of the rest, below which it is explained


@dataclass(frozen=True, eq=False)
class Directions:
    """Terms as orthonormal directions beside a sum, some of which may be missing: those are zero."""

    columns: np.ndarray  # (width, rows, terms)
    prices: np.ndarray
    present: np.ndarray  # (width, terms)


def best_pairs(
    one: Directions, other: Directions, rest: np.ndarray, rules: PairRules, *, ordered: bool = False, threads: int = 1
) -> list[tuple[float, int, int]]:
    """What is explained of the rest, of length one, by a term of the first with one of the second, of one or two
    directions; and their places. Where both are one list they are `ordered`: each pair counts once."""
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
