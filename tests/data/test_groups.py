"""Labels of rows: what they may be, and what is wrong with them in a sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql import CeqlError
from ceql.data.groups import column_apart, known_codes, labels_of


@given(st.lists(st.one_of(st.integers(-5, 5), st.sampled_from(["a", "b", "c c"])), min_size=1))
def test_every_row_has_the_number_of_its_label(labels):
    found = labels_of(labels, len(labels))
    assert [found.names[code] for code in found.codes] == [str(label) for label in labels]
    assert len(set(found.names)) == len(found.names)


def test_numbers_are_in_order_and_whole_decimals_are_whole():
    found = labels_of(np.array([10.0, 2.0, 1.0]), 3)
    assert found.names == ("1", "2", "10")


def test_the_name_of_a_series_is_what_they_are_groups_by():
    assert labels_of(pd.Series(["a", "b"], name="lens"), 2).column == "lens"
    assert labels_of(["a", "b"], 2).column == "group"


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, "", "  "])
def test_a_missing_label_is_named_by_its_row(gap):
    with pytest.raises(CeqlError, match="no label in row 1"):
        labels_of(["a", gap, "b"], 3)


def test_labels_must_be_as_many_as_rows():
    with pytest.raises(CeqlError, match="one label for each row"):
        labels_of(["a", "b"], 3)


def test_an_unknown_group_is_named_with_the_remedy():
    with pytest.raises(CeqlError, match=r"knows no group 'z' of lens.*adapt"):
        known_codes(["a", "z"], 2, ("a", "b"), "lens")


def test_a_column_of_labels_is_no_input():
    table = pd.DataFrame({"p": [1.0, 2.0], "lens": ["a", "b"]})
    x, labels = column_apart(table, "lens")
    assert list(x.columns) == ["p"]
    assert list(labels) == ["a", "b"]
    with pytest.raises(CeqlError, match="Did you mean 'lens'"):
        column_apart(table, "lense")
