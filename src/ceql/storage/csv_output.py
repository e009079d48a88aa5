"""Tables as CSV that a spreadsheet shows and does not run: the one place where they are made."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ceql.data.formats.delimited import is_number

# Text that begins so is a formula to a spreadsheet, and a formula may start programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_MARK = "'"  # what spreadsheets take for the sign of plain text


def as_csv(table: pd.DataFrame, missing: str = "") -> str:
    """The table with its header. Text that would be a formula is marked as text."""
    shown = table.copy()
    for k in range(table.shape[1]):
        if not pd.api.types.is_numeric_dtype(table.iloc[:, k]):
            shown.isetitem(k, table.iloc[:, k].map(_harmless))
    shown.columns = pd.Index([_harmless(str(name)) for name in table.columns])
    return shown.to_csv(index=False, na_rep=missing, lineterminator="\n")


def _harmless(cell: Any) -> Any:
    return _MARK + cell if isinstance(cell, str) and cell.startswith(_FORMULA) and not is_number(cell) else cell
