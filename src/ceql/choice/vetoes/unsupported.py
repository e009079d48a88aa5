"""Poles, peaks and other excursions between rows that no row shows.

Near the zero of a denominator D, a formula is R/D**q plus something smooth. The rows show the pole if the values of
that part in the rows, R/D**q plus the residuals of the formula, are no smooth curve within the noise, whichever row is
left out. A pole that affects a single row only, or a zero that nearly cancels a pole, leaves a smooth curve.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from ceql.choice.vetoes.case import Case
from ceql.choice.vetoes.places import Array
from ceql.choice.vetoes.zooming import Function, Spots, at, crossings, dips
from ceql.expression.evaluate.poles import has_no_numbers
from ceql.expression.symbolic import Expr

_LEAST_FREEDOM = 2  # rows more than a polynomial has coefficients before it can fail
_HIGHEST_ORDER = 6.0  # of a pole


@dataclass(frozen=True, eq=False)
class Blowup:
    """Where a denominator vanishes, or nearly does, so that the formula leaves the envelope of the data by far."""

    denominator: Expr
    vanishes: bool
    spots: Spots
    heights: Array  # values there, or right beside
    shown: Array  # by the rows around

    def sentence(self, case: Case) -> str | None:
        """About the first spot that no row shows."""
        hidden = np.flatnonzero(~self.shown)
        if not len(hidden):
            return None
        k = hidden[0]
        segment = int(self.spots.segment[k])
        point = case.places.at(np.array([segment]), np.array([[self.spots.step[k]]]))[0, 0]
        ends = case.places.ends(segment)
        if not self.vanishes:
            return f"rises to {self.heights[k]:.4g} at {case.places.named(point)}, {ends}, a peak that no row shows"
        if case.places.has_one_column:
            return f"has a pole at {case.places.named(point)}, {ends}, that no row shows"
        return f"has a pole where {self.denominator} = 0, {ends}, that no row shows"


def blowups(case: Case, denominator: Expr, values: Array) -> Iterator[Blowup]:
    """Where a denominator vanishes or nearly does, and what the rows show; `values` are its values between the rows."""
    if not has_no_numbers(denominator):
        function = case.function(denominator)
        for vanishes, spots in ((True, crossings(case, function, values)), (False, dips(case, function, values))):
            heights = _heights(case, spots, vanishes)
            with np.errstate(invalid="ignore"):
                far = case.is_far(heights)
            if far.any():
                spots, heights = spots.only(far), heights[far]
                yield Blowup(denominator, vanishes, spots, heights, _shown(case, function, spots, vanishes))


def _heights(case: Case, spots: Spots, vanishes: bool) -> Array:
    """The value farthest from the data at, or on either side of, each spot."""
    asides = (-case.policy.beside, case.policy.beside) if vanishes else (0.0,)
    values = np.array([at(case, case.value, spots, aside) for aside in asides])
    middle = float(np.median(case.data.y))
    apart = np.where(np.isnan(values), -1.0, np.abs(values - middle))
    return np.take_along_axis(values, np.argmax(apart, axis=0)[None], axis=0)[0]


def _shown(case: Case, function: Function, spots: Spots, vanishes: bool) -> Array:
    """For each spot, whether the rows show what happens there."""
    strength, order = _strength(case, function, spots, vanishes)
    if case.places.has_one_column:
        pairs = zip(_windows(case, spots), strength, order, strict=True)
        return np.array([_is_shown(case, function, rows, np.full(len(rows), r), q) for rows, r, q in pairs], bool)
    rows, strengths = _rows_around(case, function, spots, strength)
    if len(rows) < case.policy.fewest_of_several:
        rows, strengths = _nearest_rows(case, spots, strength)
    if len(rows) < case.policy.fewest_of_several:
        return np.ones(len(spots), bool)
    return np.full(len(spots), _is_shown(case, function, rows, strengths, float(np.median(order))))


def _strength(case: Case, function: Function, spots: Spots, vanishes: bool) -> tuple[Array, Array]:
    """R and q of R/D**q at each spot; where that is no number, R is NaN."""
    near = case.policy.beside if vanishes else 0.0
    away = np.full(len(spots), 2 * near) if vanishes else _twice_as_large(case, function, spots)
    with np.errstate(all="ignore"):
        d_near, d_away = at(case, function, spots, near), _beside(case, function, spots, away)
        f_near, f_away = at(case, case.value, spots, near), _beside(case, case.value, spots, away)
        order = np.log(np.abs(f_near / f_away)) / np.log(np.abs(d_away / d_near))
        order = np.clip(np.round(2 * np.nan_to_num(order, nan=1.0)) / 2, 0.5, _HIGHEST_ORDER)
        strength = f_near * _power(d_near, order)
    return np.where(np.isfinite(strength), strength, np.nan), order


def _beside(case: Case, function: Function, spots: Spots, aside: Array) -> Array:
    return at(case, function, Spots(spots.segment, spots.step + aside))


def _twice_as_large(case: Case, function: Function, spots: Spots) -> Array:
    """How far from each spot the denominator has twice its size there, by powers of two."""
    asides = 2.0 ** -np.arange(40.0, 0.0, -1.0)
    sizes = np.abs(function(case.places.at(spots.segment, spots.step[:, None] + asides)))
    least = np.abs(at(case, function, spots))
    return asides[np.argmax(sizes >= 2 * least[:, None], axis=1)]


def _power(d: Array, order: Array | float) -> Array:
    """|d|**order with the sign of d where the order is odd."""
    odd = np.round(order) % 2 == 1
    return np.abs(d) ** order * np.where(odd & (np.round(order) == order), np.sign(d), 1.0)


def _windows(case: Case, spots: Spots) -> Iterator[Array]:
    """The rows around each spot, with a single column; near an end, more of them on one side."""
    x, width = case.places.x[:, 0], 2 * case.policy.window
    for point in case.places.at(spots.segment, spots.step[:, None])[:, 0, 0]:
        first = int(np.searchsorted(x, point)) - case.policy.window
        first = max(0, min(first, len(x) - width))
        yield np.arange(first, min(len(x), first + width))


def _rows_around(case: Case, function: Function, spots: Spots, strength: Array) -> tuple[Array, Array]:
    """The rows whose segments meet the zero set, nearest first, each with the strength found on its segment."""
    ends = np.concatenate([case.places.first[spots.segment], case.places.last[spots.segment]])
    rows, where = np.unique(ends, return_index=True)
    nearest = np.argsort(np.abs(function(case.places.x[rows])), kind="stable")[: case.policy.window_of_several]
    return rows[nearest], np.tile(strength, 2)[where[nearest]]


def _nearest_rows(case: Case, spots: Spots, strength: Array) -> tuple[Array, Array]:
    """The rows closest to the zero set, with every column in units of its spread, and the strength at the closest spot.
    Used where few segments meet the zero set, as at the border of the data."""
    spread = case.places.x.std(axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    points = case.places.at(spots.segment, spots.step[:, None])[:, 0]
    distances, spot = map(np.asarray, KDTree(points / scale).query(case.places.x / scale))
    nearest = np.argsort(distances, kind="stable")[: case.policy.window_of_several]
    return nearest, strength[spot[nearest]]


def _is_shown(case: Case, function: Function, rows: Array, strength: Array, order: float) -> bool:
    one = case.places.has_one_column
    along = case.places.x[rows, 0] if one else function(case.places.x[rows])
    with np.errstate(all="ignore"):
        part = strength / _power(function(case.places.x[rows]), order) + case.residuals[rows]
    if not np.isfinite(part).all():
        part = case.places.y[rows]
    policy = case.policy
    misfits = misfits_without_one(along, part, policy.smooth_degree if one else policy.smooth_degree_of_several)
    least = int(np.argmin(misfits))
    bar = policy.doubtful if case.leverage(rows[least]) > policy.bent else policy.smooth
    return bool(misfits[least] > bar * case.noise) or _stands_out(case, rows, least)


def misfits_without_one(along: Array, values: Array, degree: int) -> Array:
    """Root mean squares that a polynomial leaves without each row in turn; infinite with too few rows."""
    count = len(along)
    degree = min(degree, count - 2 - _LEAST_FREEDOM)
    size = float(np.max(np.abs(values), initial=0.0))
    if degree < 0 or size == 0.0:
        return np.full(max(count, 1), np.inf if degree < 0 else 0.0)
    centred = along - along.mean()
    powers = np.vander(centred / (np.max(np.abs(centred)) or 1.0), degree + 1)
    others = np.array([np.delete(np.arange(count), k) for k in range(count)])
    design, target = powers[others], (values / size)[others][..., None]
    left = target - design @ (np.linalg.pinv(design) @ target)
    return size * np.sqrt(np.sum(left[..., 0] ** 2, axis=1) / (count - 2 - degree))


def _stands_out(case: Case, rows: Array, which: int) -> bool:
    """Whether one of the rows is so far from all others that only a singularity explains it."""
    low, middle, high = np.percentile(case.data.y, (25, 50, 75))
    apart = np.abs(case.places.y[rows] - middle)
    others = float(np.max(np.delete(apart, which), initial=0.0))
    giant = case.policy.giant * max(high - low, case.noise)
    return bool(apart[which] > giant or apart[which] > case.policy.grown * max(others, case.noise))


def unsupported_by_rows(case: Case) -> str | None:
    """Poles and peaks first; then values far from the data that neither of them explains."""
    explained = np.zeros(len(case.places.first), bool)
    for denominator in case.denominators():
        values = case.function(denominator)(case.points)
        sentences = (blowup.sentence(case) for blowup in blowups(case, denominator, values))
        sentence = next((sentence for sentence in sentences if sentence is not None), None)
        if sentence is not None:
            return sentence
        explained |= _comes_near_zero(values)
    return _excursion(case, explained)


def _comes_near_zero(values: Array) -> Array:
    """Segments on which a denominator comes closer to zero than at both ends, or passes it."""
    size = np.abs(values)
    closer = np.min(size[:, 1:-1], axis=1) < np.minimum(size[:, 0], size[:, -1])
    return closer | (np.sign(values) != np.sign(values[:, :1])).any(axis=1)


def _excursion(case: Case, explained: Array) -> str | None:
    with np.errstate(invalid="ignore"):
        far = case.is_far(case.between) & ~explained[:, None]
    if not far.any():
        return None
    segment, step = np.argwhere(far)[0]
    low, high = case.data.y.min(), case.data.y.max()
    return (
        f"has the value {case.between[segment, step]:.4g} at {case.places.named(case.points[segment, step])}, "
        f"{case.places.ends(segment)}, though all rows lie between {low:.4g} and {high:.4g}"
    )
