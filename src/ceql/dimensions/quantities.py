"""What is known of the units of a table: of its columns, its target and of constants by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ceql.dimensions.dimension import NONE, Dimension


@dataclass(frozen=True)
class Part:
    """A unit as it is written within another, such as the mm of mm/s: one of it is `factor` coherent ones."""

    symbol: str
    power: Fraction
    dimension: Dimension
    factor: float = 1.0


@dataclass(frozen=True)
class Quantity:
    """A column, or a constant with its value, and its unit: value * factor + offset is in coherent units, which for one
    dimension are the same everywhere. A column without a unit has no `dimension`: nothing is known of it."""

    name: str
    dimension: Dimension | None = None
    factor: float = 1.0
    offset: float = 0.0
    parts: tuple[Part, ...] = ()
    text: str = ""  # as the user wrote the unit
    value: float = 1.0  # of a constant, in its own unit

    @property
    def size(self) -> float:
        """Of a constant, in coherent units."""
        return self.value * self.factor + self.offset

    @property
    def in_parts(self) -> Dimension:
        """Its unit as a product of what it is written in, each of them for a base quantity."""
        return Dimension.of({part.symbol: part.power for part in self.parts})


@dataclass(frozen=True)
class Dimensions:
    """The units of one problem, and what numbers may be.

    With `free_constants` a number may carry any unit. Otherwise it has none, but for what the constants by name bring.
    """

    columns: tuple[Quantity, ...]
    target: Quantity
    constants: tuple[Quantity, ...] = ()
    free_constants: bool = True

    @property
    def is_strict(self) -> bool:
        """Whether numbers may not carry any unit, so that the law is one between groups without dimension."""
        return not self.free_constants

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return (*self.columns, self.target, *self.constants)

    @property
    def bases(self) -> tuple[str, ...]:
        """The base quantities that occur."""
        known = (quantity.dimension or NONE for quantity in self.quantities)
        return tuple(sorted({base for dimension in known for base, _ in dimension.exponents}))

    def of(self, names: Iterable[str]) -> Dimensions:
        """The same for some of the columns, in this order."""
        own = {quantity.name: quantity for quantity in self.columns}
        return Dimensions(tuple(own[n] for n in names), self.target, self.constants, self.free_constants)
