"""Small rewrites of the numbers in a formula: simplest factors, exponents and phases, or numbers made free again."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sympy import Add, Float, Mul, Pow, Rational, cos, sin

from ceql.expression.complexity import node_count
from ceql.expression.constants.rounding_policy import ROUNDING, RoundingPolicy
from ceql.expression.symbolic import Expr

TURN = 2.0 * math.pi


def with_factors_absorbed(expr: Expr) -> Expr:
    """Multiply decimal factors into a sum beside them if that makes the formula shorter.

    For example, 0.5*x*(2.1*x + 3.7) has one number too many.
    """

    def has_decimal_factor(part: Expr) -> bool:
        return isinstance(part, Mul) and isinstance(part.args[0], Float) and any(map(_is_sum, part.args[1:]))

    return expr.replace(has_decimal_factor, _absorbed)


def _absorbed(product: Expr) -> Expr:
    factor, *others = product.args
    forms = [product]
    for k, part in enumerate(others):
        if _is_sum(part):
            taken_in = _scaled(part, factor) if isinstance(part, Add) else _scaled(part.base, 1 / factor) ** -1
            forms.append(Mul(*others[:k], taken_in, *others[k + 1 :]))
    return min(forms, key=node_count)


def _is_sum(part: Expr) -> bool:
    return isinstance(part, Add) or (isinstance(part, Pow) and part.exp == -1 and isinstance(part.base, Add))


def _scaled(total: Expr, factor: Expr) -> Expr:
    return Add(*(factor * term for term in total.args))


def with_simple_exponents(expr: Expr, accuracy: float, policy: RoundingPolicy = ROUNDING) -> Expr:
    """Write decimal exponents as simple fractions if they agree to the given accuracy: x**0.5 becomes a square root.

    A power of a fitted logarithm has a decimal exponent.
    """

    def simple(value: float) -> Fraction | None:
        near = Fraction(value).limit_denominator(policy.exponent_denominator)
        return near if abs(value - float(near)) <= 100.0 * accuracy * abs(value) else None

    return with_exponents(expr, simple)


def with_exponents(expr: Expr, fraction_of: Callable[[float], Fraction | None]) -> Expr:
    """Replace every decimal exponent by its fraction, if there is one that is not zero."""

    def replaced(power: Expr) -> Expr:
        fraction = fraction_of(float(power.exp))
        return power.base ** Rational(fraction.numerator, fraction.denominator) if fraction else power

    return expr.replace(lambda part: isinstance(part, Pow) and isinstance(part.exp, Float), replaced)


def with_small_phases(expr: Expr) -> Expr:
    """Remove whole turns inside sines and cosines: sin(2.1*x - 12.17) becomes sin(2.1*x + 0.4)."""
    turned = {wave: wave.func(_less_turns(wave.args[0])) for wave in expr.atoms(sin, cos)}
    changed = {wave: new for wave, new in turned.items() if new != wave}
    return expr.xreplace(changed) if changed else expr


def _less_turns(argument: Expr) -> Expr:
    phases = [term for term in Add.make_args(argument) if isinstance(term, Float)]
    turns = round(float(phases[0]) / TURN) if len(phases) == 1 and isinstance(argument, Add) else 0
    return argument - phases[0] + Float(float(phases[0]) - turns * TURN) if turns else argument


def loosened(expr: Expr) -> Expr:
    """Write whole numbers and fractions as decimals, which a refit may change; exponents stay exact."""
    if isinstance(expr, Rational):
        return Float(expr)
    if not expr.args:
        return expr
    if isinstance(expr, Pow):
        return Pow(loosened(expr.base), expr.exp)
    parts = [loosened(argument) for argument in expr.args]
    if isinstance(expr, Add):  # terms without a coefficient get 1.0, which is free as well
        parts = [term if term.as_coeff_Mul()[0] != 1 else Float(1.0) * term for term in parts]
    return expr.func(*parts)
