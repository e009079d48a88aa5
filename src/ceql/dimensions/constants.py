"""The units of a formula's constants, and the named constants that they may be composed of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any

import sympy

from ceql.dimensions.consistency import Rule
from ceql.dimensions.dimension import Dimension, product_text
from ceql.dimensions.explained import VERY_SIMPLE, SimplePolicy, explanation
from ceql.dimensions.quantities import Dimensions, Part, Quantity

_BASE_UNITS = {
    "length": "m",
    "mass": "kg",
    "time": "s",
    "current": "A",
    "temperature": "K",
    "substance": "mol",
    "luminosity": "cd",
}
_LARGEST_DOUBT = 1e-3  # largest relative uncertainty; very simple numbers are a few hundredths apart
_ROUNDING = 1e-12  # largest rounding error of a factor of one


@dataclass(frozen=True)
class ConstantUnit:
    """The unit of a constant (empty if it has none) and its expression in named constants (empty if there is none)."""

    unit: str
    made_of: str = ""


def units_of_constants(
    expression: Any,
    symbols: Sequence[Any],
    values: Iterable[float],
    dimensions: Dimensions,
    errors: Sequence[float] = (),
) -> tuple[ConstantUnit, ...] | None:
    """The units of the constants that these symbols stand for; None if no units make the formula possible.

    A constant with a standard error may be expressed in named constants to within two of these errors.
    """
    numbers = dict(zip(symbols, map(float, values), strict=True))
    given = {symbol: sympy.Float(value) for symbol, value in numbers.items()}
    as_written = Rule(_in_units(dimensions)).dimensions_of(expression, given)
    if as_written is None:  # mm and cm mixed: use base units
        plain = Rule(replace(dimensions, constants=(), free_constants=True)).dimensions_of(expression, given)
        if plain is None:
            return None
        return tuple(ConstantUnit(_in_base_units(plain.get(symbol, Dimension()))) for symbol in symbols)
    parts = _parts(dimensions)
    known = zip(symbols, errors or [0.0] * len(symbols), strict=True)
    return tuple(_found((numbers[s], e), as_written.get(s, Dimension()), parts, dimensions.constants) for s, e in known)


def _in_units(dimensions: Dimensions) -> Dimensions:
    """The problem with units as they are written in place of base quantities."""

    def written(quantity: Quantity) -> Quantity:
        return quantity if quantity.dimension is None else replace(quantity, dimension=quantity.in_parts)

    return Dimensions(tuple(map(written, dimensions.columns)), written(dimensions.target))


def _parts(dimensions: Dimensions) -> dict[str, Part]:
    return {part.symbol: part for quantity in dimensions.quantities for part in quantity.parts}


def _found(
    constant: tuple[float, float], written: Dimension, parts: Mapping[str, Part], constants: Sequence[Quantity]
) -> ConstantUnit:
    """The unit of a constant as a product of written units, or in base units if that is shorter."""
    dimension, factor = Dimension(), 1.0
    for symbol, power in written.exponents:
        part = parts[symbol]
        dimension, factor = dimension * part.dimension**power, factor * part.factor ** float(power)
    is_coherent = abs(factor - 1.0) <= _ROUNDING
    texts = [product_text(written.exponents), *([_in_base_units(dimension)] if is_coherent else [])]
    value, error = constant
    made_of = _made_of(value * factor, abs(error * factor), dimension, constants) if constants else ""
    return ConstantUnit(min(texts, key=len), made_of)


def _made_of(value: float, error: float, dimension: Dimension, constants: Sequence[Quantity]) -> str:
    """The constant expressed in named constants: exactly, or within its error using only very simple numbers."""
    if not isfinite(value) or not isfinite(error) or not value:
        return ""
    doubt = 2.0 * error / abs(value)
    is_exact = doubt <= SimplePolicy().accuracy
    policy = SimplePolicy() if is_exact else replace(VERY_SIMPLE, accuracy=doubt)
    known = explanation(value, dimension, constants, policy) if is_exact or doubt <= _LARGEST_DOUBT else None
    if known is None or not known.constants:
        return ""
    return str(known) if is_exact else f"≈ {known}"


def _in_base_units(dimension: Dimension) -> str:
    named: list[tuple[str, Fraction]] = [(_BASE_UNITS.get(base, base), power) for base, power in dimension.exponents]
    return product_text(named)
