"""Tables become series, and what no equation can be found in is answered with a sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ceql import InputError
from ceql.data.tables import read_cells
from ceql.dynamics.reading import Roles, cells_of, cells_of_file, read_series
from ceql.errors import CeqlError

TIME = np.linspace(0.0, 5.0, 40)


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame({"t": TIME, "x": np.exp(-TIME), **columns})


def read(table, **roles):
    return read_series(cells_of(table), Roles(**roles))


def test_states_are_all_other_columns_of_numbers():
    found = read(frame(y=TIME**2, remark=["dry"] * 40))
    assert found.series.states == ("x", "y")
    assert found.notes == ("Column 'remark' holds no numbers: left out.",)
    assert np.array_equal(found.series.trajectories[0].states, np.column_stack([np.exp(-TIME), TIME**2]))


def test_trajectories_may_be_mixed_and_keep_their_own_times():
    mixed = frame(run=["b", "a"] * 20)
    series = read(mixed, states=("x",), trajectory="run").series
    assert series.labels == ["b", "a"]
    assert np.array_equal(series.trajectories[1].time, TIME[1::2])
    sorted_first = mixed.sort_values("run", kind="stable")
    again = read(sorted_first, states=("x",), trajectory="run").series
    assert {one.label: one.time.tolist() for one in again.trajectories} == {
        one.label: one.time.tolist() for one in series.trajectories
    }


def test_gaps_of_states_stay_gaps_and_are_told():
    gaps = frame()
    gaps.loc[[3, 7], "x"] = np.nan
    found = read(gaps)
    assert np.isnan(found.series.trajectories[0].states[[3, 7], 0]).all()
    assert found.notes == ("2 of 40 samples of 'x' are missing.",)


def test_inputs_follow_their_trajectory():
    series = read(frame(u=np.sin(TIME)), states=("x",), inputs=("u",)).series
    assert np.array_equal(series.trajectories[0].inputs[:, 0], np.sin(TIME))
    assert series.inputs == ("u",)


def test_names_of_columns_may_be_anything_and_numbers_may_be_text():
    table = pd.DataFrame({"Zeit [s]": TIME.astype(str), "x y": np.exp(-TIME).astype(str)})
    series = read(table, time="Zeit [s]").series
    assert series.states == ("x y",)
    assert np.allclose(series.trajectories[0].states[:, 0], np.exp(-TIME))


def with_cell(column: str, row: int, value: object) -> pd.DataFrame:
    table = frame(u=np.sin(TIME), run=["a"] * 40).astype(object)
    table.loc[row, column] = value
    return table


def moved(rows: slice, by: float) -> np.ndarray:
    time = TIME.copy()
    time[rows] += by
    return time


@pytest.mark.parametrize(
    ("table", "roles", "words"),
    [
        (frame(t=moved(slice(20, None), -3.0)), {}, "row 20: the time goes back from t = 2.43"),
        (frame(t=moved(slice(20, None), -3.0)), {}, "give the column of their labels"),
        (frame(t=np.r_[TIME[:20], TIME[19:39]]), {}, "row 20: the time t = 2.43"),
        (frame(t=np.r_[TIME[:20], TIME[19:39]]), {}, "twice in succession. Average samples"),
        (
            frame(run=["a", "b"] * 20, t=np.r_[TIME[:38], TIME[:2]]),
            {"trajectory": "run", "states": ("x",)},
            "row 38: the time of trajectory 'a' goes back",
        ),
        (frame()[:5], {}, "State 'x' has 5 samples, too few to follow its motion: measure it at 8 times or more."),
        (frame(x=(-1.0) ** np.arange(40)), {}, "too far apart for its fastest motion"),
        (frame(x=3.0), {}, "State 'x' never changes: it is 3 in all samples"),
        (frame(run=["a"] * 20 + ["b"] * 20, x=[1.0] * 20 + [2.0] * 20), {"trajectory": "run"}, "is constant in every"),
        (
            with_cell("x", 4, np.inf),
            {"states": ("x",)},
            "row 4, column 'x': the value is infinite. Correct it, or empty",
        ),
        (with_cell("x", 4, "n/d"), {"states": ("x",)}, "'n/d' is not a number. Correct it, or empty the cell"),
        (with_cell("t", 4, None), {"states": ("x",)}, "Every sample needs a time: fill the cell, or delete the row."),
        (
            with_cell("t", 4, "noon"),
            {"states": ("x",)},
            "'noon' is not a number. Times must be numbers, such as days since",
        ),
        (with_cell("u", 4, None), {"states": ("x",), "inputs": ("u",)}, "An input must be known at all times"),
        (
            with_cell("run", 4, None),
            {"states": ("x",), "trajectory": "run"},
            "Every row needs the label of its trajectory",
        ),
        (with_cell("run", 4, "b"), {"states": ("x",), "trajectory": "run"}, "Trajectory 'b' has only one sample"),
        (frame(t=pd.date_range("2020-01-01", periods=40)), {}, "'t' holds dates or durations: convert them to numbers"),
        (frame(x=["a"] * 40), {}, "There is no column of numbers besides the time 't'"),
        (frame(y=[np.nan] * 40), {"states": ("x", "y")}, "Column 'y' is empty"),
        (frame(x=np.exp(-TIME) * 1e200), {}, "too large to compute with"),
        (frame(), {"states": ("X1",)}, "There is no column 'X1'"),
        (frame(), {"time": "tt"}, "There is no column 'tt'. Did you mean 't'?"),
        (frame(), {"states": ("x", "t")}, "Column 't' is used both as the time and as a state: use it once."),
        (
            frame(),
            {"order": 3},
            "The order of the equations must be 1, or 2 where only positions were measured, not 3.",
        ),
        (frame(x_speed=-np.exp(-TIME)), {"order": 2}, "use order 1 with both as states"),
        (frame(x_speed=TIME), {"order": 2, "states": ("x",), "inputs": ("x_speed",)}, "rename the column"),
        (np.zeros((9, 2)), {}, "A time series is a table whose columns have names"),
    ],
)
def test_what_cannot_be_used_is_answered_with_a_sentence(table, roles, words):
    with pytest.raises(CeqlError) as error:
        read(table, **roles)
    assert words in str(error.value)


def test_rows_of_a_file_are_named_by_their_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,x\n" + "\n".join(f"{k},{k * k}" for k in (*range(9), 8)) + "\n")
    with pytest.raises(InputError, match=r"a\.csv, line 11: the time t = 8 occurs twice"):
        read_series(cells_of_file(read_cells(path)), Roles())


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("period", [8, 20, 100])
def test_motion_that_is_sampled_well_is_taken(noise, period):
    x = np.sin(2 * np.pi * np.arange(120) / period) + noise * np.random.default_rng(0).standard_normal(120)
    table = pd.DataFrame({"t": np.arange(120.0), "x": x})
    assert read(table).series.samples == 120


@pytest.mark.parametrize("period", [2.2, 3.0, 4.0])
def test_motion_that_is_sampled_too_seldom_is_refused(period):
    table = pd.DataFrame({"t": np.arange(120.0), "x": np.sin(2 * np.pi * np.arange(120) / period)})
    with pytest.raises(InputError, match="Sample more often"):
        read(table)
