"""Tables that a spreadsheet shows and does not run."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from ceql.storage.csv_output import as_csv


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", "-2+3"])
def test_formulas_are_marked_as_text_in_header_and_cells(text):
    table = pd.DataFrame({"plain": [text], text: ["plain"]})
    lines = pd.read_csv(io.StringIO(as_csv(table)), lineterminator="\n")
    assert list(lines) == ["plain", "'" + text]
    assert lines.iloc[0, 0] == "'" + text


def test_numbers_stay_numbers():
    table = pd.DataFrame({"a": [-1.5, np.nan], "b": ["-2.5", "+3e5"], "c": [True, False]})
    assert as_csv(table, missing="nan") == "a,b,c\n-1.5,-2.5,True\nnan,+3e5,False\n"
    assert as_csv(table).splitlines()[2] == ",+3e5,False"
    assert as_csv(pd.DataFrame({"=a": []})) == "'=a\n"
