"""The table of measurements: every complaint names the place, and scaling changes no bit."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ceql.data.dataset import Dataset, Scaling, column_names, power_of_two, robust_size
from ceql.errors import CeqlWarning, InputError

laws = settings(derandomize=True, deadline=None, max_examples=60)
X = np.arange(8.0).reshape(4, 2)
Y = np.array([1.0, 2.0, 4.0, 8.0])


def table_with(value: float | str, row: int, column: int) -> np.ndarray:
    table = X.astype(object) if isinstance(value, str) else X.copy()
    table[row, column] = value
    return table


def test_good_data_pass_unchanged():
    data = Dataset.of(X, Y)
    assert np.array_equal(data.x, X)
    assert np.array_equal(data.y, Y)
    assert np.array_equal(data.weight, np.ones(4))
    assert data.names == ("x1", "x2")


class Columns:
    """A table that is no pandas DataFrame, such as one of polars: columns by name, no iloc."""

    columns = ("u", "v")

    def __init__(self, values: np.ndarray) -> None:
        self.shape = values.shape
        self._values = dict(zip(self.columns, values.T, strict=True))

    def __getitem__(self, name):
        if isinstance(name, list):
            return Columns(np.column_stack([self._values[one] for one in name]))
        return self._values[name]


def test_tables_of_other_libraries_keep_their_names():
    assert Dataset.of(Columns(X), Y).names == ("u", "v")


def test_true_and_false_are_one_and_zero():
    assert Dataset.of(X, np.array([True, False, True, True])).y.tolist() == [1, 0, 1, 1]


ACCEPTED = {
    "lists": (X.tolist(), Y.tolist()),
    "integers": (X.astype(int), Y.astype(int)),
    "float32": (X.astype(np.float32), Y.astype(np.float32)),
    "frame": (pd.DataFrame(X), pd.Series(Y)),
    "fortran order": (np.asfortranarray(X), Y),
    "y as a column": (X, Y[:, None]),
    "numbers as text": (X.astype(str), Y.astype(str).tolist()),
    "text in objects": (pd.DataFrame(X.astype(str).astype(object)), Y),
    "objects": (X.astype(object), Y.astype(object)),
    "nullable columns": (pd.DataFrame(X).astype("Float64"), pd.array(Y, "Int64")),
    "nothing masked": (np.ma.masked_greater(X, 99), np.ma.masked_greater(Y, 99)),
    "decimals": ([[Decimal(value) for value in row] for row in X], [Fraction(value) for value in Y]),
    "tuples": (tuple(map(tuple, X)), tuple(Y)),
    "another kind of table": (Columns(X), Y),
    "mixed frame": (pd.DataFrame({"a": X[:, 0].astype(int), "b": X[:, 1]}), Y),
}


@pytest.mark.parametrize("which", ACCEPTED)
def test_other_forms_of_the_same_data_are_equal(which):
    data = Dataset.of(*ACCEPTED[which])
    assert np.array_equal(data.x, X)
    assert np.array_equal(data.y, Y)
    assert data.x.flags.c_contiguous
    assert data.x.dtype == data.y.dtype == np.float64


def test_the_columns_of_a_frame_become_names():
    assert Dataset.of(pd.DataFrame(X, columns=["speed", "mass"]), Y).names == ("speed", "mass")
    assert column_names(pd.DataFrame(X)) == ("0", "1")


REFUSALS = {
    "NaN in X": ((table_with(np.nan, 2, 1), Y), r"X contains NaN: 1 value\(s\).* row 2, column 'x2'"),
    "inf in X": ((table_with(np.inf, 0, 0), Y), r"X contains infinity: 1 value\(s\).* row 0, column 'x1'"),
    "text in X": ((table_with("abc", 1, 0), Y), "X is not numeric: 'abc' at row 1"),
    "text in a frame": ((pd.DataFrame({"a": ["u", "v", "w", "z"]}), Y), "column 'a' of X is not numeric: 'u' at row 0"),
    "complex X": ((X + 1j, Y), "Complex data not supported: X is complex"),
    "complex column": ((pd.DataFrame({"a": Y + 1j}), Y), "Complex data not supported: column 'a' of X"),
    "sparse X": ((sparse.csr_matrix(X), Y), r"sparse matrix; .*X.toarray\(\)"),
    "1-D X": ((Y, Y), r"Expected 2D array, got 1D array .*reshape\(-1, 1\)"),
    "3-D X": ((np.zeros((4, 2, 2)), Y), "Expected 2D array, got 3D array"),
    "scalar X": ((3.0, Y), "Expected 2D array, got 0D array"),
    "no rows": ((np.zeros((0, 2)), np.zeros(0)), r"0 sample\(s\): X is empty"),
    "no columns": (
        (np.zeros((4, 0)), Y),
        r"0 feature\(s\) \(shape=\(4, 0\)\) while a minimum of 1 is required: X has no columns",
    ),
    "one row": ((X[:1], Y[:1]), "1 sample, and any formula fits one row"),
    "lengths": ((X, Y[:3]), "X has 4 rows but y has 3"),
    "NaN in y": ((X, np.array([1, 2, np.nan, 4])), "y contains NaN: 1 value.* row 2"),
    "inf in y": ((X, np.array([1, -np.inf, 3, 4])), "y contains infinity: 1 value.* row 1"),
    "text in y": ((X, ["a", "b", "c", "d"]), "y is not numeric: .*'a'.* at row 0"),
    "complex y": ((X, Y + 1j), "Complex data not supported: y is complex"),
    "2-D y": ((X, X), r"y should be a 1d array, got an array of shape \(4, 2\)"),
    "no y": ((X, None), "requires y to be passed"),
    "names twice": ((pd.DataFrame(X, columns=["a", "a"]), Y), "several columns named a"),
    "empty name": ((pd.DataFrame(X, columns=["a", " "]), Y), "an empty name"),
    "several levels": (
        (pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])), Y),
        "MultiIndex.*flatten",
    ),
    "sparse y": ((X, sparse.csr_matrix(Y[:, None])), r"y is a sparse matrix; .*y.toarray\(\)"),
    "masked X": ((np.ma.masked_greater(X, 6.5), Y), "X is a masked array with masked entries: drop these rows or fill"),
    "masked y": ((X, np.ma.masked_greater(Y, 6.5)), "y is a masked array with masked entries"),
    "None": ((None, Y), "Expected 2D array, got 0D array instead: .* X is of type NoneType"),
    "a generator": (((row for row in X), Y), "Expected 2D array, got 0D array instead: .* X is of type generator"),
    "a dictionary": (({"a": Y}, Y), "X is of type dict"),
    "None in X": (([[1, None], [2, 3.0]], [1, 2]), "X contains NaN: 1 .* row 0"),
    "missing integers": ((pd.DataFrame({"a": pd.array([1, None, 3, 4], "Int64")}), Y), "NaN: 1 .* row 1, column 'a'"),
    "missing numbers": ((pd.DataFrame({"a": pd.array([1, 2, 3, None], "Float64")}), Y), "NaN: 1 .* row 3, column 'a'"),
    "missing truths": ((X, pd.array([True, None, False, True], "boolean")), "y contains NaN: 1 .* row 1"),
    "times": ((pd.DataFrame({"a": pd.date_range("2020", periods=4)}), Y), "column 'a' of X holds dates or durations"),
    "durations": ((X, np.arange(4).astype("m8[s]")), "y holds dates or durations.*seconds since the start"),
    "date objects": (
        (X, [datetime.date(2020, 1, k) for k in (1, 2, 3, 4)]),
        r"y is not numeric: datetime.date\(2020, 1, 1\)",
    ),
    "categories": (
        (pd.DataFrame({"a": pd.Categorical(list("uvuv"))}), Y),
        "column 'a' of X is not numeric: 'u' at row 0",
    ),
    "a decimal comma": ((X, ["1,5", "2", "3", "4"]), "y is not numeric: .*'1,5'.* at row 0"),
    "a huge integer": ((X, [1, 2, 3, 10**400]), "y is not numeric: the number at row 3 is too large for a float"),
    "a number": ((X, 3.0), r"y should be a 1d array, got an array of shape \(\)"),
    "too large": ((X * 1e300, Y), "values of column 'x1' of X are too large to compute with .*choose another unit"),
    "too small": ((X, Y * 1e-200), r"values of y are too small to compute with \(up to 8e-200\)"),
    "weight for one row": ((X, Y, [0, 0, 1, 0]), "zero for every row but one"),
    "short weight": ((X, Y, np.ones(3)), "sample_weight has 3 entries but X has 4 rows"),
    "negative weight": ((X, Y, [1, 1, -1, 1]), "negative entries"),
    "zero weights": ((X, Y, np.zeros(4)), "zero for every row"),
    "NaN weight": ((X, Y, [1, np.nan, 1, 1]), "sample_weight contains NaN"),
    "text weight": ((X, Y, ["a"] * 4), "sample_weight is not numeric"),
    "2-D weight": ((X, Y, X), "sample_weight should be a 1d array"),
}


@pytest.mark.parametrize("which", REFUSALS)
def test_bad_data_are_refused_with_the_place(which):
    arguments, complaint = REFUSALS[which]
    with pytest.raises(InputError, match=complaint):
        Dataset.of(*arguments)


LEAKS = {
    "ragged X": (([[1.0], [1.0, 2.0]], [1.0, 2.0]), "X"),
    "ragged y": ((X[:2], [[1.0], [1.0, 2.0]]), "y"),
    "weight is one NaN": ((X, Y, np.nan), "sample_weight"),
    "weight is one infinity": ((X, Y, np.inf), "sample_weight"),
    "weight is a word": ((X, Y, "heavy"), "sample_weight"),
    "dates": ((np.array([["2020-01-01", "2020-01-02"]] * 4, "M8[D]"), Y), "X"),
}


@pytest.mark.parametrize("which", LEAKS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_these_should_be_refused_in_our_words_too(which):
    arguments, place = LEAKS[which]
    with pytest.raises(InputError, match=place):
        Dataset.of(*arguments)


def test_a_constant_target_is_warned_about():
    with pytest.warns(CeqlWarning, match=r"y is constant \(2\)"):
        Dataset.of(X, np.full(4, 2.0))


@pytest.mark.parametrize("weight", [2.5, [1, 2, 3, 4], [0, 0, 2, 1e-3], [1e308] * 4, [1e-310, 2e-310, 1e-310, 0]])
def test_weights_have_mean_one_and_keep_their_ratios(weight):
    given_weights = np.broadcast_to(np.asarray(weight, float), 4) / np.max(weight)
    given_weights = given_weights[given_weights > 0]
    result = Dataset.of(X, Y, weight).weight
    assert np.isclose(result.mean(), 1.0)
    assert np.allclose(result * given_weights.sum(), given_weights * result.sum())


sizes = st.floats(-200, 200)


@laws
@given(st.lists(st.tuples(sizes, sizes, sizes), min_size=2, max_size=8))
def test_scaling_is_exact_and_can_be_undone(rows):
    table = np.sign(rows) * 2.0 ** np.array(rows)
    data = Dataset(table[:, :2], table[:, 2], np.ones(len(table)), ("a", "b"))
    scaling = Scaling.of(data.x, data.y)
    x, y = scaling.apply(data.x, data.y)
    assert np.array_equal(x * scaling.x, data.x)
    assert np.array_equal(y * scaling.y, data.y)
    for size in (*scaling.x, scaling.y):
        assert np.frexp(size)[0] == 0.5  # a power of two
    biggest = np.abs(x).max(axis=0)
    assert np.all((biggest == 0) | ((biggest > 0.7) & (biggest < 1.42)))


def test_a_column_of_zeros_is_left_alone():
    data = Dataset(np.zeros((3, 1)), np.zeros(3), np.ones(3), ("a",))
    scaling = Scaling.of(data.x, data.y)
    assert scaling.x[0] == scaling.y == 1.0


def test_the_size_of_y_is_not_inflated_by_a_pole():
    y = np.ones(101)
    y[::2] = -1.0
    calm = robust_size(y)
    y[50] = 1e9
    assert robust_size(y) == pytest.approx(1.5)
    assert calm == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize(("size", "expected"), [(1.0, 1), (1.4, 1), (1.5, 2), (3.1, 4), (0.3, 0.25), (0.0, 1)])
def test_the_nearest_power_of_two(size, expected):
    assert power_of_two(size) == expected


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_the_largest_numbers_have_a_finite_power_of_two():
    assert np.isfinite(power_of_two(1.7e308))
