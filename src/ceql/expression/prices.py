"""What it takes to say a formula, in nats: the prior of the criterion.

Operators cost minus the logarithm of how often they occur in formulas of science; those of functions stand with the
functions. A whole number or a fraction p/q costs the logarithm of |p| q, since as many others are as simple; a function
inside a function costs extra, since laws seldom have that. Decimal constants are paid for by the criterion, which knows
the rows that determine them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Any

from sympy import Add, E, Float, Mul, Pow, Rational, exp, fraction
from sympy import log as log_function

from ceql.expression.symbolic import Expr
from ceql.operators import functions


@dataclass(frozen=True)
class Prices:
    """All in nats. Twice their sum stands beside the misfit in the criterion."""

    leaf: float = 1.10  # a column or a number
    add: float = 1.78
    sub: float = 2.67
    mul: float = 0.99
    div: float = 1.88
    power: float = 2.44
    nested: float = 3.0  # a function inside a function, beside its own price
    whole_number: float = 1.0  # times the logarithm of |p| q,
    largest_number: float = 6.0  # but no more than this: a known constant such as 9.81 has its digits for nothing
    # A constant, times the logarithm of the rows. Half of it would do if the rows were independent and the formula the
    # only one that was tried; measured rows are neither.
    constant: float = 1.0
    few_rows: float = 1.0  # how far constants follow the noise of few rows: times rows log(rows/(rows - constants))
    # A decimal exponent, times the size of its logarithm: one of 0.07 is as rare as 1/14, and a logarithm is meant.
    exponent: float = 1.0
    # A law that has a name is said by its name: lines, powers, exponentials and saturation, which all sciences use; one
    # that every textbook has, one known beyond its field, and others.
    everyday_law: float = 2.0
    common_law: float = 4.0
    known_law: float = 8.0
    other_law: float = 12.0

    def of_law(self, known: int) -> float:
        """Of the name of a law, by how well it is known, from 1 to 4."""
        return (self.everyday_law, self.common_law, self.known_law, self.other_law)[known - 1]


PRICES = Prices()
_ANY_DECIMAL = Float(2.5)  # the price of a decimal does not depend on its digits
_NAMED_POWERS = {Rational(2): "square", Rational(3): "cube", Rational(1, 2): "sqrt"}


@lru_cache(maxsize=8192)
def structure_price(expression: Expr, prices: Prices = PRICES) -> float:
    """Of a formula but for its decimal constants, in the cheaper of two forms: log(x) + log(y) says log(x*y)."""
    forms = {expression, expression.replace(lambda node: node.is_Add, _with_one_logarithm)}
    return min(sum(_parts(form, False, prices)) for form in forms)


def _with_one_logarithm(total: Any) -> Any:
    """Whole multiples of logarithms in a sum, and its decimal constant, as the logarithm of a product."""
    parts = [(term, *term.as_coeff_Mul()) for term in total.args]
    joined = [
        (term, times, inner) for term, times, inner in parts if isinstance(inner, log_function) and times.is_Integer
    ]
    if len(joined) < 2:
        return total
    offsets = [term for term in total.args if isinstance(term, Float)]
    factors = [_ANY_DECIMAL] * len(offsets) + [Pow(inner.args[0], times) for _, times, inner in joined]
    gone = {term for term, _, _ in joined} | set(offsets)
    return Add(*(term for term in total.args if term not in gone), log_function(Mul(*factors)))


@lru_cache(maxsize=8192)
def exponents_price(expression: Expr, prices: Prices = PRICES) -> float:
    """Of the decimal exponents, beside the structure or the name: each once, however often it occurs."""
    powers = (power for power in expression.atoms(Pow) if isinstance(power.exp, Float) and power.exp != 0)
    return prices.exponent * sum(abs(log(size)) for size in {abs(float(power.exp)) for power in powers})


def _size(number: Any) -> float:
    return log(max(abs(int(number.p)) * int(number.q), 1))


def _parts(node: Any, is_inside: bool, prices: Prices) -> Iterator[float]:
    """Prices of the operators, columns and numbers as a reader sees them: a quotient is no power."""
    if not node.args:
        yield prices.leaf
        if node.is_Rational:
            yield min(prices.whole_number * _size(node), prices.largest_number)
    elif node.is_Add:
        yield from _parts_of_sum(node, is_inside, prices)
    elif node.is_Mul:
        yield from _parts_of_product(node, is_inside, prices)
    elif isinstance(node, Pow):
        yield from _parts_of_power(node, is_inside, prices)
    else:
        function = functions.of_kind(node.func)
        yield functions.RAREST if function is None else function.price
        yield prices.nested if is_inside else 0.0
        for inner in node.args:
            yield from _parts(inner, True, prices)


def _parts_of_sum(node: Any, is_inside: bool, prices: Prices) -> Iterator[float]:
    # A number comes first, since its sign is its own, then what is added, then what is taken off. SymPy's order would
    # make exp(x) - x a sum of -x and exp(x).
    terms = sorted(node.args, key=lambda term: (not term.is_Number, term.could_extract_minus_sign()))
    yield from _parts(terms[0], is_inside, prices)
    for term in terms[1:]:
        is_taken_off = term.could_extract_minus_sign()
        yield prices.sub if is_taken_off else prices.add
        yield from _parts(-term if is_taken_off else term, is_inside, prices)


def _parts_of_product(node: Any, is_inside: bool, prices: Prices) -> Iterator[float]:
    number, others = node.as_coeff_Mul(rational=True)
    if all(map(_is_above, Mul.make_args(others))):
        above, below = others, 1
    else:
        above, below = fraction(others, exact=True)  # exact: exp(-x) stays above the line
    if number in (1, -1):
        above = above if below == 1 else number * above
    elif above == 1:  # a number over something
        above = number
    else:  # before the fraction is taken apart: 4.905 is one number
        yield prices.mul
        yield from _parts(number, is_inside, prices)
        yield from _parts(others, is_inside, prices)
        return
    if below != 1:
        yield prices.div
        yield from _parts(above, is_inside, prices)
        yield from _parts(below, is_inside, prices)
        return
    factors = [factor for factor in node.args if factor != -1]
    yield prices.mul * (len(factors) - 1)
    for factor in factors:
        yield from _parts(factor, is_inside, prices)


def _is_above(factor: Any) -> bool:
    """Whether one sees without SymPy's `fraction`, which takes long, that no part of it is below the line."""
    if not isinstance(factor, (Pow, exp)):
        return not factor.is_Rational
    exponent = factor.as_base_exp()[1]
    return bool(exponent.free_symbols or (exponent.is_Number and exponent > 0))


def _parts_of_power(node: Any, is_inside: bool, prices: Prices) -> Iterator[float]:
    base, exponent = node.args
    if base is E:
        yield functions.get("exp").price
        yield prices.nested if is_inside else 0.0
        yield from _parts(exponent, True, prices)
    elif exponent.is_Rational and exponent.is_negative:
        yield prices.div + prices.leaf
        yield from _parts(Pow(base, -exponent), is_inside, prices)
    elif exponent in _NAMED_POWERS:
        yield functions.get(_NAMED_POWERS[exponent]).price
        yield from _parts(base, is_inside, prices)
    else:
        yield prices.power
        yield from _parts(base, is_inside, prices)
        yield from _parts(exponent, is_inside, prices)
