"""The final form of a fitted relation: simple numbers, a product where possible, and the criterion it is chosen by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
import sympy

from ceql.choice.criterion import description, price_of_constants
from ceql.engine.one_thread import one_thread
from ceql.expression import parametrise, round_to_errors, snap
from ceql.formula import Formula
from ceql.relations.drafts import Draft, as_products
from ceql.relations.fitting import Fitted, fitted, measured
from ceql.relations.policy import RelationsPolicy
from ceql.relations.rows import Rows
from ceql.relations.surface import Equation, Surface, thickness_of

_AS_GOOD = 0.5  # difference of criteria up to which shorter numbers are preferred


@dataclass(frozen=True, eq=False)
class Finished:
    """A relation with its numbers and its criterion: misfit plus the price of writing it. Smaller is better."""

    fit: Fitted
    criterion: float

    @property
    def equation(self) -> Equation:
        return self.fit.equation


def scored(fit: Fitted, rows: Rows, policy: RelationsPolicy) -> Finished:
    """The fit with the criterion for formulas, in which distances take the place of residuals."""
    distance = fit.distance
    if distance > policy.judging.exact:
        distance = distance / thickness(fit, rows, policy)
    loss, count = max(distance, policy.judging.exact), len(rows.x)
    numbers = len(parametrise(fit.equation.rest).symbols)
    if 2 * numbers >= count:
        return Finished(fit, np.inf)
    formula = Formula(shown_difference(fit.equation, rows), rows.symbols, loss)
    price = description(formula, policy.prices) + price_of_constants(numbers, count, policy.prices)
    return Finished(fit, count * log(loss) + 2.0 * price)


def shown_difference(equation: Equation, rows: Rows) -> Any:
    """The expression that vanishes, with the level of the first group standing for all of them."""
    marks = {mark: sympy.Integer(k == 0) for k, mark in enumerate(rows.marks)}
    return equation.difference.xreplace(marks)


@np.errstate(all="ignore")
def thickness(fit: Fitted, rows: Rows, policy: RelationsPolicy) -> float:
    """How far rows that were moved off the surface seem to be from it, relative to how far they are.

    They are moved a little, to detect neighbouring sheets, and far, to detect a surface that is everywhere.
    """
    own, surface = policy.supports, Surface(fit.equation, rows, policy.fitting.flat)
    times = range(max(1, own.moved // len(rows.x)))

    def seen_from(reach: float) -> np.ndarray:
        return np.concatenate([surface.at(rows.moved(reach, seed)).distances ** 2 for seed in times])

    reach = max(own.reach * float(np.sqrt(fit.distance)), own.least_reach)
    near = thickness_of(seen_from(reach), reach**2 + fit.distance, own)
    return min(near, thickness_of(seen_from(own.far_reach), own.far_reach**2, own, own.everywhere))


@one_thread
def finished_draft(draft: Draft, rows: Rows, policy: RelationsPolicy) -> Finished | None:
    """The best finished form of a sum of terms, trying each term as the isolated one; None if there is none."""
    return _best(finished_equation(equation, rows, policy) for equation in draft.equations(rows))


@one_thread
def finished_equation(equation: Equation, rows: Rows, policy: RelationsPolicy) -> Finished | None:
    """The best finished form of an equation, with rounded numbers and possibly as a product; None if it cannot be
    fitted."""
    fit = fitted(equation, rows, policy.fitting)
    if fit is None:
        return None
    snapped = _snapped(fit, rows)
    products = [fitted(product, rows, policy.fitting) for product in as_products(snapped)]
    forms = [fit.equation, snapped, *(_snapped(product, rows) for product in products if product is not None)]
    written = (_rounded(form, rows, policy) for form in dict.fromkeys(forms))
    return _best(scored(form, rows, policy) for form in written if form is not None)


def _snapped(fit: Fitted, rows: Rows) -> Equation:
    """The equation with simple numbers that the fitted ones may stand for; levels of groups are left as they are."""
    given = fit.near
    rest = snap(fit.equation.rest, rows.inputs, given.x, given.y, given.weight)
    if rows.marks:
        law, _ = _without_levels(rest, rows)
        rest = law + _without_levels(fit.equation.rest, rows)[1]
    return replace(fit.equation, rest=rest)


def _without_levels(rest: Any, rows: Rows) -> tuple[Any, Any]:
    """The terms without a mark of a group, and those with one."""
    marks = set(rows.marks)
    terms = sympy.Add.make_args(rest)
    levels = sympy.Add(*(term for term in terms if term.free_symbols & marks))
    return rest - levels, levels


def _rounded(equation: Equation, rows: Rows, policy: RelationsPolicy) -> Fitted | None:
    """The fit with its numbers rounded to the digits that the noise allows; None if it cannot be fitted."""
    fit = fitted(equation, rows, policy.fitting)
    if fit is None or fit.distance <= policy.judging.exact:
        return fit
    given = fit.near
    rest = round_to_errors(fit.equation.rest, rows.inputs, given.x, given.y, given.weight)
    rounded = measured(replace(fit.equation, rest=rest), rows, policy.fitting)
    return fit if rounded is None else rounded


def _best(candidates: Iterable[Finished | None]) -> Finished | None:
    """The best by the criterion; of nearly equal ones, the one with the shortest numbers."""
    found = [candidate for candidate in candidates if candidate is not None]
    if not found:
        return None
    least = min(one.criterion for one in found)
    return min((one for one in found if one.criterion <= least + _AS_GOOD), key=lambda one: _digits(one.equation))


def _digits(equation: Equation) -> int:
    """The number of characters that its numbers take."""
    numbers = equation.rest.atoms(sympy.Float, sympy.Rational)
    return sum(len(sympy.sstr(number, full_prec=False)) for number in numbers)
