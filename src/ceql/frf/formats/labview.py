"""LabVIEW measurement files: a header of keywords with a value for each column, then the samples.

`X_Columns` says whether the first column holds the abscissa; otherwise it follows from `X0` and `Delta_X`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ceql.errors import InputError
from ceql.frf.formats.lab_text import LabText, decoded

_BEGIN, _END = "LabVIEW Measurement", "***End_of_Header***"
_AXES = {"time": "Time [s]", "frequency": "Frequency [Hz]"}


def is_labview(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n").startswith(_BEGIN)


def read_labview(path: Path, encoding: str = "") -> LabText:
    """The columns of the first segment, with the abscissa first."""
    lines = decoded(path, encoding).lstrip("\ufeff").splitlines()
    ends = [k for k, line in enumerate(lines) if line.strip().startswith(_END)]
    if len(ends) < 2:
        raise InputError(f"{path} is a LabVIEW measurement without the header of its columns: export it as text.")
    known = _header(lines[: ends[1]])
    separator = "," if known.get("Separator", ["Tab"])[0].lower() == "comma" else "\t"
    known = _header(lines[: ends[1]], separator)
    names = [name.strip() for name in lines[ends[1] + 1].split(separator)]
    count = int(float(known.get("Channels", [str(len(names) - 2)])[0]))
    decimal = known.get("Decimal_Separator", ["."])[0]
    rows = []
    for line in lines[ends[1] + 2 :]:
        cells = line.split(separator)
        if not line.strip() or cells[0].startswith(_BEGIN) or "Channels" in cells[0]:
            break
        rows.append(cells)
    return LabText((), _table(path, names, rows, known, count, decimal), True)


def _header(lines: list[str], separator: str = "\t") -> dict[str, list[str]]:
    pairs = [line.split(separator) for line in lines if line.strip()]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] or [""] for cells in pairs}


def _table(
    path: Path, names: list[str], rows: list[list[str]], known: dict[str, list[str]], count: int, decimal: str
) -> pd.DataFrame:
    style = known.get("X_Columns", ["One"])[0].lower()
    places = [2 * k + 1 for k in range(count)] if style == "multi" else list(range(1, count + 1))
    try:
        columns = [[float(row[place].replace(decimal, ".")) for row in rows] for place in places]
        abscissa = [float(row[0].replace(decimal, ".")) for row in rows] if style != "no" else None
        first, step = (float(known.get(word, ["0"])[0].replace(decimal, ".")) for word in ("X0", "Delta_X"))
    except (ValueError, IndexError):
        raise InputError(
            f"{path}: the rows of this LabVIEW measurement do not fit its header. Export it as text with one row per "
            "frequency or time."
        ) from None
    units = [*known.get("Y_Unit_Label", []), *[""] * count]
    dimension = known.get("X_Dimension", ["Time"])[0].lower()
    table = {_AXES.get(dimension, "X"): abscissa if abscissa is not None else first + step * np.arange(len(rows))}
    for place, column, unit in zip(places, columns, units, strict=False):
        name = names[place] if place < len(names) and names[place] else f"channel {len(table)}"
        table[f"{name} [{unit}]" if unit and "[" not in name and "(" not in name else name] = column
    return pd.DataFrame(table)
