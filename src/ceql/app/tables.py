"""Describes a table for the page: its columns with kinds, gaps and ranges, and some values for small plots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ceql.app.phrases import said_on_the_page
from ceql.data import content
from ceql.data.formats.file_layout import OF_TEXT, Layout
from ceql.data.headers import unit_in_header
from ceql.data.tables import Table, read_cells
from ceql.errors import CeqlError, in_words
from ceql.estimator.unit_texts import is_unit

PLOTTED_ROWS, PLOTTED_COLUMNS = 250, 60
_UNSAFE = re.compile(r"[^\w .()+-]")


@dataclass(frozen=True)
class Held:
    """A table of this session."""

    id: str
    name: str
    path: Path
    layout: Mapping[str, Any] = field(default_factory=dict)  # fields of a Layout that the user has given


def layout_of(given: Any) -> dict[str, Any]:
    """The fields of a Layout that were filled in; a ContentError says what is wrong."""
    texts = {name: content.text(given, name) for name in ("separator", "decimal", "encoding", "sheet")}
    lists = {name: content.names(given, name) for name in ("names", "missing_marks")}
    skip = content.whole(given, "skip", most=1_000_000)
    return {name: value for name, value in {**texts, "skip": skip, **lists}.items() if value}


def has_layout(held: Held) -> bool:
    """Whether the user can give a layout for this kind of file if it is not recognised."""
    return held.path.suffix.lower() in (*OF_TEXT, ".xlsx")


def safe_file_name(name: str) -> str:
    """The last part of a path as a file name that is valid everywhere; the extension is kept."""
    plain = _UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(". ")
    stem, dot, ending = plain.rpartition(".")
    return f"{(stem or 'table')[:80]}{dot or '.'}{ending[:10] if dot else 'csv'}"


def summary(held: Held) -> dict[str, Any]:
    """The description of a table for the page; an InputError if the file cannot be read."""
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
        "notes": [said_on_the_page(note, held.path) for note in table.notes],
        "gaps": int(np.count_nonzero(table.cells[usable].isna().to_numpy().any(axis=1))),
    }


def _column(table: Table, name: str, rows: np.ndarray) -> dict[str, Any]:
    cells: Any = table.cells[name]
    found = {"name": name, "kind": "numbers", "gaps": int(cells.isna().sum()), "why": "", "unit": "", "values": []}
    why = table.why_no_input(name) if name else "has no name"
    if why:
        return {**found, "kind": "left out", "why": why}
    try:
        values = table.numbers([name], gaps=True)[name].to_numpy()
    except CeqlError as error:
        return {**found, "kind": "left out", "why": said_on_the_page(in_words(error), table.path)}
    there = values[np.isfinite(values)]
    kind = "true and false" if pd.api.types.is_bool_dtype(cells) else "numbers"
    numbers = {"low": float(there.min()), "high": float(there.max()), "median": float(np.median(there))}
    whole = {"whole": bool((there == np.round(there)).all()), "distinct": len(np.unique(there))}
    shown = [float(value) if np.isfinite(value) else None for value in values[rows]]
    told = {"why": "" if kind == "numbers" else kind, "unit": _unit(name)}
    return {**found, **told, **numbers, **whole, "values": shown}


def _unit(name: str) -> str:
    """The unit in brackets after a name if it can be read; otherwise empty."""
    parts = unit_in_header(name)
    return parts[1] if parts is not None and is_unit(parts[1]) else ""
