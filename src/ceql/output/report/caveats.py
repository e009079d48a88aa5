"""Sentences that say where a formula should not be trusted."""

from __future__ import annotations

import numpy as np

from ceql.data.dataset import Dataset
from ceql.expression.evaluate.poles import EDGE, Pole, count_overlooked, not_negative, positive_only
from ceql.formula import Formula
from ceql.output.curves import borders_around

_DRAWN = 4096
_MOST = 12


def caveats(formula: Formula, data: Dataset) -> list[str]:
    """Sentences about poles and edges of the domain in and near the data, and about where the formula has a value."""
    inside = borders_around(formula, data, share=0.0)
    known = {str(border) for border in inside}
    near = [border for border in borders_around(formula, data) if str(border) not in known]
    sentences = [_sentence(border, data, inside=True) for border in inside]
    sentences += [_sentence(border, data, inside=False) for border in near]
    more = len(sentences) - _MOST
    sentences = sentences[:_MOST] + ([f"There are {more} more of these."] if more > 0 else [])
    overlooked = count_overlooked(formula.expression)
    if overlooked:
        sentences.append(f"{overlooked} places where it may be singular were not checked: the formula is too long.")
    return sentences + _conditions(formula, data)


def _sentence(border: Pole, data: Dataset, inside: bool) -> str:
    what = "The formula ends" if border.kind == EDGE else f"There is a {border.kind}"
    if not inside:
        return f"{what} at {border}, outside the range of the data but near{_distance(border, data)}."
    doubt = "it has no real value on one side" if border.kind == EDGE else "values near it are very uncertain"
    return f"{what} at {border}, within the range of the data: {doubt}."


def _distance(border: Pole, data: Dataset) -> str:
    if border.location is None:
        return ""
    values = data.x[:, data.names.index(str(next(iter(border.vanishes.free_symbols))))]
    span = float(np.ptp(values))
    away = max(values.min() - border.location, border.location - values.max())
    return f", {away / span:.0%} of their range away" if span > 0 else ""


def _conditions(formula: Formula, data: Dataset) -> list[str]:
    """Sentences about the conditions for a real value, and the share of the data's range without one."""
    lower, upper = data.x.min(axis=0), data.x.max(axis=0)
    points = np.random.default_rng(0).uniform(lower, upper, (_DRAWN, len(lower)))
    share = float(np.mean(~np.isfinite(formula(points))))
    needed = sorted({f"{inner} ≥ 0" for inner in not_negative(formula.expression)})
    needed += sorted({f"{inner} > 0" for inner in positive_only(formula.expression)})
    found = [f"It has a real value only where {' and '.join(needed)}."] if needed else []
    if share > 0:
        found.append(
            f"It is undefined in {max(share, 0.001):.1%} of the box that the data span; predict gives NaN there."
        )
    return found
