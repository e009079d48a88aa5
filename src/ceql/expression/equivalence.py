"""Decides whether a found formula is the true one, by structure and by values."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
from sympy import Float, Pow, Symbol

from ceql.expression.algebra import polynomial as P
from ceql.expression.algebra.effort import JUDGEMENT, Effort, OutOfSteps, allowing
from ceql.expression.algebra.fraction_sums import Region
from ceql.expression.algebra.polynomial import Poly
from ceql.expression.algebra.simplify import ARITHMETIC_FAILURES
from ceql.expression.algebra.workspace import Array, Workspace, typical_size, values_at
from ceql.expression.complexity import node_count
from ceql.expression.symbolic import Expr

CONSTANT_TOLERANCE = 1e-6
LEFTOVER = 1e-8
VALUE_TOLERANCE = 1e-5
TIGHT_VALUE_TOLERANCE = 1e-9
AGREEING_SHARE = 0.98
WIDER = 0.5
FRESH_POINTS = 400
EXTRA_CONSTANTS = 2


class Equivalence(Enum):
    """The degree to which two formulas are known to be the same."""

    EXACT_STRUCTURE = "same structure, constants equal to 1e-6"
    NUMERIC = "same values far beyond the data, structure not compared"
    DIFFERENT = "different"


@np.errstate(all="ignore")
def equivalence(
    found: Expr, truth: Expr, symbols: Sequence[Symbol], x: Array, effort: Effort = JUDGEMENT
) -> Equivalence:
    """Compare two formulas by cross-multiplied coefficients, and also by their values at new points."""
    inside, beyond = fresh_points(np.asarray(x, dtype=np.float64))
    if not _values_agree(found, truth, symbols, inside, VALUE_TOLERANCE, AGREEING_SHARE):
        return Equivalence.DIFFERENT
    found = _with_exponents_of(truth, found)
    # c*sqrt(1/(c**2 - v**2)) equals 1/sqrt(1 - v**2/c**2) for c > 0: their squares agree, and values show the sign.
    if any(same_structure(found**n, truth**n, symbols, x, effort) for n in (1, 2)):
        return Equivalence.EXACT_STRUCTURE
    everywhere = np.vstack([inside, beyond])
    if _values_agree(found, truth, symbols, everywhere, TIGHT_VALUE_TOLERANCE, 1.0):
        return Equivalence.NUMERIC
    return Equivalence.DIFFERENT


def is_exact(found: Expr, truth: Expr, symbols: Sequence[Symbol], x: Array) -> bool:
    """Return whether ``found`` is ``truth``: same structure, or the same values with about as many constants."""
    verdict = equivalence(found, truth, symbols, x)
    if verdict is Equivalence.NUMERIC:
        return _constants(found) <= _constants(truth) + EXTRA_CONSTANTS
    return verdict is Equivalence.EXACT_STRUCTURE


def _constants(expr: Expr) -> int:
    if not expr.args:
        return int(isinstance(expr, Float))
    return sum(_constants(argument) for argument in expr.args)


def fresh_points(x: Array) -> tuple[Array, Array]:
    """Return points in the box of the data, and points in a box that extends it on each side by half its width."""
    generator = np.random.default_rng(20240601)
    low, high = np.min(x, axis=0), np.max(x, axis=0)
    margin = WIDER * np.maximum(high - low, 1e-6)
    # Columns positive in all rows stay positive: sqrt(a)*sqrt(b) equals sqrt(a*b) for two intensities.
    below = np.where((low > 0.0) & (low < margin), WIDER * low, low - margin)
    above = np.where((high < 0.0) & (-high < margin), WIDER * high, high + margin)
    shape = (FRESH_POINTS, x.shape[1])
    return generator.uniform(low, high, shape), generator.uniform(below, above, shape)


def _values_agree(
    found: Expr, truth: Expr, symbols: Sequence[Symbol], points: Array, tolerance: float, share: float
) -> bool:
    wanted, got = values_at(truth, symbols, points), values_at(found, symbols, points)
    defined = np.isfinite(wanted)
    if not np.any(defined):
        return not np.any(np.isfinite(got))
    wanted, got = wanted[defined], got[defined]
    floor = 1e-3 * typical_size(wanted)
    with np.errstate(invalid="ignore"):
        close = np.abs(got - wanted) <= tolerance * (np.abs(wanted) + floor)
    return float(np.mean(close)) >= share


def _with_exponents_of(truth: Expr, found: Expr) -> Expr:
    """Return ``found`` with the exponents of ``truth`` where they agree to 1e-6, since blocks need equal exponents."""
    wanted = [power.exp for power in truth.atoms(Pow) if power.exp.is_Number and not power.exp.is_Integer]

    def with_wanted(power: Expr) -> Expr:
        near = [exponent for exponent in wanted if abs(power.exp - exponent) <= CONSTANT_TOLERANCE * abs(exponent)]
        return Pow(power.base, near[0]) if near else power

    return found.replace(lambda part: part.is_Pow and part.exp.is_Float, with_wanted) if wanted else found


def same_structure(found: Expr, truth: Expr, symbols: Sequence[Symbol], x: Array, effort: Effort = JUDGEMENT) -> bool:
    """Return whether both are the same fraction over the same building blocks; False if undecided."""
    if max(node_count(found), node_count(truth)) > effort.most_nodes:
        return False
    try:
        with allowing(effort.steps):
            return _cross_products_agree(found, truth, Workspace(symbols, x))
    except (OutOfSteps, RecursionError, *ARITHMETIC_FAILURES):
        return False


def _cross_products_agree(found: Expr, truth: Expr, workspace: Workspace) -> bool:
    region = Region(workspace, [truth, found], CONSTANT_TOLERANCE)
    true_above, true_key = region.together(region.read(truth))
    found_above, found_key = region.together(region.read(found))
    left = P.multiply(true_above, region.expanded(found_key))
    right = P.multiply(found_above, region.expanded(true_key))
    return _same_coefficients(left, right)


def _same_coefficients(left: Poly, right: Poly) -> bool:
    top = max((abs(value) for value in (*left.values(), *right.values())), default=0.0)
    for monomial in left.keys() | right.keys():
        a, b = left.get(monomial, 0.0), right.get(monomial, 0.0)
        # The rounding error left of a cancelled term is small compared with the largest coefficient.
        if abs(a - b) > max(2.0 * CONSTANT_TOLERANCE * max(abs(a), abs(b)), LEFTOVER * top):
            return False
    return True
