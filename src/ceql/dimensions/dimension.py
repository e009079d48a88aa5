"""A dimension: exponents of base quantities, such as length 1 and time -2 for an acceleration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

_SHOWN = 12  # larger denominators are written as decimals
FINEST = 10**6  # largest denominator of an exponent written as a decimal


@dataclass(frozen=True)
class Dimension:
    """A product of powers of base quantities; zero exponents are left out."""

    exponents: tuple[tuple[str, Fraction], ...] = ()

    @classmethod
    def of(cls, exponents: Mapping[str, int | float | Fraction]) -> Dimension:
        exact = ((base, exponent_of(power)) for base, power in exponents.items())
        return cls(tuple(sorted((base, power) for base, power in exact if power)))

    def __mul__(self, other: Dimension) -> Dimension:
        total = dict(self.exponents)
        for base, power in other.exponents:
            total[base] = total.get(base, Fraction(0)) + power
        return Dimension.of(total)

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other**-1

    def __pow__(self, power: int | float | Fraction) -> Dimension:
        return Dimension.of({base: own * exponent_of(power) for base, own in self.exponents})

    def __bool__(self) -> bool:
        return bool(self.exponents)

    def along(self, bases: Iterable[str]) -> tuple[Fraction, ...]:
        """The exponents of these base quantities."""
        own = dict(self.exponents)
        return tuple(own.get(base, Fraction(0)) for base in bases)

    def __str__(self) -> str:
        return product_text(self.exponents) or "dimensionless"


NONE = Dimension()


def exponent_of(number: int | float | Fraction) -> Fraction:
    """The exponent as a fraction; a decimal becomes a nearby fraction."""
    return Fraction(number).limit_denominator(FINEST)


def product_text(powers: Iterable[tuple[str, Fraction]]) -> str:
    """A product of powers as text, such as ``kg*m**2/s``."""
    above = [_power_text(name, power) for name, power in powers if power > 0]
    below = [_power_text(name, -power) for name, power in powers if power < 0]
    if not below:
        return "*".join(above)
    denominator = below[0] if len(below) == 1 else f"({'*'.join(below)})"
    return f"{'*'.join(above) or '1'}/{denominator}"


def _power_text(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    if power.denominator > _SHOWN:  # a fitted exponent
        return f"{name}**{float(power):g}"
    return f"{name}**{power}" if power.denominator == 1 else f"{name}**({power})"
