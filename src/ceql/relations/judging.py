"""Tests relations on held-out rows: does a relation hold, does it say anything, and is it a different one?

A relation that also holds for shuffled columns says nothing about the rows: it is an identity, or its surface is
everywhere. How much the distances grow when a single column is shuffled shows how much of it the others explain; for y
= f(x) this is R2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ceql.choice.residuals import agreement, neighbours
from ceql.relations.finishing import Finished
from ceql.relations.policy import JudgingPolicy, RelationsPolicy
from ceql.relations.rows import Rows
from ceql.relations.surface import Equation, Surface

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Verdict:
    """How well a relation holds on held-out rows. Distances are root mean squares in standard deviations."""

    distance: float
    share: float  # share explained, compared with all columns shuffled
    shares: tuple[tuple[int, float], ...]  # share explained of each column in it
    fault: str = ""  # why it is rejected; empty if it holds

    @property
    def holds(self) -> bool:
        return not self.fault


@np.errstate(all="ignore")
def verdict_on(found: Finished, held: Rows, policy: RelationsPolicy) -> Verdict:
    """The verdict on a relation by the held-out rows."""
    own = policy.judging
    surface = Surface(found.equation, held, policy.fitting.flat)
    columns = found.equation.columns(held)
    square = _mean_square(surface.at(held).distances, own)
    far = _shuffled_square(surface, held, columns, own)
    each = tuple((k, _share(square, _shuffled_square(surface, held, (k,), own))) for k in columns)
    share = _share(square, far)
    return Verdict(float(np.sqrt(square)), share, each, _fault(found, square, far, share, each, own))


def _mean_square(distances: Array, policy: JudgingPolicy) -> float:
    """The mean squared distance, cut off at `farthest`, since distances are unreliable where the gradient is small."""
    far = policy.farthest
    return float(np.mean(np.clip(np.nan_to_num(distances, nan=far, posinf=far, neginf=-far), -far, far) ** 2))


def _shuffled_square(surface: Surface, rows: Rows, columns: Sequence[int], policy: JudgingPolicy) -> float:
    mixed = (surface.at(rows.shuffled(columns, seed)).distances for seed in range(policy.shuffles))
    return float(np.mean([_mean_square(far, policy) for far in mixed]))


def _share(square: float, shuffled: float) -> float:
    """One minus the squared distance divided by half that of shuffled rows, which corresponds to no relation."""
    return 1.0 - square / max(0.5 * shuffled, 1e-300)


def _fault(
    found: Finished,
    square: float,
    far: float,
    share: float,
    shares: Sequence[tuple[int, float]],
    policy: JudgingPolicy,
) -> str:
    if len(shares) < 2:
        return "it has one column alone"
    if far < policy.least_far**2:
        return "its surface is everywhere"
    if not share >= policy.least_share or not min(of for _, of in shares) >= policy.least_of_column:
        return "it hardly tells the rows from shuffled ones"
    if square > max(policy.worse_held_out**2 * found.fit.distance, policy.exact):
        return "it does not hold on the rows held out"
    return ""


def is_another(equation: Equation, rows: Rows, policy: RelationsPolicy) -> bool:
    """Whether it typically crosses the surfaces that the rows lie on; one that follows from them would be tangent."""
    seen = Surface(equation, rows, policy.fitting.flat).at(rows)
    return rows.across is None or bool(np.median(seen.sines) >= policy.judging.independent)


def leaves_a_pattern(found: Finished, rows: Rows, policy: RelationsPolicy) -> bool:
    """Whether neighbouring rows lie on the same side of the surface more often than by chance."""
    signed = found.fit.signed
    if found.fit.distance <= policy.judging.exact or len(signed) < policy.judging.least_for_pattern:
        return False
    nearest = neighbours(found.fit.near.x[:, list(found.equation.columns(rows))])
    chance = np.sqrt(policy.judging.pairing / len(signed))
    return bool(agreement(signed, nearest) > 0.5 + policy.judging.bars * chance)


def leaves_room(equations: Sequence[Equation], rows: Rows, policy: JudgingPolicy) -> bool:
    """Whether there may be a further relation.

    There is none if the columns are independent once each known relation has determined one of them.
    """
    few = rows.thinned(policy.rows_of_neighbours)
    given = {frozenset(one) for one in product(*(equation.columns(few) for equation in equations))}
    others = [[k for k in range(len(few.names)) if k not in one] for one in given if len(one) == len(equations)]
    return all(len(rest) > 1 and not _are_independent(few, rest, policy) for rest in others)


def _are_independent(rows: Rows, columns: Sequence[int], policy: JudgingPolicy) -> bool:
    """Whether rows are as far from their nearest neighbours as with shuffled columns."""
    spread = rows.scale[list(columns)]
    mixed = [_apart(rows.shuffled(columns, k).x[:, columns] / spread) for k in range(policy.shuffles)]
    return _apart(rows.x[:, columns] / spread) > float(np.mean(mixed)) - policy.nearer


def _apart(x: Array) -> float:
    """The median logarithm of the distance from each row to the nearest other row."""
    squares = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=2)
    np.fill_diagonal(squares, np.inf)
    return float(np.median(0.5 * np.log(np.maximum(squares.min(axis=1), 1e-300))))
