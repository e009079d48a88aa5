"""Delimited text: one curve per file, several channels side by side, a long table with conditions, or time data.

A header names the columns: a frequency, and either a magnitude (and possibly a phase) or a real and an imaginary part.
Units are in brackets, as in `Frequency (kHz)` or `Magnitude [dB]`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ceql.data.formats.delimited import is_number
from ceql.errors import InputError
from ceql.frf.curve import HERTZ, ReadOptions, Recording, Scale, checked, from_complex
from ceql.frf.formats.channels import channels_of
from ceql.frf.formats.column_names import (
    FREQUENCY,
    SECONDS,
    is_force,
    is_frequency,
    name_and_unit,
    numbered,
    time_column,
    without_unit,
)
from ceql.frf.formats.lab_text import LabText, decoded, read_lab_text
from ceql.frf.formats.labview import is_labview, read_labview
from ceql.frf.formats.time_data import Channel, responses, said_rate
from ceql.frf.kinds import kind_of_unit
from ceql.frf.labels import POINT_WORDS

ENDINGS = (".txt", ".csv", ".tsv", ".dat", ".asc", ".ascii", ".prn", ".frf", ".lvm")
REPETITION_NAMES = ("repetition", "rep", "sample", "samples", "run")
_ROLES = {
    "frequency": FREQUENCY,
    "magnitude": ("magnitude", "mag", "amplitude", "abs"),
    "phase": ("phase", "angle"),
    "real": ("real", "re"),
    "imag": ("imag", "im", "imaginary"),
    "repetition": REPETITION_NAMES,
    "coherence": ("coherence", "coh", "gamma2"),
}
_ROWS_PER_CURVE = 3  # a curve needs at least this many rows
_LEAST_IN_DEGREES = 60.0  # a phase without a unit that varies less may be in radians


def read(path: Path, options: ReadOptions) -> list[Recording]:
    tables = _tables(path, options)
    found = [recording for own in tables for recording in _curves(path, own, options)]
    if len(tables) == 1:
        return found
    each = len(found) // len(tables)
    points = [next(filter(POINT_WORDS.search, own.remarks), "") for own in tables]
    points = points if all(points) and len(set(points)) == len(points) and each == 1 else [""] * len(tables)
    return [
        replace(r, source=f"{path}, table {k // each + 1}", point=points[k // each] or r.point)
        for k, r in enumerate(found)
    ]


def _curves(path: Path, own: LabText, options: ReadOptions) -> list[Recording]:
    """The curves of one table."""
    table = own.table
    names = [str(name) for name in table.columns]
    said = _by_number(path, names, options.columns)
    if _is_time_data(names, said):
        return _from_time_data(path, own, said, options)
    several = {} if set(said) - {"frequency"} else channels_of(names)
    if len(several) > 1 or (several and not _plainly_named(names)):
        return _several(path, table, several, said, options)
    roles, units, conditions = _columns(path, names, said)
    for name in (*roles.values(), *conditions):
        column: Any = table[name]
        if not pd.api.types.is_numeric_dtype(column):
            row, value = next(((k, v) for k, v in enumerate(column) if not is_number(str(v))), (0, column.iloc[0]))
            raise InputError(f"{path}: column {name!r}, row {row + 1}: {value!r} is not a number.")
    keys = [*conditions, *([roles["repetition"]] if "repetition" in roles else [])]
    if not keys:
        return [_recording(path, table, roles, units, options)]
    groups = list(table.groupby(keys, sort=True))
    if len(groups) > len(table) / _ROWS_PER_CURVE:
        raise InputError(
            f"{path}: {', '.join(keys)} change from row to row, so they are not conditions. Delete what is not "
            "needed, or name the columns to use with --columns frequency=NAME,magnitude=NAME."
        )
    found = []
    for _, part in groups:
        known = {key: float(part[key].iloc[0]) for key in keys}
        repetition = int(known.pop(roles["repetition"])) if "repetition" in roles else None
        named = {identifier(name): value for name, value in known.items()}
        found.append(_recording(path, part, roles, units, options, named, repetition))
    if not found:
        raise InputError(f"{path} has a header and no rows with a value in each of {', '.join(keys)}.")
    return found


def _plainly_named(names: list[str]) -> bool:
    roles = {role for name in names for role, known in _ROLES.items() if name_and_unit(name)[0] in known}
    return "magnitude" in roles or {"real", "imag"} <= roles


def _several(
    path: Path,
    table: pd.DataFrame,
    channels: Mapping[str, Mapping[str, str]],
    said: Mapping[str, str],
    options: ReadOptions,
) -> list[Recording]:
    """One recording per channel; the only channel of a table does not count as a point."""
    known = said.get("frequency") or next(filter(is_frequency, map(str, table.columns)), None)
    if known is None:
        raise _no_roles(path, list(map(str, table.columns)))
    chosen = {c: r for c, r in channels.items() if not options.channel or c == options.channel}
    if not chosen:
        raise InputError(f"{path} has no channel {options.channel!r}; it has {', '.join(channels)}.")
    found = []
    for channel, roles in chosen.items():
        own = {"frequency": known, **roles}
        units = {role: name_and_unit(name)[1] for role, name in own.items()}
        units = {role: "" if unit == channel else unit for role, unit in units.items()}  # Re(H12) has no unit
        recording = _recording(path, table, own, units, options)
        point = channel if len(channels) > 1 else ""
        found.append(replace(recording, point=point, source=f"{path}, {channel}" if point else str(path)))
    return found


def _by_number(path: Path, names: list[str], said: Mapping[str, str]) -> dict[str, str]:
    """Column names for roles, where a column may also be given by its number, counted from 1."""
    found = {}
    for role, name in said.items():
        is_place = name not in names and name.isdecimal() and 1 <= int(name) <= len(names)
        found[role] = names[int(name) - 1] if is_place else name
    return found


def _is_time_data(names: list[str], said: Mapping[str, str]) -> bool:
    """Whether there is a time, or a force without channels of a response, and no frequency."""
    if "time" in said or "frequency" in said:
        return "time" in said
    if any(map(is_frequency, names)):
        return False
    if time_column(names) is not None:
        return True
    return ("force" in said or any(map(is_force, names))) and not channels_of(names)


def _from_time_data(path: Path, own: LabText, said: Mapping[str, str], options: ReadOptions) -> list[Recording]:
    table = own.table
    names = [str(name) for name in table.columns]
    time = said.get("time") or time_column(names)
    if time is not None and time not in names:
        raise InputError(f"{path} has no column {time!r} for the time; it has {', '.join(names)}.")
    force = said.get("force") or next((name for name in names if name != time and is_force(name)), None)
    step = _time_step(path, table, time) if time is not None else 1.0 / (said_rate(own.remarks) or np.inf)
    wanted = [said["response"]] if "response" in said else [name for name in names if name not in (time, force)]
    of_force = name_and_unit(force)[1] if force else ""
    channels = [
        Channel(name, table[name].to_numpy(dtype=float), step, name == force,
                kind_of_unit(f"{name_and_unit(name)[1]}/{of_force or 'N'}"))
        for name in names
        if (name == force or name in wanted) and pd.api.types.is_numeric_dtype(table[name])
    ]  # fmt: skip
    return responses(str(path), channels, replace(options, columns={"force": force} if force else {}))


def _time_step(path: Path, table: pd.DataFrame, time: str) -> float:
    """The sampling interval in seconds, by the unit in the column's name."""
    unit = name_and_unit(time)[1].lower()
    if unit not in SECONDS:
        known = ", ".join(filter(None, SECONDS))
        raise InputError(f"{path}: the time is in {unit!r}; known are {known}. Or use --sampling-rate 2048 (Hz).")
    return float(np.median(np.diff(table[time].to_numpy(dtype=float)))) * SECONDS[unit]


def identifier(name: str) -> str:
    """A column's name in a form usable in formulas: `mass loss (%)` becomes mass_loss."""
    words = re.sub(r"\W+", "_", without_unit(name)).strip("_")
    return words if words and not words[0].isdigit() else f"c_{words}"


def _tables(path: Path, options: ReadOptions) -> list[LabText]:
    """The tables of a file, usually one, with named columns."""
    if options.encoding or not _is_plain(path):
        return _laboratory_tables(path, options)
    table = _plain_table(path)
    if any(not pd.api.types.is_numeric_dtype(table[name]) for name in table.columns):
        with suppress(InputError):  # complex cells such as 0.1+0.2i; other text is reported when the column is used
            return read_lab_text(path)
    return [LabText((), table, True)]


def _plain_table(path: Path) -> pd.DataFrame:
    """The table of a simple file, with columns separated by tabs, semicolons, commas or blanks, as in the header."""
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    separator = next((mark for mark in ("\t", ";", ",") if mark in header), r"\s+")
    try:
        table = _parsed(path, separator)
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty: it needs a header line and rows of numbers.") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a table of numbers: {str(error).strip()}.") from None
    table = table.loc[:, [name for name in table.columns if not str(name).startswith("Unnamed:")]]
    return table.set_axis([_as_repeated(str(name), set(table.columns)) for name in table.columns], axis=1)


def _as_repeated(name: str, names: set[str]) -> str:
    """The name with a number if it repeats another one, which pandas writes as Phase.1."""
    base, mark, number = name.rpartition(".")
    return numbered(base, int(number) + 1) if mark and number.isdecimal() and base in names else name


def _is_plain(path: Path) -> bool:
    """Whether the first line names the columns and the second has numbers with decimal points, in UTF-8."""
    try:
        with path.open(encoding="utf-8") as file:
            first, second = file.readline(), file.readline()
    except UnicodeError:
        return False
    if not first.strip() or not second.strip():
        return not first.strip() and not second.strip()  # empty files are reported by the plain reader
    separator = next((mark for mark in ("\t", ";", ",") if mark in first), None)
    names, cells = (
        [cell.strip() for cell in line.strip().split(separator) if cell.strip()] for line in (first, second)
    )
    if any(is_number(name) for name in names) or first.lstrip()[0] in "#%!":
        return False
    return len(names) >= 2 and len(cells) >= 2 and is_number(cells[0]) and abs(len(names) - len(cells)) <= 1


def _laboratory_tables(path: Path, options: ReadOptions) -> list[LabText]:
    if is_labview(decoded(path, options.encoding)):
        return [read_labview(path, options.encoding)]
    found = read_lab_text(path, options.encoding)
    if not found[0].named and not options.columns:
        above = found[0].remarks[-1] if found[0].remarks else ""
        if above and 2 * (above.count(",") + 1) == found[0].table.shape[1]:
            raise InputError(
                f"{path}: its numbers have decimal commas, and commas stand between them as well. Export it with "
                "semicolons or tabs between the columns."
            )
        raise InputError(
            f"{path} has {found[0].table.shape[1]} columns of numbers and no line above them that names them. Give "
            "their roles by their numbers: --columns frequency=1,real=2,imag=3, or frequency=1,magnitude=2,phase=3."
        )
    return found


def _parsed(path: Path, separator: str) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # longer rows than the header would be cut off
        try:
            return pd.read_csv(path, sep=separator, skipinitialspace=True, index_col=False)
        except pd.errors.ParserError:
            if separator != "\t":
                raise
            # real files may have two tabs in place of one; this parser is slower
            return pd.read_csv(path, sep=r"\t+", engine="python", index_col=False)


def _columns(path: Path, names: list[str], said: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """The column for each role, the units of these columns, and the remaining columns, which are conditions."""
    roles, units, rest = {}, {}, []
    for role, column in said.items():
        if column not in names:
            raise InputError(f"{path} has no column {column!r} for the {role}; it has {', '.join(names)}.")
        roles[role] = column
    for name in names:
        plain, unit = name_and_unit(name)
        role = next((r for r, known in _ROLES.items() if plain in known), None)
        taken = {column: r for r, column in roles.items()}
        if name in taken:
            units[taken[name]] = unit
        elif role is None or role in roles:
            rest.append(name)
        else:
            roles[role], units[role] = name, unit
    if "frequency" not in roles or not ("magnitude" in roles or {"real", "imag"} <= set(roles)):
        raise _no_roles(path, names)
    return roles, units, rest


def _no_roles(path: Path, names: list[str]) -> InputError:
    return InputError(
        f"{path} has the columns {', '.join(names) or '(none)'}; needed are a frequency and either a magnitude (and "
        "phase) or a real and an imag part. Name them with --columns frequency=NAME,magnitude=NAME; the number of a "
        "column may stand for its name."
    )


def _recording(
    path: Path,
    table: pd.DataFrame,
    roles: Mapping[str, str],
    units: Mapping[str, str],
    options: ReadOptions,
    conditions: Mapping[str, float] | None = None,
    repetition: int | None = None,
) -> Recording:
    column = {role: table[name].to_numpy(dtype=float) for role, name in roles.items()}
    unit = units.get("frequency", "") or ("rad/s" if roles["frequency"].lower().startswith("omega") else "hz")
    if unit.lower() not in HERTZ:
        raise InputError(f"{path}: the frequency is in {unit!r}; known are {', '.join(HERTZ)}.")
    frequency = column["frequency"] * HERTZ[unit.lower()]
    known = {"conditions": dict(conditions or {}), "repetition": repetition, "coherence": column.get("coherence")}
    if "magnitude" not in column:
        known |= {"unit": units["real"], "kind": kind_of_unit(units["real"])}
        return from_complex(str(path), frequency, column["real"] + 1j * column["imag"], **known)
    said = units.get("magnitude", "")
    scale = Scale.DECIBEL if said.lower().startswith("db") else Scale.LINEAR if said else Scale.UNSAID
    phase = _radians(path, column["phase"], options.phase or units.get("phase", "")) if "phase" in column else None
    unit = "" if scale == Scale.DECIBEL else said
    known |= {"unit": unit, "kind": kind_of_unit(unit)}
    return checked(Recording(str(path), frequency, column["magnitude"], phase, scale, **known))


def _radians(path: Path, phase: np.ndarray, unit: str) -> np.ndarray:
    """The phase in radians, taken as degrees unless stated otherwise; raises `InputError` if it could be either."""
    if unit.lower().startswith("rad"):
        return phase
    known = phase[np.isfinite(phase)]
    if not unit and len(known) and np.abs(known).max() > 1.0 and np.ptp(known) <= _LEAST_IN_DEGREES:
        raise InputError(
            f"{path}: the phase turns by {np.ptp(known):.3g} in all, so it may be in radians. Use --phase rad or "
            "--phase deg, or name its column 'Phase (rad)' or 'Phase (deg)'."
        )
    return np.deg2rad(phase)
