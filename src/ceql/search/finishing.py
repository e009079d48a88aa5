"""How much is done to finish a search, in counts, planned in advance from the reserved time and the number of rows.

Drawing the front takes time that grows with the number of formulas and of rows. Counts that fit into that time by a
rough price list meet the time limit as well as checking the clock after every formula would, and give the same front
however busy the machine is.
"""

from __future__ import annotations

from dataclasses import astuple

from ceql.engine.deadline import Deadline
from ceql.search.policy import Finishing, FinishingPolicy

_ROUNDING = 1e-9  # of a count: the time for forty is the time for forty


def planned(sketches: int, policy: FinishingPolicy = FinishingPolicy()) -> Finishing:
    """How much is done for this many sketches: at least the minimum, at most everything."""
    if sketches >= policy.levels[0]:
        return policy.everything
    counts = zip(astuple(policy.shares), astuple(policy.least), astuple(policy.everything), strict=True)
    return Finishing(*(max(least, min(sketches // share, most)) for share, least, most in counts))


def sketches_within(seconds: float, rows: int, policy: FinishingPolicy = FinishingPolicy(), columns: int = 1) -> int:
    """How many formulas can be sketched in that time, by the price list."""
    return int(min(max(seconds, 0.0) / _price(rows, columns, policy) + _ROUNDING, policy.levels[0]))


def _price(rows: int, columns: int, policy: FinishingPolicy) -> float:
    """Of a sketch, in seconds; a wide table has longer formulas."""
    fitted = min(rows, policy.rows_for_free)
    by_rows = policy.sketch_a_row * rows + policy.sketch_a_fitted_row * fitted
    return policy.sketch + policy.sketch_a_column * columns + by_rows


def reserve(time_limit: float, rows: int, policy: FinishingPolicy = FinishingPolicy(), columns: int = 1) -> float:
    """Seconds reserved for drawing the front. Formulas are fitted to and judged on all rows, which may take long."""
    long = max(rows - policy.rows_for_free, 0) * policy.reserved_a_row
    least = min(policy.reserved_short * time_limit, policy.least_reserved)
    most = policy.most_reserved * _price(rows, columns, policy)
    usual = max(min(policy.reserved * time_limit, most), least)
    return usual + min(policy.reserved_long * time_limit, long)


def seconds_for_simpler(
    time_limit: float, rows: int, policy: FinishingPolicy = FinishingPolicy(), columns: int = 1
) -> float:
    """Kept for simpler numbers of what leads when everything else is there."""
    return min(policy.reserved_simpler * time_limit, policy.priced_simpler * _price(rows, columns, policy))


def finishing(
    time_limit: float, deadline: Deadline, rows: int, policy: FinishingPolicy = FinishingPolicy(), columns: int = 1
) -> Finishing:
    """The plan for the reserved time, or the most thorough of a few larger plans if there is time left.

    The clock is checked only here, before anything is drawn. If the time limit is far away, everything is done.
    """
    left, price = deadline.left, _price(rows, columns, policy)
    kept = sketches_within(reserve(time_limit, rows, policy, columns), rows, policy, columns)
    larger = (level for level in policy.levels if level > kept and level * price <= left)
    return planned(next(larger, kept), policy)
