"""Polynomial systems, fitted to whole trajectories and reduced there.

If a motion is fast compared with its sampling, no smooth path through the samples leads to the law. Short simulations
from one sample to the next are more accurate, so the equations with all products of powers up to a degree are fitted by
them at once. Near this fit, the squared residuals are a quadratic function of the constants. By this function, the
least important term is removed, in whichever equation it is, until few are left. The most promising systems on the way
are fitted themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

from ceql.dynamics.choosing import Contender, Contest, Record, contender, is_exact
from ceql.dynamics.elimination import monomials
from ceql.dynamics.integral_form import IntegralTarget
from ceql.dynamics.policy import WholeFitPolicy
from ceql.dynamics.shooting import Shot
from ceql.dynamics.system import System
from ceql.expression.prices import PRICES, structure_price
from ceql.formula import Formula

_NOTHING = 1e-12  # a weight that stands for a term which the smooth path has no use for


@dataclass(frozen=True, eq=False)
class _Term:
    """A term of one equation, with its weight in the whole fit."""

    place: int  # of the equation
    power: Any
    weight: float


def whole_fit(
    contest: Contest, system: System, targets: Sequence[IntegralTarget], degree: int, policy: WholeFitPolicy
) -> Contender | None:
    """The fitted system with all products of powers up to this degree in every equation. None if there are too few
    samples for its constants, or if it cannot be simulated. `targets` give the path for the starting weights."""
    terms = monomials(system.symbols, degree)
    unknown = len(terms) * len(targets)
    if unknown > min(policy.most_constants, policy.share * contest.series.samples * len(targets)):
        return None
    return contender(
        _with_equations(system, [_along_path(one, terms, system.symbols, policy) for one in targets]), contest
    )


def is_taken_down(record: Record, whole: Contender, policy: WholeFitPolicy) -> bool:
    """Tries the most promising smaller systems, and says whether one of them is certainly the law: it leaves nothing of
    the samples, and leaves much if another term is removed."""
    contest = record.contest
    tried = [(record.try_out(smaller), leap) for smaller, leap in _taken_down(whole, contest.floor, policy)]
    best = record.best
    leaps = [leap for one, leap in tried if one is not None and one is best]
    return best is not None and is_exact(best, contest) and max(leaps, default=0.0) > contest.policy.choice.leap


def _with_equations(system: System, formulas: Sequence[Formula]) -> System:
    equations = list(system.formulas)
    for place, formula in zip(system.searched, formulas, strict=True):
        equations[place] = formula
    return replace(system, formulas=tuple(equations))


def _along_path(
    target: IntegralTarget, terms: Sequence[Any], symbols: tuple[sympy.Symbol, ...], policy: WholeFitPolicy
) -> Formula:
    """All terms with the weights that a path gives them, which are good enough as starting values."""
    values = np.column_stack([Formula(term, symbols, 0.0)(target.path.rows) for term in terms])
    columns = target.path.integrals(values)
    sizes = np.linalg.norm(columns, axis=0)
    sizes = np.where(np.isfinite(sizes) & (sizes > 0.0), sizes, np.inf)
    scaled = np.vstack([np.nan_to_num(columns / sizes), policy.ridge * np.eye(len(terms))])
    weights = np.linalg.lstsq(scaled, np.append(target.values, np.zeros(len(terms))), rcond=None)[0] / sizes
    parts = (sympy.Float(weight if weight else _NOTHING) * term for weight, term in zip(weights, terms, strict=True))
    return Formula(sympy.Add(*parts), symbols, np.inf)


def _terms(shot: Shot) -> list[_Term]:
    """In the order of the constants of the fit."""
    found = []
    for place, (form, where) in enumerate(zip(shot.sides.forms, shot.sides.places, strict=True)):
        for symbol, weight in zip(form.symbols, shot.constants[where], strict=True):
            found.append(_Term(place, sympy.diff(form.expr, symbol), float(weight)))
    return found


def _taken_down(whole: Contender, floor: np.ndarray, policy: WholeFitPolicy) -> Iterator[tuple[System, float]]:
    """Smaller systems, the most promising first, and the factor by which the residuals grow without their next term."""
    shot = whole.shot
    terms, count = _terms(shot), shot.layout.size
    rows = float(np.sum(shot.samples))
    covariance = shot.errors()[:count, :count]
    if not np.isfinite(covariance).all():
        return
    prices = np.array([structure_price(term.power) for term in terms]) + PRICES.add + PRICES.mul
    prices += PRICES.constant * np.log(rows)
    steps = list(way_down(np.array([term.weight for term in terms]), covariance))
    left = np.array([np.sqrt(shot.squares * (1.0 + added / rows) + floor**2) for _, _, added in steps])
    scores = [
        2.0 * float(shot.samples @ np.log(own)) + 2.0 * float(np.sum(prices[kept]))
        for own, (kept, _, _) in zip(left, steps, strict=True)
    ]
    for number in np.argsort(scores)[: policy.kept]:
        kept, weights, _ = steps[number]
        leap = float(np.max(left[number + 1] / left[number])) if number + 1 < len(steps) else np.inf
        yield _with_equations(shot.system, list(_written(shot, terms, kept, weights))), leap


def _written(shot: Shot, terms: Sequence[_Term], kept: np.ndarray, weights: np.ndarray) -> Iterator[Formula]:
    for place in shot.system.searched:
        own = [(weight, terms[k].power) for k, weight in zip(kept, weights, strict=True) if terms[k].place == place]
        expression = sympy.Add(*(sympy.Float(float(weight)) * power for weight, power in own))
        yield shot.system.formulas[place].with_expression(expression)


def way_down(weights: np.ndarray, covariance: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Step by step, as the least important term is removed: the remaining terms, their weights, and the increase of the
    squares in units of the noise."""
    kept, added = np.arange(len(weights)), 0.0
    while len(kept):
        yield kept, weights, added
        variances = np.maximum(np.diag(covariance), np.finfo(float).tiny)
        worst = int(np.argmin(weights**2 / variances))
        added += float(weights[worst] ** 2 / variances[worst])
        # The others, if this one is zero.
        column = covariance[:, worst] / variances[worst]
        weights = np.delete(weights - column * weights[worst], worst)
        covariance = np.delete(covariance - np.outer(column, covariance[worst]), worst, axis=0)
        covariance = np.delete(covariance, worst, axis=1)
        kept = np.delete(kept, worst)
