"""Predictions of a finished search for the rows of an uploaded file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ceql.app.phrases import said_on_the_page
from ceql.app.tables import safe_file_name
from ceql.data.formats.file_layout import Layout
from ceql.data.tables import read_cells
from ceql.errors import CeqlError, InputError, in_words
from ceql.estimator.regressor import load
from ceql.estimator.table_predictions import predicted
from ceql.storage.csv_output import as_csv

_SHOWN = 8  # rows
_MARKS = " If it marks a missing value"  # begins advice that applies only to tables before a search


def predicted_rows(
    model: Path, name: str, content: bytes, layout: Mapping[str, Any], row: int | None, level: float | None
) -> dict[str, Any]:
    """The table with its predictions as CSV, and its first rows for the page.

    The file is read with the given layout, which is that of the searched table if both are of the same kind. An
    InputError says in the words of the page why there are no predictions.
    """
    with tempfile.TemporaryDirectory(dir=model.parent) as folder:
        path = Path(folder) / safe_file_name(name)
        path.write_bytes(content)
        try:
            table = read_cells(path, Layout(**layout))
            made, warnings = predicted(load(model), table, row, with_inputs=True, interval=level)
        except CeqlError as error:
            told = in_words(error).partition(_MARKS)[0]
            raise InputError(said_on_the_page(told, path)) from error
        notes = [said_on_the_page(note, path) for note in (*table.notes, *warnings)]
    return {
        "name": f"{path.stem}-predicted.csv",
        "csv": as_csv(made, missing="nan"),
        "rows": len(made),
        "columns": [str(column) for column in made.columns],
        "first": [[_cell(cell) for cell in cells] for cells in made.head(_SHOWN).itertuples(index=False, name=None)],
        "notes": [note[:1].upper() + note[1:] for note in notes],
    }


def _cell(cell: Any) -> float | str:
    return "" if pd.isna(cell) else float(cell) if isinstance(cell, int | float) else str(cell)
