"""A required property of the shape of a formula, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kinds of shapes; the value is the word that their text begins with, if there is one."""

    ABOVE = "above"  # f > value, or f >= value
    BELOW = "below"
    INCREASING = "increasing"
    DECREASING = "decreasing"
    CONVEX = "convex"
    CONCAVE = "concave"
    LIMIT = "limit"  # f -> value as column -> place
    EVEN = "even"
    ODD = "odd"
    SYMMETRIC = "symmetric"  # under the exchange of two columns
    POINT = "point"  # f(column=number, ...) = value
    POLE = "pole"  # at column = place
    NO_POLES = "no poles"


IN_A_COLUMN = (Kind.INCREASING, Kind.DECREASING, Kind.CONVEX, Kind.CONCAVE, Kind.EVEN, Kind.ODD)
SYMMETRIES = (Kind.EVEN, Kind.ODD, Kind.SYMMETRIC)
FINITE = math.nan  # the value of a limit that may be any finite number


@dataclass(frozen=True)
class Shape:
    """A required property of the values of f over ranges of columns, by default over the range of the data."""

    kind: Kind
    columns: tuple[str, ...] = ()  # columns that it is about
    value: float = 0.0  # a bound, a limit or the value at a point
    place: float = 0.0  # place of a limit or a pole
    strict: bool = False
    point: tuple[tuple[str, float], ...] = ()
    ranges: tuple[tuple[str, float, float], ...] = ()

    def __hash__(self) -> int:  # NaN, which stands for any finite limit, has a different hash each time
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and str(self) == str(other)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that the shape mentions."""
        named = [*self.columns, *(name for name, _ in self.point), *(name for name, *_ in self.ranges)]
        return tuple(dict.fromkeys(named))

    @property
    def is_symmetry(self) -> bool:
        return self.kind in SYMMETRIES

    @property
    def is_finite_limit(self) -> bool:
        """Whether the limit may be any finite number."""
        return self.kind is Kind.LIMIT and math.isnan(self.value)

    def __str__(self) -> str:
        spans = (f"{written(name)} in [{told(low)}, {told(high)}]" for name, low, high in self.ranges)
        over = " and ".join(spans)
        return f"{self._claim()} for {over}" if over else self._claim()

    def _claim(self) -> str:
        columns = " and ".join(map(written, self.columns))
        match self.kind:
            case Kind.ABOVE | Kind.BELOW if self.strict and self.value == 0.0:
                return "positive" if self.kind is Kind.ABOVE else "negative"
            case Kind.ABOVE | Kind.BELOW:
                sign = ">" if self.kind is Kind.ABOVE else "<"
                return f"f {sign}{'' if self.strict else '='} {told(self.value)}"
            case Kind.LIMIT:
                limit = "finite" if self.is_finite_limit else f"{told(self.value)}"
                return f"f -> {limit} as {columns} -> {told(self.place)}"
            case Kind.POINT:
                at = ", ".join(f"{written(name)}={told(number)}" for name, number in self.point)
                return f"f({at}) = {told(self.value)}"
            case Kind.POLE:
                return f"pole at {columns} = {told(self.place)}"
            case Kind.NO_POLES:
                return "no poles"
            case _:
                return f"{self.kind.value} in {columns}"


def told(number: float) -> str:
    """The number with as many digits as it takes to read it back exactly."""
    whole = math.isfinite(number) and number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(float(number))


def written(name: str) -> str:
    """A column's name in the text of a shape: in quotes unless it is one plain word."""
    plain = name.isidentifier() and name not in ("f", "in", "and", "for", "as", "at")
    return name if plain else f'"{name}"'
