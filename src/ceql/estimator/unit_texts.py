"""Reads units such as "mm" or "9.81 m/s^2" with pint and turns them into dimensions and factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from ceql.data.headers import unit_in_header
from ceql.data.targets import Targets
from ceql.dimensions import Dimension, Dimensions, Part, Quantity
from ceql.dimensions.groups import reaches
from ceql.discovery import Discovery
from ceql.errors import CeqlError, InputError, missing_extra, unknown_name

ANY, DIMENSIONLESS, PHYSICS = "any", "dimensionless", "physics"
HEADERS = "headers"  # in place of units: read them from the names of the columns
# Constants by their names in formulas, and their names in pint. The first ones are those of "physics".
NAMED = {
    "c": "speed_of_light",
    "G": "newtonian_constant_of_gravitation",
    "h": "planck_constant",
    "k_B": "boltzmann_constant",
    "e": "elementary_charge",
    "epsilon_0": "vacuum_permittivity",
    "m_e": "electron_mass",
    "g": "standard_gravity",
    "N_A": "avogadro_constant",
    "hbar": "dirac_constant",
    "mu_0": "vacuum_permeability",
    "mu_B": "bohr_magneton",
    "m_p": "proton_mass",
    "R": "molar_gas_constant",
    "F": "faraday_constant",
    "sigma_SB": "stefan_boltzmann_constant",
    "a_0": "bohr_radius",
    "R_inf": "rydberg_constant",
}
OF_PHYSICS = ("c", "G", "h", "k_B", "e", "epsilon_0", "m_e", "g", "N_A")
_NO_UNIT = ("", "-", "1", "none")
_COMMON = (
    *("m", "mm", "cm", "km", "s", "ms", "min", "hour", "day", "kg", "g", "mg", "K", "degC", "A", "mA", "V", "W", "J"),
    *("N", "Pa", "bar", "Hz", "rad", "deg", "mol", "L", "eV", "T", "C", "F", "ohm", "percent"),
)


def is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("pint") is not None


def is_unit(text: str) -> bool:
    """Whether the text can be read as a unit; always False without pint."""
    try:
        _unit(text, "")
    except CeqlError:
        return False
    return True


@cache
def _registry() -> Any:
    try:
        import pint
    except ImportError:
        raise missing_extra("pint", "units", "Reading units") from None
    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def read_units(units: Any, constants: Any, inputs: Sequence[str], targets: Sequence[str]) -> list[Dimensions] | None:
    """The units of each target's problem; None if no units are given."""
    kind = constants if isinstance(constants, str) else None
    if units is None:
        if kind != ANY:
            raise InputError(
                "constants= says which units constants may have: give units= of the columns and y as well."
            )
        return None
    if isinstance(units, str) and units == HEADERS:
        units = units_of_headers([*inputs, *targets])
    if not isinstance(units, Mapping):
        raise InputError(
            f"units must be a dictionary of columns and their units, such as {{'distance': 'mm'}}, not {units!r}."
        )
    for name in units:
        if name not in inputs and name not in targets:
            raise unknown_name("column", str(name), [*inputs, *targets])
    columns = tuple(quantity(name, units.get(name)) for name in inputs)
    known = named_constants(constants)
    found = [Dimensions(columns, quantity(name, units.get(name)), known, kind == ANY) for name in targets]
    for own in found:
        _require_possible(own)
    return found


def with_known_units(
    discoveries: Sequence[Discovery], units: Any, constants: Any, targets: Targets
) -> tuple[Discovery, ...]:
    """The discoveries of a saved model with their units restored; unchanged without pint."""
    if units is None or not is_installed():
        return tuple(discoveries)
    known = read_units(units, constants, targets.inputs, targets.names) or []
    return tuple(replace(found, units=own) for found, own in zip(discoveries, known, strict=True))


def quantity(name: str, text: Any) -> Quantity:
    """A column as a quantity with this unit, or without a unit for None."""
    if text is None:
        return Quantity(name)
    unit = _unit(str(text), name)
    dimension, factor, offset = _in_base_units(unit)
    return Quantity(name, dimension, factor, offset, _parts(unit), str(text).strip())


def named_constants(given: Any) -> tuple[Quantity, ...]:
    """The constants with units that formulas may contain, from names, names with values, or "physics"."""
    if isinstance(given, str):
        if given in (ANY, DIMENSIONLESS):
            return ()
        given = OF_PHYSICS if given == PHYSICS else [part for part in map(str.strip, given.split(",")) if part]
    if isinstance(given, Mapping):
        return tuple(_constant(str(name), value) for name, value in given.items())
    if not isinstance(given, Iterable) or not all(isinstance(name, str) for name in given):
        raise InputError(
            "constants must be 'any', 'dimensionless', 'physics', or names with values, such as {'g': '9.81 "
            f"m/s^2'}}, not {given!r}."
        )
    pairs = (text.partition("=") for text in given)
    return tuple(_constant(name.strip(), value.strip() or None) for name, _, value in pairs)


def _constant(name: str, value: Any) -> Quantity:
    registry = _registry()
    if value is None:
        if name not in NAMED:
            raise unknown_name("constant", name, [ANY, DIMENSIONLESS, PHYSICS, *NAMED])
        found = registry.Quantity(1.0, NAMED[name]).to_base_units()
    else:
        try:
            found = registry.Quantity(str(value))
        except Exception as error:  # pint raises errors of many kinds, and of Python's own
            raise InputError(f"The constant {name!r} is {value!r}: {_why(error, str(value))}") from None
    size = float(found.magnitude)
    if not size or size != size or abs(size) == float("inf"):
        raise InputError(f"The constant {name!r} must have a value other than 0, not {value!r}.")
    dimension, factor, offset = _in_base_units(found.units)
    return Quantity(name, dimension, factor, offset, _parts(found.units), f"{found.units:~}", size)


def units_of_headers(names: Iterable[str]) -> dict[str, str]:
    """The units in brackets at the end of column names; an InputError if one cannot be read."""
    found = {name: parts[1] for name in names if (parts := unit_in_header(name)) is not None}
    if not found:
        raise InputError("units='headers' needs names such as 'distance [mm]': no column has one.")
    for name, text in found.items():
        _unit(text, name)
    return found


def _unit(text: str, name: str) -> Any:
    registry = _registry()
    if text.strip().lower() in _NO_UNIT:
        return registry.Unit("dimensionless")
    try:
        return registry.Unit(text.strip())
    except Exception as error:  # pint raises errors of many kinds, and of Python's own
        whose = f"The unit of {name!r}" if name else "The unit"
        raise InputError(f"{whose} is {text!r}: {_why(error, text)}") from None


def _why(error: Exception, text: str) -> str:
    """A sentence that says why a unit cannot be read, with suggestions."""
    from difflib import get_close_matches

    unknown = getattr(error, "unit_names", None)
    names = [unknown] if isinstance(unknown, str) else list(unknown or [])
    if not names:
        return f"that is not a unit such as 'mm', 'm/s^2' or '1' for a number without one ({text!r} cannot be read)."
    known = [*_COMMON, *(str(name) for name in dir(_registry()) if name.isidentifier() and not name.startswith("_"))]
    close = get_close_matches(names[0], known, n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(dict.fromkeys(close))}?" if close else " Units are written as 'mm' or 'm/s^2'."
    return f"there is no unit {names[0]!r}.{hint}"


def _in_base_units(unit: Any) -> tuple[Dimension, float, float]:
    """The dimension of a unit, and its factor and offset: value * factor + offset is in base units."""
    registry = _registry()
    dimension = Dimension.of({base.strip("[]"): Fraction(power) for base, power in unit.dimensionality.items()})
    if registry.Quantity(1.0, unit)._is_multiplicative:
        return dimension, float(registry.Quantity(1.0, unit).to_base_units().magnitude), 0.0
    zero, one = (float(registry.Quantity(value, unit).to_base_units().magnitude) for value in (0.0, 1.0))
    return dimension, one - zero, zero


def _parts(unit: Any) -> tuple[Part, ...]:
    registry = _registry()
    found: list[Part] = []
    for name, power in unit._units.items():
        dimension, factor, _ = _in_base_units(registry.Unit(name))
        found.append(Part(f"{registry.Unit(name):~}" or name, Fraction(power), dimension, factor))
    return tuple(sorted(found, key=lambda part: part.symbol))


def _require_possible(known: Dimensions) -> None:
    """Raises an InputError if the target cannot be made of the columns with numbers that have no units."""
    if not known.is_strict:
        return
    unknown = [one.name for one in (*known.columns, known.target) if one.dimension is None]
    if unknown:
        raise InputError(
            f"If constants may have no units, every column needs a unit: {', '.join(unknown)} "
            f"{'has' if len(unknown) == 1 else 'have'} none. Write '1' for a number without one, or constants='any'."
        )
    if not reaches(known, known.constants):
        made = ", ".join(f"{one.name} in {one.text or '1'}" for one in (*known.columns, *known.constants))
        raise InputError(
            f"{known.target.name} in {known.target.text or '1'} cannot be made of {made} and constants without "
            "units. Check the units, name the constant that is missing (constants={'g': '9.81 m/s^2'} or "
            "constants='physics'), or let all constants have units (constants='any')."
        )
