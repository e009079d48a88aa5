"""What is known about the units of a table: of its columns, its target and named constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ceql.dimensions.dimension import NONE, Dimension


@dataclass(frozen=True)
class Part:
    """A unit written as part of another, such as the mm in mm/s; it equals `factor` coherent units."""

    symbol: str
    power: Fraction
    dimension: Dimension
    factor: float = 1.0


@dataclass(frozen=True)
class Quantity:
    """A column, or a named constant with its value, and its unit.

    `value * factor + offset` is in coherent units, which are the same for all quantities of one dimension. A column
    without a unit has no `dimension`, since nothing is known about it.
    """

    name: str
    dimension: Dimension | None = None
    factor: float = 1.0
    offset: float = 0.0
    parts: tuple[Part, ...] = ()
    text: str = ""  # as the user wrote the unit
    value: float = 1.0  # value of a constant, in its own unit

    @property
    def size(self) -> float:
        """The value of a constant in coherent units."""
        return self.value * self.factor + self.offset

    @property
    def in_parts(self) -> Dimension:
        """The unit as a product of its written parts, each treated as a base quantity."""
        return Dimension.of({part.symbol: part.power for part in self.parts})


@dataclass(frozen=True)
class Dimensions:
    """The units of one problem, and which units numbers in formulas may have.

    With `free_constants` numbers may have any unit. Otherwise they are dimensionless, up to powers of the named
    constants.
    """

    columns: tuple[Quantity, ...]
    target: Quantity
    constants: tuple[Quantity, ...] = ()
    free_constants: bool = True

    @property
    def is_strict(self) -> bool:
        """Whether numbers may not have just any unit, so that laws are relations between dimensionless groups."""
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
        """The same problem with some of the columns, in this order."""
        own = {quantity.name: quantity for quantity in self.columns}
        return Dimensions(tuple(own[n] for n in names), self.target, self.constants, self.free_constants)
