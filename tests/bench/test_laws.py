"""`ceql bench laws FOLDER`: measured tables with a known law, as a user meets them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ceql.bench.baselines import METHODS
from ceql.bench.baselines.own import Own
from ceql.bench.cli import bench, bench_report
from ceql.bench.errors import BenchError, SuiteError
from ceql.bench.law_folder import with_tables
from ceql.bench.methods import Adapter, Found, find_method
from ceql.bench.points import sample
from ceql.bench.problems import load_suite
from ceql.bench.records import read_records
from ceql.bench.results_page import on_screen
from ceql.bench.runner import run_suite

X = np.linspace(0.5, 6.0, 12)
GOOD = {
    "table": "uptake", "rows": "12", "target": "rate", "law": "b1*dose/(b2 + dose)", "start": '{"b1": 3, "b2": 1}',
    "origin": "made",
}  # fmt: skip


def write_table(folder: Path, name: str, y: np.ndarray, columns: tuple[str, str] = ("dose", "rate")) -> None:
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *zip(X, y, strict=True)])


def write_list(folder: Path, *rows: dict[str, str]) -> None:
    with (folder / "laws.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two tables: a fraction, which a method for fractions finds, and a noisy exponential, which it does not."""
    place = tmp_path / "measured"
    place.mkdir()
    write_table(place, "uptake", 2.5 * X / (0.7 + X))
    noise = 0.02 * np.random.default_rng(0).standard_normal(len(X))
    write_table(place, "decay", 4.0 * np.exp(-0.5 * X) + noise, ("time", "volts"))
    decay = {"table": "decay", "target": "volts", "law": "b1*exp(-b2*time)", "start": '{"b1": 3.5, "b2": 0.4}'}
    write_list(place, GOOD, {**GOOD, **decay})
    return place


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(bench, list(arguments))


def test_a_folder_becomes_a_suite(folder):
    suite = with_tables(load_suite("laws"), folder)
    first, second = suite.problems
    assert (first.name, first.variables, first.family) == ("uptake", ("dose",), "made")
    assert second.start == (("b1", 3.5), ("b2", 0.4))
    one, other = sample(first, 0), sample(first, 7)
    assert np.array_equal(one.X_train, X[:, None])
    assert np.array_equal(one.y_train, other.y_train)
    assert suite.methods == ("ceql", "ceql-without-catalogue", "operon", "gplearn")


def test_found_and_missed_laws_are_recorded_and_shown(folder, tmp_path):
    out, page, tex = tmp_path / "laws.jsonl", tmp_path / "laws.md", tmp_path / "laws.tex"
    arguments = ["laws", str(folder), "--methods", "aaa", "--seeds", "0-1", "--json", str(out)]
    result = invoke(*arguments, "--markdown", str(page), "--latex", str(tex))
    assert result.exit_code == 0, result.output
    found, missed, *_ = read_records(out)
    assert (found.problem, found.chosen, found.offered, found.name) == ("uptake", True, True, "Michaelis-Menten")
    assert (missed.problem, missed.chosen, missed.law) == ("decay", False, "b1*exp(-b2*time)")
    assert found.expression
    assert found.r2 == pytest.approx(1.0)
    assert (found.rows, found.columns, found.outcome, found.error) == (12, 1, None, None)
    for text in (result.stdout, page.read_text()):
        assert "| aaa | 2 | 4 | 2 (50 %) |" in text
        assert "| decay | `b1*exp(-b2*time)` | 0, 0 of 2 |" in text
        assert "Law not chosen: 2 of 4 runs" in text
        assert "exact" not in text
    assert r"\texttt{b1*exp(-b2*time)}" in tex.read_text()
    again = invoke(*arguments, "--resume")
    assert again.exit_code == 0, again.output
    assert len(read_records(out)) == 4
    made = CliRunner().invoke(bench_report, [str(out), "--out", str(page)])
    assert made.exit_code == 0, made.output
    assert "## Measured tables with a known law" in page.read_text()
    assert "`ceql bench laws FOLDER --methods aaa --seeds 0-1" in page.read_text()


@dataclass(frozen=True)
class Offers(Adapter):
    """Chooses a line and offers more, or fails."""

    offer: tuple[str, ...] = ()
    fails: bool = False

    def run(self, X, y, names, seed, time_limit):
        if self.fails:
            raise RuntimeError("out of ideas")
        line = f"0.1*{names[0]} + 1"
        return Found(line, 0.5, front=tuple(text.format(names[0]) for text in self.offer), outcome="settled")


def test_what_a_method_gives_beside_its_choice_counts_as_offered(folder):
    suite = with_tables(load_suite("laws"), folder)
    methods = [
        Offers("rich", ("{0} + 1", "2.5/(0.7/{0} + 1)")),
        Offers("poor", ("9*{0}/(3 + {0})",)),
        Offers("broken", fails=True),
    ]
    records = list(run_suite(suite, methods, [0], 3))
    assert [r.problem for r in records if r.offered] == ["uptake"]
    assert {r.method for r in records if r.offered} == {"rich"}
    assert not any(r.chosen for r in records)
    assert {r.outcome for r in records} == {"settled", None}
    assert {r.law for r in records if r.method == "broken"} == {p.expression for p in suite.problems}
    shown = on_screen(suite, records)
    assert "| rich | 2 | 2 | 0 (0 %) | 1 (50 %) |" in shown
    assert "| broken | 2 | 2 | 0 (0 %) | 0 (0 %) | – |" in shown
    assert "RuntimeError: out of ideas" in shown


def test_long_formulas_are_cut_in_the_tables(folder):
    suite = with_tables(load_suite("laws"), folder)
    long = Offers("long")
    records = list(run_suite(suite, [long], [0], 3))
    text = " + ".join(f"sin({k}.5*dose)" for k in range(40))
    shown = on_screen(suite, [records[0].__class__(**{**records[0].__dict__, "expression": text})])
    assert text not in shown
    assert f"{text[:120]} ..." in shown


def test_the_catalogue_is_switched_off_by_a_setting():
    suite = load_suite("laws")
    without = find_method("ceql-without-catalogue", None, suite.variants)
    assert (without.name, without.settings["catalogue"]) == ("ceql-without-catalogue", False)
    assert METHODS["ceql"].settings["catalogue"] is True
    assert "catalogue" not in Own("ceql").arguments(0, 1.0)


def test_methods_and_settings_of_the_suite_exist():
    suite = load_suite("laws")
    for name in (*suite.methods, *suite.settings):
        assert find_method(name, suite.settings.get(name), suite.variants).name == name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": "upteke"}, "table 'upteke': there is no file .*upteke.csv. Add it"),
        ({"table": "../uptake"}, "named without a folder"),
        ({"target": "rat"}, "no column 'rat', which is the target. Did you mean 'rate'. Its columns: dose, rate"),
        ({"law": "b1*dose/(b2 + "}, "its law .* is not a formula in dose, b1, b2: "),
        ({"law": "b1*doze/(b2 + dose)"}, "its law .* is not a formula in dose, b1, b2: .*doze"),
        ({"law": "__import__('os')"}, "is not a formula"),
        ({"law": ""}, "the column 'law' is empty"),
        ({"law": "b1 + b2"}, "depends on no column"),
        ({"law": "b1*dose"}, "its start has the constant 'b2', which is not in the law"),
        ({"law": "b1*sqrt(b2 - dose)"}, "no value on row 3 of the table for its start: give others"),
        ({"start": "b1 = 3"}, "its start 'b1 = 3' cannot be read .*: write the constants as JSON"),
        ({"start": "[3, 1]"}, "is not a table of numbers: write the constants as JSON"),
        ({"start": '{"b1": "three", "b2": 1}'}, "is not a table of numbers"),
        ({"start": '{"b1": 3, "b2": NaN}'}, "is not a table of numbers"),
        ({"start": "{}"}, "is not a table of numbers"),
        ({"start": '{"dose": 3, "b2": 1}', "law": "b2*dose"}, "'dose' is a column and a constant"),
        ({"rows": "13"}, "the list says 13 rows and uptake.csv has 12"),
        ({"rows": "many"}, "the list says many rows and uptake.csv has 12"),
    ],
)
def test_what_is_wrong_with_a_row_is_said(folder, changes, message):
    write_list(folder, {**GOOD, **changes})
    with pytest.raises(SuiteError, match=message):
        with_tables(load_suite("laws"), folder)


def test_what_is_wrong_with_a_table_is_said(folder):
    (folder / "uptake.csv").write_text("dose,rate\n1,2\n2,three\n", encoding="utf-8")
    with pytest.raises(SuiteError, match=r"line 3, column 'rate': 'three' is not a number"):
        with_tables(load_suite("laws"), folder)
    write_table(folder, "uptake", np.ones(len(X)))
    with pytest.raises(SuiteError, match="the target 'rate' is the same on every row"):
        with_tables(load_suite("laws"), folder)


def test_what_is_wrong_with_the_list_is_said(folder):
    write_list(folder, GOOD, GOOD)
    with pytest.raises(SuiteError, match="two rows are about the table 'uptake'"):
        with_tables(load_suite("laws"), folder)
    write_list(folder, {name: value for name, value in GOOD.items() if name != "start"})
    with pytest.raises(SuiteError, match=r"has no column 'start'\. It needs table, target, law, start"):
        with_tables(load_suite("laws"), folder)
    for content, message in ((b"", "is empty"), (b"table,law\n", "no rows"), (b"table,law\n\xff\xfe,x\n", "encoded")):
        (folder / "laws.csv").write_bytes(content)
        with pytest.raises(SuiteError, match=message):
            with_tables(load_suite("laws"), folder)


def test_rows_and_origin_may_be_left_out(folder):
    write_list(folder, {name: value for name, value in GOOD.items() if name not in ("rows", "origin")})
    (problem,) = with_tables(load_suite("laws"), folder).problems
    assert (problem.family, problem.n_train) == ("", 12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["laws"], "Name the folder of the tables: ceql bench laws FOLDER"),
        (["laws", "nowhere"], "There is no folder nowhere. Name one that holds laws.csv"),
        (["laws", "file"], "file is a file. Name the folder"),
        (["laws", "empty"], "empty has no laws.csv: write one with the columns table, target, law, start"),
        (["paper", "empty"], "The suite 'paper' has problems of its own: leave out 'empty'"),
        (["laws", "measured", "--noise", "0.1"], "are measured and have their noise: leave out --noise"),
        (["laws", "measured", "--problems", "upteke"], "Did you mean 'uptake'"),
    ],
)
def test_bad_arguments_are_explained(arguments, message, folder, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, BenchError)
    assert message in str(result.exception)
