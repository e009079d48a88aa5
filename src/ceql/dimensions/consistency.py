"""Whether a formula is dimensionally possible, and which dimensions its numbers then have.

The dimension of every part of a formula is linear in those of the numbers in it. Terms of a sum must have equal
dimensions; arguments of functions and exponents must have none. This gives a system of linear equations with fractional
coefficients. A formula is possible if the system has a solution in which the numbers have dimensions that they may
have: any, none, or those that named constants provide. No numbers are added in thought: exp(x) of a length is
impossible, but in exp(2.0*x) the number may have the unit 1/m. A logarithm plus a number counts as a logarithm of a
multiple, so log(x) + 1.2 is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy

from ceql.dimensions.dimension import Dimension, exponent_of
from ceql.dimensions.elimination import coordinates, independent, solved
from ceql.dimensions.quantities import Dimensions
from ceql.operators import functions

Form = dict[Any, Fraction]  # exponents by base quantity, and by number or column of unknown dimension
_LIKE = (sympy.Max, sympy.Min)
_LARGEST_ROOT = 12


@dataclass(frozen=True)
class _Free:
    """An unknown dimension: of a number, identified by its place, or of a column without a unit."""

    key: Any
    is_column: bool = False


class _Impossible(Exception):
    """Raised for a part of a formula that cannot have a dimension."""


@dataclass(frozen=True)
class Rule:
    """Decides which formulas are dimensionally possible for these columns, target and constants."""

    dimensions: Dimensions

    def allows(self, expression: Any) -> bool:
        """Whether the formula is possible with some dimensions for its numbers."""
        found = _demands(expression, self._columns, self._target, {})
        return found is not None and self._solved(found) is not None

    def dimensions_of(self, expression: Any, numbers: Mapping[Any, Any]) -> dict[Any, Dimension] | None:
        """The dimensions of the symbols that stand for numbers with these values; None if the formula is impossible.

        What is not determined is dimensionless; whole numbers have a dimension only if there is no other way.
        """
        found = _demands(expression, self._columns, self._target, numbers)
        return None if found is None else self._solved(found)

    @cached_property
    def _columns(self) -> dict[str, Form | None]:
        return {
            quantity.name: None if quantity.dimension is None else dict(quantity.dimension.exponents)
            for quantity in self.dimensions.columns
        }

    @cached_property
    def _target(self) -> Form | None:
        dimension = self.dimensions.target.dimension
        return None if dimension is None else dict(dimension.exponents)

    @cached_property
    def _axes(self) -> tuple[list[tuple[Fraction, ...]], int]:
        """A basis of all dimensions, and how many of its first vectors span the dimensions that numbers may have."""
        bases = self.dimensions.bases
        units = [tuple(Fraction(int(a == b)) for a in bases) for b in bases]
        if self.dimensions.free_constants:
            return units, len(units)
        own = [(constant.dimension or Dimension()).along(bases) for constant in self.dimensions.constants]
        both = [*own, *units]
        kept = independent(both)
        return [both[k] for k in kept], sum(k < len(own) for k in kept)

    def _solved(self, demands: list[Form]) -> dict[Any, Dimension] | None:
        """Dimensions of the numbers that satisfy all demands; None if there are none."""
        bases = self.dimensions.bases
        axes, spanned = self._axes
        fixed = coordinates(axes, [[-demand.get(base, Fraction(0)) for base in bases] for demand in demands])
        if fixed is None:
            return None
        free = _ordered({key for demand in demands for key in demand if isinstance(key, _Free)})
        columns = [key for key in free if key.is_column]
        vectors: dict[Any, list[Fraction]] = {key: [Fraction(0)] * len(bases) for key in free}
        for unknown, own in ((free, range(spanned)), (columns, range(spanned, len(axes)))):
            rows = [
                [*(demand.get(key, Fraction(0)) for key in unknown), *(right[k] for k in own)]
                for demand, right in zip(demands, fixed, strict=True)
            ]
            found = solved(rows, len(unknown))
            if found is None:
                return None
            for k, solution in zip(own, found, strict=False):
                for key, share in zip(unknown, solution, strict=True):
                    vectors[key] = [a + share * b for a, b in zip(vectors[key], axes[k], strict=True)]
        named = {key.key: vector for key, vector in vectors.items() if not key.is_column}
        return {key: Dimension.of(dict(zip(bases, vector, strict=True))) for key, vector in named.items()}


def _ordered(free: set[_Free]) -> list[_Free]:
    """Symbols before whole numbers, so that the latter get a dimension only if there is no other way."""
    return sorted(free, key=lambda key: (isinstance(key.key, int), str(key.key)))


def _demands(
    expression: Any, columns: Mapping[str, Form | None], target: Form | None, numbers: Mapping[Any, Any]
) -> list[Form] | None:
    """The dimensions that must vanish for the formula to be possible; None if it is impossible in any case."""
    walk = _Walk(columns, numbers)
    try:
        whole = walk.of(expression)
    except _Impossible:
        return None
    if whole is not None and target is not None:
        walk.require_same(whole, target)
    return walk.demands


class _Walk:
    """Walks through a formula and collects the dimensions that must vanish."""

    def __init__(self, columns: Mapping[str, Form | None], numbers: Mapping[Any, Any]) -> None:
        self._columns, self._numbers = columns, dict(numbers)
        self._count = 0
        self.demands: list[Form] = []

    def of(self, part: Any) -> Form | None:
        """The dimension of a part; None for zero, which may have any."""
        if part in self._numbers:
            return {_Free(part): Fraction(1)}
        if part.is_Symbol:
            known = self._columns.get(part.name)
            return {_Free(part.name, is_column=True): Fraction(1)} if known is None else known
        if part.is_number:
            return None if part.is_zero else self._number()
        if part.is_Add:
            return self._sum(part)
        if part.is_Mul:
            return self._product(part)
        if part.is_Pow and part.exp.free_symbols <= self._numbers.keys():
            self.require_none(part.exp)
            return _times(self.of(part.base), self._exponent(part.exp))
        if isinstance(part, sympy.Abs):
            return self.of(part.args[0])
        function = functions.of_kind(part.func)
        if function is not None and function.degree is not None:
            return _times(self.of(part.args[0]), Fraction(function.degree).limit_denominator(_LARGEST_ROOT))
        if isinstance(part, _LIKE):
            return self._like(map(self.of, part.args))
        for argument in part.args:  # of a function, or a power with a formula in its exponent
            self.require_none(argument)
        return {}

    def require_none(self, part: Any) -> None:
        if part.is_number:
            return
        form = self.of(part)
        if form:
            self.demands.append(form)

    def require_same(self, one: Form, other: Form) -> None:
        difference = _plus(one, _times(other, Fraction(-1)) or {})
        if difference:
            self.demands.append(difference)

    def _number(self) -> Form:
        self._count += 1
        return {_Free(self._count): Fraction(1)}

    def _product(self, part: Any) -> Form | None:
        total: Form = {}
        has_number = False
        for factor in part.args:
            if factor.is_number:
                has_number = has_number or abs(factor) != 1
                continue
            own = self.of(factor)
            if own is None:
                return None
            total = _plus(total, own)
        return _plus(total, self._number()) if has_number else total

    def _sum(self, part: Any) -> Form | None:
        logs = [found for term in part.args if (found := self._logarithm(term)) is not None]
        others = [term for term in part.args if self._logarithm(term) is None]
        has_number = any(self._is_number(term) for term in others)
        if not logs or (not has_number and len(logs) < 2):
            return self._like(map(self.of, part.args))
        whole = self._like([*map(self.of, others), *(self._factor(factor) for factor, _ in logs)])
        inside = [(factor, self.of(argument) or {}) for factor, argument in logs]
        if has_number:  # a logarithm of a multiple
            for _, form in inside:
                self.require_same(form, self._number())
            return whole
        together: Form = {}  # log(a) - log(b) is a logarithm of a ratio
        for factor, form in inside:
            together = _plus(together, _times(form, self._exponent(factor)) or {})
        self.demands += [together] if together else []
        return whole

    def _like(self, forms: Iterable[Form | None]) -> Form | None:
        known = [form for form in forms if form is not None]
        for other in known[1:]:
            self.require_same(known[0], other)
        return known[0] if known else None

    def _is_number(self, part: Any) -> bool:
        return bool(part.is_number or part in self._numbers)

    def _factor(self, number: Any) -> Form:
        if number in self._numbers:
            return {_Free(number): Fraction(1)}
        return {} if abs(number) == 1 else self._number()

    def _logarithm(self, term: Any) -> tuple[Any, Any] | None:
        """The factor and the argument if the term is a number times a logarithm; otherwise None."""
        factor, rest = term.as_independent(sympy.log, as_Add=False)
        return (factor, rest.args[0]) if isinstance(rest, sympy.log) and self._is_number(factor) else None

    def _exponent(self, number: Any) -> Fraction:
        number = number.xreplace(self._numbers)
        if number.is_Rational:
            return Fraction(int(number.p), int(number.q))
        if not number.is_real:
            raise _Impossible
        return exponent_of(float(number))


def _plus(one: Form, other: Form) -> Form:
    total = dict(one)
    for key, power in other.items():
        total[key] = total.get(key, Fraction(0)) + power
    return {key: power for key, power in total.items() if power}


def _times(form: Form | None, factor: Fraction) -> Form | None:
    return None if form is None else {key: power * factor for key, power in form.items() if power * factor}
