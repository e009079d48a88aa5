"""Parquet files, through pyarrow."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ceql.data.formats.file_layout import Layout
from ceql.errors import InputError, missing_extra


def read(path: Path, layout: Layout) -> pd.DataFrame:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table
    except ImportError:
        raise missing_extra("pyarrow", "tables", f"Reading {path.name}, a Parquet file,") from None
    try:
        return read_table(path).to_pandas().reset_index(drop=True)
    except (ArrowException, ValueError):
        raise InputError(f"{path} is no Parquet file, or only part of one.") from None
