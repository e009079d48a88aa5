"""Whether the numbers of a formula need no explanation: simple ones, or these times powers of named constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import isfinite, pi
from typing import Any

import sympy

from ceql.dimensions.consistency import Rule
from ceql.dimensions.dimension import Dimension, product_text
from ceql.dimensions.elimination import coordinates, rank
from ceql.dimensions.quantities import Quantity
from ceql.expression.constants.parametrise import parametrise


@dataclass(frozen=True)
class SimplePolicy:
    """The numbers that count as simple."""

    largest: int = 128  # largest numerator and denominator of a fraction, or of a fraction under a root
    powers_of_pi: tuple[int, ...] = (0, 1, -1, 2, -2, 3, -3)  # powers of pi that may multiply it
    accuracy: float = 1e-9  # relative accuracy to which a number must agree with a simple one
    constants: int = 3  # most named constants in a number


VERY_SIMPLE = SimplePolicy(largest=8, powers_of_pi=(0, 1, -1), constants=2)


@dataclass(frozen=True)
class Explanation:
    """A number as a simple one times powers of named constants."""

    simple: Simple
    constants: tuple[tuple[str, Fraction], ...] = ()

    def __str__(self) -> str:
        return self.simple.times(self.constants)


def is_explained(rule: Rule, expression: Any, policy: SimplePolicy = SimplePolicy()) -> bool:
    """Whether each decimal is simple, or a simple number times powers of the constants that its dimension requires."""
    whole = _coherent(rule, expression)
    form = parametrise(whole)
    values = dict(zip(form.symbols, map(float, form.values), strict=True))
    found = rule.dimensions_of(form.expr, {symbol: sympy.Float(value) for symbol, value in values.items()})
    if found is None:
        return False
    constants = rule.dimensions.constants
    given = [(value, found.get(symbol, Dimension())) for symbol, value in values.items()]
    return all(explanation(value, own, constants, policy) is not None for value, own in given)


def explanation(
    value: float, dimension: Dimension, constants: Sequence[Quantity], policy: SimplePolicy = SimplePolicy()
) -> Explanation | None:
    """The number, given in coherent units, as a simple one times powers of as few constants as possible; None if it
    is not."""
    for size, powers in _products(dimension, constants, policy):
        found = simple(value / size, policy) if size and isfinite(size) else None
        if found is not None:
            return Explanation(found, powers)
    return None


@dataclass(frozen=True)
class Simple:
    """A fraction times a power of pi, or the square root of that."""

    fraction: Fraction
    is_root: bool = False
    power_of_pi: int = 0
    is_negative: bool = False

    @property
    def number(self) -> Any:
        """The number as a SymPy expression."""
        size = sympy.Rational(self.fraction.numerator, self.fraction.denominator) * sympy.pi**self.power_of_pi
        size = sympy.sqrt(size) if self.is_root else size
        return -size if self.is_negative else size

    def times(self, others: Sequence[tuple[str, Fraction]] = ()) -> str:
        """The number times these named powers, as text."""
        above, below = self.fraction.numerator, self.fraction.denominator
        numbers = [(str(number), Fraction(sign)) for number, sign in ((above, 1), (below, -1)) if number != 1]
        known = [*numbers, *([("pi", Fraction(self.power_of_pi))] if self.power_of_pi else [])]
        if self.is_root:
            known = [(f"sqrt({product_text(known) or '1'})", Fraction(1))]
        return f"{'-' if self.is_negative else ''}{product_text([*known, *others]) or '1'}"


def simple(value: float, policy: SimplePolicy = SimplePolicy()) -> Simple | None:
    """The value as a simple number; None if it is not one."""
    if not value or not isfinite(value):
        return None
    for power in policy.powers_of_pi:
        for is_root in (False, True):
            near = _fraction((value * value if is_root else abs(value)) / pi**power, policy)
            if near is not None:
                return Simple(near, is_root, power, value < 0)
    return None


def simple_number(value: float, accuracy: float) -> Any:
    """The value as a simple SymPy number, matched to this accuracy; None if it is not one."""
    found = simple(value, replace(SimplePolicy(), accuracy=accuracy))
    return None if found is None else found.number


def _fraction(value: float, policy: SimplePolicy) -> Fraction | None:
    near = Fraction(value).limit_denominator(policy.largest)
    is_close = abs(float(near) - value) <= policy.accuracy * value
    return near if is_close and 0 < near.numerator <= policy.largest else None


def _products(
    dimension: Dimension, constants: Sequence[Quantity], policy: SimplePolicy
) -> Iterator[tuple[float, tuple[tuple[str, Fraction], ...]]]:
    """Products of powers of constants that have this dimension, those of fewest constants first."""
    bases = tuple(sorted({base for d in (dimension, *_of(constants)) for base, _ in d.exponents}))
    wanted = dimension.along(bases)
    for count in range(policy.constants + 1):
        for chosen in combinations(constants, count):
            vectors = [own.along(bases) for own in _of(chosen)]
            if rank(vectors) < count:
                continue
            found = coordinates(vectors, [wanted])
            if found is None or not all(found[0]):
                continue
            size = 1.0
            for constant, power in zip(chosen, found[0], strict=True):
                size *= constant.size ** float(power)
            yield size, tuple((constant.name, power) for constant, power in zip(chosen, found[0], strict=True))


def _of(constants: Sequence[Quantity]) -> list[Dimension]:
    return [constant.dimension or Dimension() for constant in constants]


def _coherent(rule: Rule, expression: Any) -> Any:
    """The formula rewritten for columns and target in coherent units."""
    given, target = rule.dimensions.columns, rule.dimensions.target
    by_name = {quantity.name: quantity for quantity in given if quantity.factor != 1.0 or quantity.offset}
    symbols = {s: by_name[s.name] for s in expression.free_symbols if s.name in by_name}
    turned = expression.xreplace({s: (s - own.offset) / own.factor for s, own in symbols.items()})
    return target.factor * turned + target.offset if target.factor != 1.0 or target.offset else turned
