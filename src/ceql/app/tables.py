"""What is in a table: its columns with kinds, gaps and ranges, and some of the values for small plots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ceql.data import content
from ceql.data.formats.file_layout import Layout
from ceql.data.tables import Table, read_cells
from ceql.errors import CeqlError, in_words

PLOTTED_ROWS, PLOTTED_COLUMNS = 250, 60
_UNSAFE = re.compile(r"[^\w .()+-]")


@dataclass(frozen=True)
class Held:
    """A table of this session."""

    id: str
    name: str
    path: Path
    layout: Mapping[str, Any] = field(default_factory=dict)  # what its file does not say: the fields of a Layout


def layout_of(given: Any) -> dict[str, Any]:
    """The fields of a Layout that were filled in; a ContentError names what is wrong."""
    texts = {name: content.text(given, name) for name in ("separator", "decimal", "encoding", "sheet")}
    marks = content.names(given, "missing_marks")
    found: dict[str, Any] = {name: text for name, text in texts.items() if text}
    if skip := content.whole(given, "skip", most=1_000_000):
        found["skip"] = skip
    return {**found, "missing_marks": marks} if marks else found


def safe_file_name(name: str) -> str:
    """The last part of a name, in letters that every disk takes; its ending is kept."""
    plain = _UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(". ")
    stem, dot, ending = plain.rpartition(".")
    return f"{(stem or 'table')[:80]}{dot or '.'}{ending[:10] if dot else 'csv'}"


def without_folder(sentence: str, path: Path) -> str:
    """The sentence with the name of the file alone: where this session keeps it is of no interest."""
    return sentence.replace(str(path), path.name)


def summary(held: Held) -> dict[str, Any]:
    """For the page; an InputError where the file cannot be read."""
    table = read_cells(held.path, Layout(**held.layout))
    count = len(table.cells)
    rows = np.unique(np.linspace(0, count - 1, min(count, PLOTTED_ROWS)).astype(int))
    columns = [_column(table, name, rows if k < PLOTTED_COLUMNS else rows[:0]) for k, name in enumerate(table.names)]
    usable = [column["name"] for column in columns if column["kind"] == "numbers"]
    return {
        "id": held.id,
        "name": held.name,
        "rows": count,
        "columns": columns,
        "target": usable[-1] if usable else "",
        "notes": [without_folder(note, held.path) for note in table.notes],
        "gaps": int(np.count_nonzero(table.cells[usable].isna().to_numpy().any(axis=1))),
    }


def _column(table: Table, name: str, rows: np.ndarray) -> dict[str, Any]:
    cells: Any = table.cells[name]
    found = {"name": name, "kind": "numbers", "gaps": int(cells.isna().sum()), "why": "", "unit": None, "values": []}
    why = table.why_no_input(name) if name else "has no name"
    if why:
        return {**found, "kind": "left out", "why": why}
    try:
        values = table.numbers([name], gaps=True)[name].to_numpy()
    except CeqlError as error:
        return {**found, "kind": "left out", "why": without_folder(in_words(error), table.path)}
    there = values[np.isfinite(values)]
    kind = "true and false" if pd.api.types.is_bool_dtype(cells) else "numbers"
    numbers = {"low": float(there.min()), "high": float(there.max()), "median": float(np.median(there))}
    whole = {"whole": bool((there == np.round(there)).all()), "distinct": len(np.unique(there))}
    shown = [float(value) if np.isfinite(value) else None for value in values[rows]]
    return {**found, "why": "" if kind == "numbers" else kind, **numbers, **whole, "values": shown}
