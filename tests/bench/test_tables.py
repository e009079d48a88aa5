"""Tables count what there is to count."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ceql.bench.record_tables import by_family, by_method, by_problem, failures, frame, markdown
from ceql.bench.records import Record
from ceql.bench.sheets import number


def record(problem, method, seed, exact=True, error=None, **changes):
    scores = {"interp_mse": 1e-30, "extrap_mse": 3e-30, "node_count": 9, "seconds": 1.0 + seed}
    scores = {} if error else scores | {"expression": "x|1", "equivalent": exact} | changes
    return Record("s", problem, problem[0], method, seed, exact=exact and not error, error=error, **scores)


RECORDS = [
    record("a1", "m", 0),
    record("a1", "m", 1, exact=False, interp_mse=3.0),
    record("a2", "m", 0, error="MethodError: no"),
    record("b1", "n", 0, exact=False, interp_mse=math.inf),
]


def test_by_problem():
    data = by_problem(RECORDS).set_index(["problem", "method"])
    row = data.loc[("a1", "m")]
    assert (row["runs"], row["errors"], row["exact"]) == (2, 0, 0.5)
    assert row["interp_mse_mean"] == pytest.approx(1.5)
    assert row["interp_mse_sd"] == pytest.approx(3 / math.sqrt(2))
    assert (row["median_seconds"], row["worst_seconds"]) == (1.5, 2.0)
    assert data.loc[("a2", "m")]["errors"] == 1
    assert data.loc[("b1", "n")]["interp_mse_mean"] == math.inf


@pytest.mark.filterwarnings("error")
def test_huge_errors_are_no_reason_for_a_warning():
    wild = [record("a1", "m", seed, exact=False, interp_mse=10.0 ** (200 + seed)) for seed in range(3)]
    assert by_problem(wild)["interp_mse_mean"].iloc[0] > 1e200


def test_failed_runs_count_against_the_rate():
    rates = {row["method"]: row["exact"] for row in by_method(RECORDS).to_dict("records")}
    assert rates["m"] == pytest.approx(1 / 3)
    assert list(by_family(RECORDS)["family"]) == ["a", "b"]


def test_a_problem_counts_in_each_of_its_families():
    listed = {"3 terms; 1 constant": True, "2 terms; 2 constants": True, "3 terms; 2 constants": False}
    table = by_family(replace(record("a", "m", 0, exact), family=family) for family, exact in listed.items())
    assert list(table["family"]) == ["2 terms", "3 terms", "1 constant", "2 constants"]
    assert list(table["exact"]) == [1.0, 0.5, 1.0, 0.5]


def test_failures_say_what_was_found_or_why_not():
    assert list(failures(RECORDS)["outcome"]) == ["x|1", "MethodError: no", "x|1"]


def test_markdown_is_one_table_row_per_line():
    text = markdown(RECORDS)
    assert "## Not exact: 3 of 4 runs" in text
    assert "x\\|1" in text
    assert "| a1 | m | 2 | 0 | 1.5e+00 ± 2.1e+00 |" in text
    for block in text.split("\n\n"):
        rows = block.splitlines()
        if rows[0].startswith("|"):
            assert len({row.replace("\\|", "").count("|") for row in rows}) == 1


def test_no_records_no_crash():
    assert "0 of 0 runs" in markdown([])
    assert frame([]).empty


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((math.nan,), "–"),
        ((math.inf, 1.0), "inf"),
        ((1e-12, 2e-13), "1.0e-12 ± 2.0e-13"),
        ((9.0, 0.5, True), "9.0 ± 0.5"),
    ],
)
def test_mean_and_sd(arguments, text):
    assert number(*arguments).text == text
