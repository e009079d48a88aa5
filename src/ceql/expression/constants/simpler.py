"""Simpler variants of a formula for noisy data: simple exponents, one number instead of two, no idle factor or phase.

Noise moves every fitted number a little. So 1.505 in place of 3/2, or two numbers that differ by less than their
errors, fit slightly better than the true law. So the simpler formula is proposed as well, and a criterion decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

from sympy import (
    Add,
    Float,
    Integer,
    Mul,
    Rational,
    Symbol,
    cos,
    expand_power_base,
    factor_terms,
    nan,
    oo,
    pi,
    sin,
    zoo,
)

from ceql.expression.constants.parametrise import Parametrised, parametrise
from ceql.expression.constants.rewrites import with_exponents
from ceql.expression.constants.rounding_policy import ROUNDING, RoundingPolicy
from ceql.expression.symbolic import Expr

Constants = Sequence[tuple[float, float]]  # value and standard error of each, in the order of `parametrise`


def relatives(
    expr: Expr, constants: Constants, has_too_many: bool = False, policy: RoundingPolicy = ROUNDING
) -> list[Expr]:
    """Return variants with some simpler numbers and the others unchanged, which still have to be fitted and judged.

    With `has_too_many` numbers for the rows, factors that may be 1 are also removed.
    """
    simple = with_halves(expr, policy)
    found = [] if simple == expr else [simple]
    if not 1 <= len(constants) <= policy.most_numbers:
        return found
    form = parametrise(expr)
    found += dict.fromkeys(_tied(form, constants, policy))
    found += dict.fromkeys(_in_quarter_turns(form, constants, policy))
    if has_too_many:
        found += _without_factors(form, constants, policy)
    return found


def with_simple_numbers(expr: Expr, constants: Constants, policy: RoundingPolicy = ROUNDING) -> list[Expr]:
    """Return variants with zero, whole numbers or simple fractions in place of one number, and of all that may be such.

    They still have to be fitted and judged. Once one number is fixed, the others are known more accurately.
    """
    if not 1 <= len(constants) <= policy.most_numbers:
        return []
    form = parametrise(expr)
    near = {s: _simple(*known, policy) for s, known in zip(form.symbols, constants, strict=True)}
    simple = {symbol: number for symbol, number in near.items() if number is not None}
    single = [{symbol: number} for symbol, number in simple.items()]
    found = (form.expr.xreplace(_values(form) | some) for some in ([*single, simple] if len(single) > 1 else single))
    return [one for one in dict.fromkeys(found) if one.free_symbols and not one.has(zoo, nan, oo)]


def _simple(value: float, error: float, policy: RoundingPolicy) -> Expr | None:
    """Return the simplest number within the error; None if numbers that simple are too dense to be significant."""
    reach = policy.simple_reach * error
    if not math.isfinite(reach) or reach <= 0.0:
        return None
    if abs(value) <= reach:
        return Integer(0)
    near = (Fraction(round(value * below), below) for below in range(1, policy.largest_below + 1))
    within = [number for number in near if number and abs(float(number) - value) <= reach]
    number = min(within, key=_length, default=None)
    if number is None or 2.0 * reach * _length(number) > policy.simple_chance * abs(value):
        return None
    return Rational(number.numerator, number.denominator)


def _length(number: Fraction) -> int:
    """Return about how many numbers between it and twice its value are equally simple."""
    return abs(number.numerator) * number.denominator


def with_halves(expr: Expr, policy: RoundingPolicy = ROUNDING) -> Expr:
    """Replace decimal exponents by multiples of a half that are near them."""

    def half(value: float) -> Fraction | None:
        near = Fraction(round(2.0 * value), 2)
        return near if abs(value - float(near)) <= policy.near_half else None

    return with_exponents(expr, half)


def _tied(form: Parametrised, constants: Constants, policy: RoundingPolicy) -> Iterator[Expr]:
    """Yield variants in which a number is replaced by a small whole multiple of another, or by an equal one."""
    numbers = list(zip(form.symbols, constants, strict=True))
    for (i, (one, (first, error))), (j, (other, (second, other_error))) in permutations(enumerate(numbers), 2):
        ratio = round(second / first) if abs(second) < (policy.largest_ratio + 0.5) * abs(first) else 0
        doubt = policy.errors_apart * (abs(ratio) * error + other_error)
        is_new = i < j or abs(ratio) > 1  # pairs of equal numbers occur twice
        if ratio and is_new and abs(ratio * first - second) <= doubt <= policy.notable * abs(first):
            expr = _with_one_number(form, one, other, ratio)
            if len(parametrise(expr).symbols) < len(form.symbols):
                yield expr


def _with_one_number(form: Parametrised, one: Symbol, other: Symbol, ratio: int) -> Expr:
    """Express the second number by the first; the formula has fewer numbers only if they can be factored out."""
    factored = factor_terms(form.expr.xreplace({other: ratio * one}))
    # 1/(c*(1 - x)) becomes (1/c)/(1 - x): SymPy would multiply c*(1 - x) out.
    return expand_power_base(factored, force=True).xreplace(_values(form))


def _in_quarter_turns(form: Parametrised, constants: Constants, policy: RoundingPolicy) -> Iterator[Expr]:
    """Yield variants in which a phase within its error of a multiple of a quarter turn is replaced by that multiple."""
    for wave in sorted(form.expr.atoms(sin, cos), key=str):
        parts = Add.make_args(wave.args[0])
        for phase, (value, error) in zip(form.symbols, constants, strict=True):
            if phase not in parts:
                continue
            turns = round(2.0 * value / math.pi)
            if abs(value - turns * math.pi / 2.0) <= policy.errors_apart * error < math.pi / 4.0:
                plain = wave.func(wave.args[0] - phase + turns * pi / 2)
                yield form.expr.xreplace({wave: plain}).xreplace(_values(form))


def _without_factors(form: Parametrised, constants: Constants, policy: RoundingPolicy) -> Iterator[Expr]:
    factors = {part for product in form.expr.atoms(Mul) for part in product.args}
    for symbol, (value, error) in zip(form.symbols, constants, strict=True):
        for one in (1, -1) if symbol in factors else ():
            if abs(value - one) <= policy.errors_apart * error < abs(value):
                yield form.expr.xreplace({**_values(form), symbol: Integer(one)})


def _values(form: Parametrised) -> dict[Symbol, Float]:
    return {symbol: Float(float(value)) for symbol, value in zip(form.symbols, form.values, strict=True)}
