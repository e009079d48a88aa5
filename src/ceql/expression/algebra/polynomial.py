"""Sparse polynomials with float coefficients: the arithmetic behind the rewrites.

A polynomial maps exponent tuples to coefficients.  Every sum remembers how large its parts were, so
that what is left of a cancellation by rounding is dropped instead of becoming a false term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

from ceql.expression.algebra.effort import charge
from ceql.expression.algebra.precision import accuracy

Monomial = tuple[int, ...]
Poly = dict[Monomial, float]
MonomialOrder = Callable[[Monomial], tuple]

MOST_TERMS = 400
MOST_TERMS_LEFT = 4 * MOST_TERMS  # most terms of a remainder during a division
HIGHEST_DEGREE = 40
PRODUCT = 2  # steps for one term times another


class TooLarge(ArithmeticError):
    """A product would have more terms than is useful for a readable formula."""


class _Accumulator:
    """Adds contributions per monomial and knows which sums are only rounding."""

    def __init__(self) -> None:
        self._cancellation = accuracy(10.0)
        self._sums: Poly = {}
        self._sizes: Poly = {}

    def add(self, monomial: Monomial, value: float) -> None:
        self._sums[monomial] = self._sums.get(monomial, 0.0) + value
        self._sizes[monomial] = self._sizes.get(monomial, 0.0) + abs(value)

    def is_rounding(self, monomial: Monomial) -> bool:
        return abs(self._sums[monomial]) <= self._cancellation * self._sizes[monomial]

    def take(self, monomial: Monomial) -> float:
        self._sizes.pop(monomial)
        return self._sums.pop(monomial)

    @property
    def monomials(self) -> Iterable[Monomial]:
        return self._sums.keys()

    def result(self) -> Poly:
        if len(self._sums) > MOST_TERMS:
            raise TooLarge
        return {monomial: value for monomial, value in self._sums.items() if not self.is_rounding(monomial)}


def constant(value: float, width: int) -> Poly:
    return {(0,) * width: value} if value else {}


def variable(index: int, width: int, exponent: int = 1) -> Poly:
    return {power_of(index, width, exponent): 1.0}


def power_of(index: int, width: int, exponent: int) -> Monomial:
    return tuple(exponent if position == index else 0 for position in range(width))


def add(*polys: Poly) -> Poly:
    charge(sum(map(len, polys)))
    total = _Accumulator()
    for poly in polys:
        for monomial, value in poly.items():
            total.add(monomial, value)
    return total.result()


def scale(poly: Poly, factor: float) -> Poly:
    return {monomial: value * factor for monomial, value in poly.items()}


def multiply(left: Poly, right: Poly) -> Poly:
    if len(left) * len(right) > 40 * MOST_TERMS:
        raise TooLarge
    charge(PRODUCT * len(left) * len(right))
    total = _Accumulator()
    for first, a in left.items():
        for second, b in right.items():
            total.add(times(first, second), a * b)
    return total.result()


def product(polys: Iterable[Poly], width: int) -> Poly:
    return reduce(multiply, polys, constant(1.0, width))


def power(poly: Poly, exponent: int, width: int) -> Poly:
    if exponent * degree(poly) > HIGHEST_DEGREE:
        raise TooLarge
    return product([poly] * exponent, width)


def times(first: Monomial, second: Monomial) -> Monomial:
    return tuple(a + b for a, b in zip(first, second, strict=True))


def over(first: Monomial, second: Monomial) -> Monomial | None:
    """Return first / second, or None if that is not a monomial."""
    quotient = tuple(a - b for a, b in zip(first, second, strict=True))
    return None if min(quotient, default=0) < 0 else quotient


def degree(poly: Poly) -> int:
    return max((sum(monomial) for monomial in poly), default=0)


def degree_in(poly: Poly, index: int) -> int:
    return max((monomial[index] for monomial in poly), default=0)


def variables_of(poly: Poly) -> list[int]:
    width = len(next(iter(poly), ()))
    return [index for index in range(width) if any(monomial[index] for monomial in poly)]


def is_constant(poly: Poly) -> bool:
    return not any(any(monomial) for monomial in poly)


def without_content(poly: Poly) -> tuple[Monomial, Poly]:
    """Return the largest monomial that divides every term, and the polynomial divided by it."""
    common = tuple(min(column) for column in zip(*poly, strict=True))
    return common, {tuple(a - b for a, b in zip(m, common, strict=True)): v for m, v in poly.items()}


def graded(monomial: Monomial) -> tuple:
    return (sum(monomial), monomial)


def first_in(index: int) -> MonomialOrder:
    """Return the monomial order that compares one variable before the rest."""
    return lambda monomial: (monomial[index], sum(monomial), monomial)


def leading(poly: Poly, order: MonomialOrder = graded) -> tuple[Monomial, float]:
    top = max(poly, key=order)
    return top, poly[top]


def monic(poly: Poly) -> tuple[float, Poly]:
    """The leading coefficient and the polynomial divided by it."""
    _, factor = leading(poly)
    return factor, scale(poly, 1.0 / factor)


def divide(numerator: Poly, denominator: Poly, order: MonomialOrder = graded) -> tuple[Poly, Poly]:
    """Quotient and remainder; no term of the remainder is divisible by the leading term."""
    lead, lead_value = leading(denominator, order)
    rest = _Accumulator()
    for monomial, value in numerator.items():
        rest.add(monomial, value)
    quotient: Poly = {}
    remainder: Poly = {}
    while True:
        monomials = list(rest.monomials)
        if not monomials:
            return quotient, remainder
        if len(monomials) > MOST_TERMS_LEFT:
            raise TooLarge
        charge(len(monomials) + PRODUCT * len(denominator))
        top = max(monomials, key=order)
        if rest.is_rounding(top):
            rest.take(top)
            continue
        shift = over(top, lead)
        if shift is None:
            remainder[top] = rest.take(top)
            continue
        if len(quotient) > MOST_TERMS:
            raise TooLarge
        factor = rest.take(top) / lead_value
        quotient[shift] = quotient.get(shift, 0.0) + factor
        for monomial, value in denominator.items():
            if monomial != lead:
                rest.add(times(monomial, shift), -factor * value)


def divides(denominator: Poly, numerator: Poly) -> Poly | None:
    """The exact quotient, or None when there is a remainder."""
    lead, _ = leading(denominator)
    if over(leading(numerator)[0], lead) is None:
        return None
    quotient, remainder = divide(numerator, denominator)
    return None if remainder else quotient


def coefficients_in(poly: Poly, index: int) -> dict[int, Poly]:
    """Return the coefficients, which are polynomials in the other variables, by the powers of one variable."""
    parts: dict[int, Poly] = {}
    for monomial, value in poly.items():
        rest = (*monomial[:index], 0, *monomial[index + 1 :])
        parts.setdefault(monomial[index], {})[rest] = value
    return parts


def close(left: Poly, right: Poly, tolerance: float) -> bool:
    """Return whether all coefficients agree to the relative tolerance (of the largest one for small ones)."""
    top = max((abs(value) for value in (*left.values(), *right.values())), default=0.0)
    for monomial in left.keys() | right.keys():
        a, b = left.get(monomial, 0.0), right.get(monomial, 0.0)
        if abs(a - b) > tolerance * max(abs(a), abs(b), 1e-6 * top):
            return False
    return True


def evaluate(poly: Poly, point: list[float]) -> float:
    total = 0.0
    for monomial, value in poly.items():
        term = value
        for coordinate, exponent in zip(point, monomial, strict=True):
            if exponent:
                term *= coordinate**exponent
        total += term
    return total


def derivative(poly: Poly, index: int) -> Poly:
    result: Poly = {}
    for monomial, value in poly.items():
        exponent = monomial[index]
        if exponent:
            result[(*monomial[:index], exponent - 1, *monomial[index + 1 :])] = value * exponent
    return result
