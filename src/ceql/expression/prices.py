"""The description length of a formula in nats, which is the prior of the criterion.

The price of an operator is minus the logarithm of its frequency in formulas of science; those of functions are defined
with the functions. A whole number or a fraction p/q costs the logarithm of |p| q, since that many others are equally
simple. A function inside a function costs extra, since that is rare in laws. Decimal constants are priced by the
criterion, which knows the rows that determine them.
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
    """Costs in nats. Twice their sum is added to the misfit in the criterion."""

    leaf: float = 1.10  # a column or a number
    add: float = 1.78
    sub: float = 2.67
    mul: float = 0.99
    div: float = 1.88
    power: float = 2.44
    nested: float = 3.0  # surcharge for a function inside a function
    whole_number: float = 1.0  # times log(|p| q), for a whole number or fraction p/q
    largest_number: float = 6.0  # upper limit of that cost: a known constant such as 9.81 has its digits for free
    # A constant costs this times the logarithm of the rows. Half of it would do if the rows were independent and this
    # were the only formula tried, but measured rows are not independent and many formulas are tried.
    constant: float = 1.0
    few_rows: float = 1.0  # factor of rows * log(rows/(rows - constants)): with few rows, constants follow the noise
    # A decimal exponent costs this times |log(exponent)|: one of 0.07 is as rare as 1/14, and suggests a logarithm.
    exponent: float = 1.0
    # A named law costs its name only: lines, powers, exponentials and saturation, used in all sciences; laws that every
    # textbook has; laws known beyond their field; all others.
    everyday_law: float = 2.0
    common_law: float = 4.0
    known_law: float = 8.0
    other_law: float = 12.0

    def of_law(self, known: int) -> float:
        """Return the price of a law's name, by how well it is known, from 1 (best) to 4."""
        return (self.everyday_law, self.common_law, self.known_law, self.other_law)[known - 1]


PRICES = Prices()
_ANY_DECIMAL = Float(2.5)  # the price of a decimal does not depend on its digits
_NAMED_POWERS = {Rational(2): "square", Rational(3): "cube", Rational(1, 2): "sqrt"}


@lru_cache(maxsize=8192)
def structure_price(expression: Expr, prices: Prices = PRICES) -> float:
    """Return the price of a formula without its decimal constants. It is priced in the cheaper of two forms, so that
    log(x) + log(y) costs no more than log(x*y)."""
    forms = {expression, expression.replace(lambda node: node.is_Add, _with_one_logarithm)}
    return min(sum(_parts(form, False, prices)) for form in forms)


def _with_one_logarithm(total: Any) -> Any:
    """Join whole multiples of logarithms in a sum, and its decimal constant, to the logarithm of a product."""
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
    """Return the price of the decimal exponents, in addition to structure or name; each counts once."""
    powers = (power for power in expression.atoms(Pow) if isinstance(power.exp, Float) and power.exp != 0)
    return prices.exponent * sum(abs(log(size)) for size in {abs(float(power.exp)) for power in powers})


def _size(number: Any) -> float:
    return log(max(abs(int(number.p)) * int(number.q), 1))


def _parts(node: Any, is_inside: bool, prices: Prices) -> Iterator[float]:
    """Yield the prices of operators, columns and numbers as a reader sees them: a quotient is not a power."""
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
    # Numbers come first, since they include their sign, then added terms, then subtracted ones. In SymPy's order,
    # exp(x) - x would be the sum of -x and exp(x).
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
        above, below = fraction(others, exact=True)  # exact: exp(-x) stays in the numerator
    if number in (1, -1):
        above = above if below == 1 else number * above
    elif above == 1:  # a number over something
        above = number
    else:  # price the number as a whole, before the fraction is split: 4.905 is one number
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
    """Return whether it clearly has no part in the denominator, which avoids SymPy's slow `fraction`."""
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
