"""Finds the shortest among the equal forms of a formula.

A formula is read as sums of fractions over its building blocks (symbols, logs, roots, ...), whose
arguments are shortened first.  From that reading come nested, factored, divided, continued and
partial-fraction forms; constants then move in or out of logs, roots and exponentials.  Every form
is compared with the original at sample points, so a faulty rewrite costs time but never the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import TypeVar

import numpy as np
from sympy import Float, I, Symbol, nan, oo, zoo

from ceql.expression.algebra import polynomial as P
from ceql.expression.algebra.decimals import constants_length
from ceql.expression.algebra.drafts import written
from ceql.expression.algebra.effort import THOROUGH, Effort, OutOfSteps, allowing, charge
from ceql.expression.algebra.folding import variants, worth_folding
from ceql.expression.algebra.fraction_sums import Denominator, Region, Undefined
from ceql.expression.algebra.generators import is_rational_step
from ceql.expression.algebra.polynomial import Poly, TooLarge
from ceql.expression.algebra.precision import REFINED, constants_known_to
from ceql.expression.algebra.rational_forms import RationalWriter
from ceql.expression.algebra.simplify_policy import SIMPLIFY, SimplifyPolicy
from ceql.expression.algebra.workspace import Workspace, agrees, number, values_at
from ceql.expression.complexity import node_count
from ceql.expression.symbolic import Expr, factors_of

Array = np.ndarray
Writer = TypeVar("Writer")
ARITHMETIC_FAILURES = (TooLarge, Undefined, OverflowError, ZeroDivisionError, ValueError, TypeError)
READ, WRITTEN = 20, 80  # steps per node to read a SymPy formula, and to build one
VARIANT = 300  # steps to build a variant of a formula, most of which exists already


class Simplifier:
    """Searches equal forms of formulas over one workspace, and remembers what it finds."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.policy = workspace.policy
        self._settled: dict[Expr, Expr] = {}
        self._ranked: dict[Expr, list[Expr]] = {}
        self._reading = cache(lambda argument: as_fraction(argument, workspace, RationalWriter))
        self.found: list[Expr] = []

    def shortest_form(self, expr: Expr) -> Expr:
        """The shortest form found that has the value of ``expr`` at the sample points."""
        if not expr.args:
            return number(float(expr)) if isinstance(expr, Float) else expr
        known = self._settled.get(expr)
        if known is None:
            known = self._settled[expr] = self._first_valid(expr)
        return known

    def ranked(self, expr: Expr) -> list[Expr]:
        """Return equal forms, the shortest first; they are remembered."""
        if expr not in self._ranked:
            self._ranked[expr] = sorted(dict.fromkeys(self.candidates(expr)), key=self._rank)
        return self._ranked[expr]

    def _first_valid(self, expr: Expr) -> Expr:
        reference = self._workspace.values(expr)
        for candidate in self.ranked(expr):
            if candidate == expr or agrees(self._workspace.values(candidate), reference, policy=self.policy):
                return candidate
        return expr

    def _rank(self, expr: Expr) -> tuple[int, int]:
        return self._workspace.count(expr), constants_length(expr)

    def candidates(self, expr: Expr) -> list[Expr]:
        """Equal forms of ``expr``, not yet checked."""
        charge(READ * self._workspace.count(expr))
        if is_monomial(expr):
            return [expr, with_plain_units(expr)]
        forms = [expr]
        if is_rational_step(expr):
            # The formula as a whole comes first, so that its forms are found even if the steps run out.
            forms += self._rational(expr.xreplace(self._settled_blocks(expr)))
        forms.append(expr.func(*[self.shortest_form(argument) for argument in expr.args]))
        if worth_folding(expr):
            ranked = sorted(dict.fromkeys(forms), key=self._rank)
            for form in ranked[: self.policy.folded_forms]:
                forms += self._folded(form)
        return forms

    def _settled_blocks(self, expr: Expr) -> dict[Expr, Expr]:
        """Return the building blocks of a formula with the shortened blocks that replace them."""
        if expr.is_Atom:
            return {}
        if is_rational_step(expr):
            merged: dict[Expr, Expr] = {}
            for argument in expr.args:
                merged.update(self._settled_blocks(argument))
            return merged
        return {expr: self.shortest_form(expr)}

    def _rational(self, expr: Expr) -> list[Expr]:
        try:
            region = Region(self._workspace, [expr])
            groups = region.read(expr)
            writer = RationalWriter(self._workspace, region)
            drafts = writer.forms(*region.together(groups))
            if len(groups) > 1:
                drafts += writer.sums(groups)
        except ARITHMETIC_FAILURES:
            return []
        drafts = sorted(drafts, key=lambda draft: draft.count)[: self.policy.forms_written]
        charge(WRITTEN * sum(draft.count for draft in drafts))
        forms = [written(draft) for draft in drafts]
        self.found += forms
        return forms

    def _folded(self, expr: Expr) -> list[Expr]:
        """Apply the folding rules to the inner nodes first, then to this one, as long as it gets shorter."""
        if expr.is_Atom:
            return [expr]
        best = expr
        if is_rational_step(expr):
            best = expr.func(*[self._workspace.shortest(self._folded(part)) for part in expr.args])
        forms = [best]
        for _ in range(3):
            proposals = self._proposals(best)
            forms += proposals
            better = self._workspace.shortest([best, *proposals])
            if self._workspace.count(better) >= self._workspace.count(best):
                break
            best = better
        return forms

    def _proposals(self, expr: Expr) -> list[Expr]:
        charge(READ * self._workspace.count(expr))
        if not worth_folding(expr):
            return []
        try:
            found = list(variants(expr, self))
        except (OverflowError, ZeroDivisionError, ValueError):
            return []
        charge(VARIANT * len(found))
        return found

    def scales(self, argument: Expr) -> list[float]:
        reading = self._reading(argument)
        if reading is None:
            return []
        sizes = [1.0 / abs(value) for value in list(reading[1].values())[: self.policy.scales_tried]]
        return list(dict.fromkeys(sizes))

    def scaled(self, argument: Expr, factor: float) -> Expr:
        reading = self._reading(argument)
        if reading is None:
            return number(factor) * argument
        writer, numerator, key = reading
        draft = writer.best(P.scale(numerator, factor), key)
        charge(WRITTEN * draft.count)
        return written(draft)


def as_fraction(
    expr: Expr, workspace: Workspace, writer: Callable[[Workspace, Region], Writer]
) -> tuple[Writer, Poly, Denominator] | None:
    """Return a writer with numerator and denominator over building blocks; None if the arithmetic fails."""
    try:
        region = Region(workspace, [expr])
        return writer(workspace, region), *region.together(region.read(expr))
    except ARITHMETIC_FAILURES:
        return None


def is_monomial(expr: Expr) -> bool:
    """Return whether the formula is a number times integer powers of symbols, with no other form to search."""
    return all(
        factor.is_Number or factor.is_Symbol or (factor.is_Pow and factor.base.is_Symbol and factor.exp.is_Integer)
        for factor in factors_of(expr)
    )


def is_real_formula(expr: Expr) -> bool:
    """Return whether the formula has no infinite or imaginary constants, and so real values to preserve."""
    return not expr.has(I, zoo, nan, oo)


def with_plain_units(expr: Expr) -> Expr:
    """1.0*x becomes x."""
    coefficient, rest = expr.as_coeff_Mul()
    return number(float(coefficient)) * rest if isinstance(coefficient, Float) else expr


@np.errstate(all="ignore")
def forms(
    expr: Expr,
    symbols: Sequence[Symbol],
    effort: Effort = THOROUGH,
    x: Array | None = None,
    accuracy: float = REFINED,
    policy: SimplifyPolicy = SIMPLIFY,
) -> list[Expr]:
    """Distinct forms equal to ``expr``, the shortest first; ``expr`` itself is always among them.

    ``accuracy`` says how well the constants are known.  Forms keep the value to 1e-9; with constants
    known less well than 1e-11, to a hundred times their accuracy, and should be refitted afterwards.
    """
    with constants_known_to(accuracy):
        return list(_verified(expr, symbols, effort, x, policy))


def _verified(
    expr: Expr, symbols: Sequence[Symbol], effort: Effort, x: Array | None, policy: SimplifyPolicy
) -> Iterator[Expr]:
    """The forms that keep the value, the shortest first; each is checked only when it is asked for."""
    if not is_real_formula(expr) or node_count(expr) > effort.most_nodes:
        yield expr
        return
    workspace = Workspace(symbols, x, policy)
    candidates = dict.fromkeys(_searched(expr, workspace, effort))
    reference = values_at(expr, workspace.symbols, workspace.checks)
    for form in sorted(candidates, key=lambda form: (workspace.count(form), constants_length(form))):
        if form == expr or agrees(values_at(form, workspace.symbols, workspace.checks), reference, policy=policy):
            yield form


def _searched(expr: Expr, workspace: Workspace, effort: Effort) -> list[Expr]:
    simplifier = Simplifier(workspace)
    candidates = [expr]
    # Rewrites of extreme formulas may overflow or meet unknown structures; forms found before that are kept.
    with (
        suppress(OutOfSteps, RecursionError, ArithmeticError, LookupError, ValueError, TypeError),
        allowing(effort.steps),
    ):
        candidates += simplifier.candidates(expr)
    return candidates + simplifier.found


@np.errstate(all="ignore")
def smallest(
    expr: Expr,
    symbols: Sequence[Symbol],
    x: Array | None = None,
    effort: Effort = THOROUGH,
    accuracy: float = REFINED,
    policy: SimplifyPolicy = SIMPLIFY,
) -> Expr:
    """The equal form with the fewest nodes; of those, the one with the shortest constants."""
    with constants_known_to(accuracy):
        return next(_verified(expr, symbols, effort, x, policy))
