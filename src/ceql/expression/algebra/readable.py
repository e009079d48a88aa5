"""Finds the form whose constants are shortest to write.

A fraction, a log plus a constant and a number times a root each have a free scale.  The data cannot
tell the scales apart, but the formula somebody wrote down had short decimals, so the scale that
makes all constants short at once is the one to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache

import numpy as np
from sympy import Float, Symbol, preorder_traversal

from ceql.expression.algebra import polynomial as P
from ceql.expression.algebra.decimals import number_lengths, rounded, short_scales, writing_cost
from ceql.expression.algebra.drafts import Draft, literal, product_of, raised, total, written
from ceql.expression.algebra.effort import THOROUGH, Effort, OutOfSteps, allowing, charge
from ceql.expression.algebra.factoring import factor
from ceql.expression.algebra.folding import variants, worth_folding
from ceql.expression.algebra.fraction_sums import Denominator, FractionSum, Region
from ceql.expression.algebra.generators import is_rational_step
from ceql.expression.algebra.polynomial import Poly
from ceql.expression.algebra.polynomial_forms import PolynomialWriter
from ceql.expression.algebra.simplify import ARITHMETIC_FAILURES, READ, Simplifier, as_fraction, is_real_formula
from ceql.expression.algebra.simplify_policy import SIMPLIFY, SimplifyPolicy
from ceql.expression.algebra.workspace import Array, Workspace, agrees, number, values_at
from ceql.expression.complexity import node_count
from ceql.expression.symbolic import Expr


class Reader:
    """Searches forms with short constants; also provides the operations that the folding rules need."""

    def __init__(self, workspace: Workspace, simplifier: Simplifier, accuracy: float) -> None:
        self.workspace = workspace
        self.policy = workspace.policy
        self.accuracy = accuracy
        self._simplifier = simplifier
        self._known: dict[Expr, Expr] = {}
        self._reading = cache(lambda argument: as_fraction(argument, workspace, self._writer))

    def shortest_form(self, expr: Expr) -> Expr:
        """The form with the shortest constants that keeps the value at the sample points."""
        if not expr.args:
            return self.rounded(expr)
        if expr not in self._known:
            self._known[expr] = self._choose(expr)
        return self._known[expr]

    def _choose(self, expr: Expr) -> Expr:
        reference = self.workspace.values(expr)
        forms = dict.fromkeys(self.rounded(form) for form in self.candidates(expr))
        for form in sorted(forms, key=self.score):
            if agrees(self.workspace.values(form), reference, 100.0 * self.accuracy):
                return form
        return expr

    def score(self, expr: Expr) -> tuple[int, int, int]:
        nodes = self.workspace.count(expr)
        return writing_cost(number_lengths(expr)) + nodes, nodes, minus_signs(expr)

    def rounded(self, expr: Expr) -> Expr:
        """Return the formula with constants replaced by short decimals that they agree with to the accuracy."""
        if not expr.has(Float):
            return expr
        return expr.xreplace({c: self._rounded_number(float(c)) for c in expr.atoms(Float)})

    def _rounded_number(self, value: float) -> Expr:
        for digits in range(1, self.policy.most_digits + 1):
            short = rounded(value, digits)
            if abs(short - value) <= self.accuracy * abs(value):
                return number(short)
        return number(value)

    def candidates(self, expr: Expr) -> list[Expr]:
        charge(READ * self.workspace.count(expr))
        piecewise = expr.func(*[self.shortest_form(argument) for argument in expr.args])
        forms = [expr, piecewise]
        if is_rational_step(expr):
            forms += self._fractions(expr)
        if worth_folding(expr):
            for form in sorted(dict.fromkeys(forms), key=self.score)[: self.policy.forms_tried]:
                with suppress(OverflowError, ZeroDivisionError, ValueError):
                    forms += variants(form, self)
        return forms

    def _fractions(self, expr: Expr) -> list[Expr]:
        try:
            region = Region(self.workspace, [expr])
            drafts = self._writer(self.workspace, region).forms(region.read(expr))
        except ARITHMETIC_FAILURES:
            return []
        forms = [written(draft) for draft in drafts]
        return forms + self._simplifier.ranked(expr)

    def _writer(self, workspace: Workspace, region: Region) -> ScaledWriter:
        return ScaledWriter(workspace, region, self.accuracy)

    def scales(self, argument: Expr) -> list[float]:
        reading = self._reading(argument)
        return [] if reading is None else short_scales(list(reading[1].values()), self.accuracy, self.policy)

    def scaled(self, argument: Expr, factor: float) -> Expr:
        reading = self._reading(argument)
        if reading is None:
            return number(factor) * argument
        writer, numerator, key = reading
        return self.rounded(written(writer.fraction(P.scale(numerator, factor), key)[0]))


def minus_signs(expr: Expr) -> int:
    return sum(1 for node in preorder_traversal(expr) if node.is_Number and node.is_negative)


class ScaledWriter:
    """Writes fractions with expanded polynomials at scales that make the coefficients short."""

    def __init__(self, workspace: Workspace, region: Region, accuracy: float) -> None:
        self._policy = workspace.policy
        self._region = region
        self._accuracy = accuracy
        self._polynomials = PolynomialWriter(workspace, region.blocks)

    def forms(self, groups: FractionSum) -> list[Draft]:
        numerator, key = self._region.together(groups)
        if not numerator:
            return [literal(0.0)]
        forms = self.fraction(numerator, key) + self.factored(numerator, key)
        if len(groups) > 1:
            forms.append(total(*[self.fraction(poly, below)[0] for below, poly in groups.items()]))
        return forms

    def fraction(self, numerator: Poly, key: Denominator) -> list[Draft]:
        """One scale for numerator and denominator together."""
        if not key:
            return [self._polynomials.expanded(numerator)]
        denominator = self._region.expanded(key)
        scales = short_scales([*numerator.values(), *denominator.values()], self._accuracy, self._policy) or [1.0]
        forms = []
        for scale in [sign * scale for scale in scales[:2] for sign in (1.0, -1.0)]:
            above = self._polynomials.expanded(P.scale(numerator, scale))
            below = self._polynomials.expanded(P.scale(denominator, scale))
            forms.append(product_of(above, raised(below, -1)))
        return forms

    def factored(self, numerator: Poly, key: Denominator) -> list[Draft]:
        """Return forms with a number times factors that each have their own scale."""
        value, above = factor(numerator)
        below = [(self._region.factors[index], -exponent) for index, exponent in key]
        factors = []
        for poly, exponent in above + below:
            scale = (short_scales(list(poly.values()), self._accuracy, self._policy) or [1.0])[0]
            value /= scale**exponent
            factors.append(raised(self._polynomials.expanded(P.scale(poly, scale)), exponent))
        return [product_of(literal(value), *factors)]


@np.errstate(all="ignore")
def readable(
    expr: Expr,
    symbols: Sequence[Symbol],
    x: Array | None = None,
    y: Array | None = None,
    effort: Effort = THOROUGH,
    policy: SimplifyPolicy = SIMPLIFY,
) -> Expr:
    """The equal form with the shortest constants.

    Constants are rounded only where they agree with a short decimal to nine digits.  With ``y`` a
    looser agreement is tried as well, and kept when the formula then fits the data as well as before.
    """
    if not is_real_formula(expr) or node_count(expr) > effort.most_nodes:
        return expr
    accuracies = policy.accuracies if y is None or x is None else policy.accuracies_with_data
    workspace = Workspace(symbols, x, policy)
    simplifier = Simplifier(workspace)  # shared, since its forms do not depend on the accuracy
    best = expr
    with allowing(effort.steps):
        for accuracy in accuracies:
            found = _search(expr, Reader(workspace, simplifier, accuracy))
            is_shorter = writing_cost(number_lengths(found)) < writing_cost(number_lengths(best))
            if is_shorter and _fits_as_well(found, expr, symbols, x, y):
                best = found
            if max(number_lengths(best), default=0) < policy.most_digits:
                break
    return best


def _search(expr: Expr, reader: Reader) -> Expr:
    workspace = reader.workspace
    try:
        found = reader.shortest_form(expr)
    except (OutOfSteps, RecursionError):
        return expr
    reference = values_at(expr, workspace.symbols, workspace.checks)
    values = values_at(found, workspace.symbols, workspace.checks)
    return found if agrees(values, reference, 1000.0 * reader.accuracy) else expr


def _fits_as_well(found: Expr, expr: Expr, symbols: Sequence[Symbol], x: Array | None, y: Array | None) -> bool:
    if x is None or y is None:
        return True
    target = np.asarray(y, dtype=np.float64)
    before = _misfit(values_at(expr, symbols, np.asarray(x)), target)
    after = _misfit(values_at(found, symbols, np.asarray(x)), target)
    # Rounding to fewer digits than the data have must not make the fit worse, apart from rounding errors.
    return after <= 1.5 * before + 1e-24 * float(target @ target)


def _misfit(values: Array, target: Array) -> float:
    residuals = values - target
    usable = np.isfinite(residuals)
    return float(np.sum(residuals[usable] ** 2))
