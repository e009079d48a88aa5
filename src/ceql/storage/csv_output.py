"""Writes tables as CSV in which a spreadsheet program runs no formulas; all CSV output is made here."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ceql.data.formats.delimited import is_number

# A spreadsheet reads text with such a beginning as a formula, and formulas may start programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_MARK = "'"  # marks plain text in spreadsheets


def as_csv(table: pd.DataFrame, missing: str = "") -> str:
    """The table as CSV with a header; text that a spreadsheet would read as a formula is marked as plain text."""
    shown = table.copy()
    for k in range(table.shape[1]):
        if not pd.api.types.is_numeric_dtype(table.iloc[:, k]):
            shown.isetitem(k, table.iloc[:, k].map(_harmless))
    shown.columns = pd.Index([_harmless(str(name)) for name in table.columns])
    return shown.to_csv(index=False, na_rep=missing, lineterminator="\n")


def _harmless(cell: Any) -> Any:
    return _MARK + cell if isinstance(cell, str) and cell.startswith(_FORMULA) and not is_number(cell) else cell
