"""Formulas that have no value between rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ceql.choice.vetoes.case import Case
from ceql.choice.vetoes.places import Array
from ceql.choice.vetoes.zooming import at, dips


def undefined_between_rows(case: Case) -> str | None:
    """A sentence about roots, logarithms or anything else that has no value between neighbouring rows."""
    segments, points = _lost(case)
    one = case.places.has_one_column
    if not len(segments) or (not one and (_apart(case, segments) < case.policy.undefined_pairs or _is_empty(case))):
        return None
    for segment, point in zip(segments, points, strict=True):
        if not one or not _rows_keep_away(case, segment):
            return f"has no value at {case.places.named(point)}, {case.places.ends(segment)}"
    return None


def _lost(case: Case) -> tuple[Array, Array]:
    """The segments on which the formula is undefined somewhere, each with such a point."""
    lost = {}
    for segment, step in np.argwhere(np.isnan(case.between)):
        lost.setdefault(int(segment), case.points[segment, step])
    for segment, point in _negative_dips(case):
        lost.setdefault(segment, point)
    segments = np.array([k for k in sorted(lost) if _is_gone(case, k, lost[k])], int)
    return segments, np.array([lost[k] for k in segments])


def _negative_dips(case: Case) -> Iterator[tuple[int, Array]]:
    """Where a root's or a logarithm's inside is negative between two of the points looked at."""
    for margin in case.margins():
        function = case.function(margin)
        spots = dips(case, function, function(case.points), size=np.asarray)
        spots = spots.only(at(case, function, spots) < 0)
        for segment, step in zip(spots.segment, spots.step, strict=True):
            yield int(segment), case.places.at(np.array([segment]), np.array([[step]]))[0, 0]


def _is_gone(case: Case, segment: int, point: Array) -> bool:
    """Whether it has no value right beside the point either: 0/0 at a single point does no harm."""
    along = case.places.x[case.places.last[segment]] - case.places.x[case.places.first[segment]]
    asides = np.array([-1.0, 1.0])[:, None] * case.policy.beside * along
    return bool(np.isnan(case.value(point + asides)).all())


def _rows_keep_away(case: Case, segment: int) -> bool:
    """Whether the rows have a gap where the formula is undefined, as they would if the formula were true."""
    x = case.places.x[:, 0]
    first, last = int(case.places.first[segment]), int(case.places.last[segment])
    share = float(np.mean(np.isnan(case.between[segment])))
    gaps = np.diff(x[max(0, first - case.policy.window) : last + case.policy.window + 1])
    return share * (x[last] - x[first]) >= case.policy.empty * float(np.median(gaps))


def _is_empty(case: Case) -> bool:
    """The same in several columns: whether the formula is undefined where several rows should lie by chance."""
    count = len(case.places.x)
    pairs = np.random.default_rng(0).integers(0, count, (2, case.policy.middles))
    middles = (case.places.x[pairs[0]] + case.places.x[pairs[1]]) / 2
    return float(np.mean(np.isnan(case.value(middles)))) * count >= case.policy.empty


def _apart(case: Case, segments: Array) -> int:
    """How many of the segments have no row in common, counted greedily."""
    seen, count = set[int](), 0
    for segment in segments:
        ends = {int(case.places.first[segment]), int(case.places.last[segment])}
        if not ends & seen:
            seen |= ends
            count += 1
    return count
