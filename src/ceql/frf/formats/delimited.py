"""Delimited text: one curve per file, or a long table whose further columns are conditions.

A header names the columns: a frequency, and either a magnitude (with a phase, if there is one) or a real and an
imaginary part. Units stand in brackets, as in `Frequency (kHz)` or `Magnitude [dB]`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ceql.data.formats.delimited import is_number
from ceql.errors import InputError
from ceql.frf.curve import HERTZ, ReadOptions, Recording, Scale, checked, from_complex

ENDINGS = (".txt", ".csv", ".tsv", ".dat", ".asc")
REPETITION_NAMES = ("repetition", "rep", "sample", "samples", "run")
_ROLES = {
    "frequency": ("frequency", "freq", "f"),
    "magnitude": ("magnitude", "mag", "amplitude", "abs"),
    "phase": ("phase", "angle"),
    "real": ("real", "re"),
    "imag": ("imag", "im", "imaginary"),
    "repetition": REPETITION_NAMES,
    "ignored": ("coherence",),
}
_UNIT = re.compile(r"^(?P<name>.*?)[\s_]*(?:[\(\[](?P<unit>[^\)\]]*)[\)\]])?$")
_WRITTEN_IN_NAME = re.compile(r"^(?P<name>\w+?)_(?P<unit>db|deg|rad|k?hz|[mg]hz)$", re.IGNORECASE)
_ROWS_PER_CURVE = 3  # fewer make no curve
_LONGEST_IN_RADIANS = 2.0 * np.pi


def read(path: Path, options: ReadOptions) -> list[Recording]:
    table = _table(path)
    roles, units, conditions = _columns(path, [str(name) for name in table.columns], options.columns)
    for name in (*roles.values(), *conditions):
        column: Any = table[name]
        if not pd.api.types.is_numeric_dtype(column):
            row, value = next(((k, v) for k, v in enumerate(column) if not is_number(str(v))), (0, column.iloc[0]))
            raise InputError(f"{path}: column {name!r}, row {row + 1}: {value!r} is not a number.")
    keys = [*conditions, *([roles["repetition"]] if "repetition" in roles else [])]
    if not keys:
        return [_recording(path, table, roles, units, {}, None)]
    groups = list(table.groupby(keys, sort=True))
    if len(groups) > len(table) / _ROWS_PER_CURVE:
        raise InputError(
            f"{path}: {', '.join(keys)} change from row to row, so they are no conditions. Delete what is not needed, "
            "or say which columns count with --columns frequency=NAME,magnitude=NAME."
        )
    found = []
    for _, part in groups:
        known = {key: float(part[key].iloc[0]) for key in keys}
        repetition = int(known.pop(roles["repetition"])) if "repetition" in roles else None
        named = {identifier(name): value for name, value in known.items()}
        found.append(_recording(path, part, roles, units, named, repetition))
    if not found:
        raise InputError(f"{path} has a header and no rows with a value in each of {', '.join(keys)}.")
    return found


def identifier(name: str) -> str:
    """A column's name as it can stand in a formula: `mass loss (%)` becomes mass_loss."""
    bare = _UNIT.fullmatch(name.strip())
    words = re.sub(r"\W+", "_", bare["name"] if bare else name).strip("_")
    return words if words and not words[0].isdigit() else f"c_{words}"


def _table(path: Path) -> pd.DataFrame:
    """Its columns with a name. The header line is divided by a tab, a semicolon, a comma, else blanks."""
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    separator = next((mark for mark in ("\t", ";", ",") if mark in header), r"\s+")
    try:
        table = _parsed(path, separator)
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty: it needs a header line and rows of numbers.") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a table of numbers: {str(error).strip()}.") from None
    return table.loc[:, [name for name in table.columns if not str(name).startswith("Unnamed:")]]


def _parsed(path: Path, separator: str) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header would be cut off
        try:
            return pd.read_csv(path, sep=separator, skipinitialspace=True, index_col=False)
        except pd.errors.ParserError:
            if separator != "\t":
                raise
            # a row with two tabs in place of one occurs in real files; this way of reading is slower
            return pd.read_csv(path, sep=r"\t+", engine="python", index_col=False)


def _columns(path: Path, names: list[str], said: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Which column plays which role, the units of those, and the columns that remain: conditions."""
    roles, units, rest = {}, {}, []
    for role, column in said.items():
        if column not in names:
            raise InputError(f"{path} has no column {column!r} for the {role}; it has {', '.join(names)}.")
        roles[role] = column
    for name in names:
        plain, unit = _name_and_unit(name)
        role = next((r for r, known in _ROLES.items() if plain in known), None)
        taken = {column: r for r, column in roles.items()}
        if name in taken:
            units[taken[name]] = unit
        elif role == "ignored":
            continue
        elif role is None or role in roles:
            rest.append(name)
        else:
            roles[role], units[role] = name, unit
    if "frequency" not in roles or not ("magnitude" in roles or {"real", "imag"} <= set(roles)):
        raise InputError(
            f"{path} has the columns {', '.join(names) or '(none)'}; needed are a frequency and either a magnitude "
            "(and phase) or a real and an imag part. Say which is which with --columns frequency=NAME,magnitude=NAME."
        )
    return roles, units, rest


def _name_and_unit(name: str) -> tuple[str, str]:
    match = _UNIT.fullmatch(name.strip())
    plain, unit = (match["name"], match["unit"] or "") if match else (name, "")
    written = _WRITTEN_IN_NAME.fullmatch(plain)
    if written and not unit:
        plain, unit = written["name"], written["unit"]
    return plain.strip().lower(), unit.strip()


def _recording(
    path: Path,
    table: pd.DataFrame,
    roles: Mapping[str, str],
    units: Mapping[str, str],
    conditions: Mapping[str, float],
    repetition: int | None,
) -> Recording:
    column = {role: table[name].to_numpy(dtype=float) for role, name in roles.items()}
    unit = units.get("frequency", "") or "hz"
    if unit.lower() not in HERTZ:
        raise InputError(f"{path}: the frequency is in {unit!r}; known are {', '.join(HERTZ)}.")
    frequency = column["frequency"] * HERTZ[unit.lower()]
    known = {"conditions": dict(conditions), "repetition": repetition}
    if "magnitude" not in column:
        return from_complex(str(path), frequency, column["real"] + 1j * column["imag"], unit=units["real"], **known)
    said = units.get("magnitude", "")
    scale = Scale.DECIBEL if said.lower().startswith("db") else Scale.LINEAR if said else Scale.UNSAID
    phase = _radians(path, column["phase"], units.get("phase", "")) if "phase" in column else None
    unit = "" if scale == Scale.DECIBEL else said
    return checked(Recording(str(path), frequency, column["magnitude"], phase, scale, unit=unit, **known))


def _radians(path: Path, phase: np.ndarray, unit: str) -> np.ndarray:
    """Degrees unless the header says radians; a column that could be radians is not guessed at."""
    if unit.lower().startswith("rad"):
        return phase
    if not unit and 1.0 < np.nanmax(np.abs(phase)) <= _LONGEST_IN_RADIANS:
        raise InputError(
            f"{path}: the phase stays within {_LONGEST_IN_RADIANS:.2f}, so it may be in radians. "
            "Name its column 'Phase (rad)' or 'Phase (deg)'."
        )
    return np.deg2rad(phase)
