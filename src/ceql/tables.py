"""Tables from files, with errors that name the row and column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ceql.errors import InputError, unknown_name

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_table(path: Path) -> pd.DataFrame:
    if path.suffix.lower() not in _SEPARATORS:
        raise InputError(f"{path} has the ending {path.suffix!r}; known are {', '.join(_SEPARATORS)}.")
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    try:
        table = pd.read_csv(path, sep=_SEPARATORS[path.suffix.lower()], skipinitialspace=True)
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty: it needs a header line and rows of numbers.") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a table of numbers: {error}.") from None
    if table.shape[1] == 1:
        separator = _SEPARATORS[path.suffix.lower()]
        raise InputError(f"{path} has one column only: is {separator!r} really what separates its columns?")
    return table


def split_target(table: pd.DataFrame, target: str, features: Sequence[str] = ()) -> tuple[pd.DataFrame, pd.Series]:
    """The chosen columns and the target column."""
    for name in (target, *features):
        if name not in table.columns:
            raise unknown_name("column", name, map(str, table.columns))
    if target in features:
        raise InputError(f"{target!r} is the target and cannot be a feature as well.")
    chosen = list(features) or [name for name in table.columns if name != target]
    return table.loc[:, chosen], table.loc[:, target]
