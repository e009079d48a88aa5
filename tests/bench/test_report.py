"""The suites' own tables: published columns, best cells, ablations, growth, and the page of all results."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from click.testing import CliRunner

from ceql.bench.cli import bench_report
from ceql.bench.problems import load_suite
from ceql.bench.published import published
from ceql.bench.records import Record, append_record
from ceql.bench.results_page import as_latex_file, best_cells, commands, in_order, results_page, sheets
from ceql.bench.sheets import Cell, Sheet, as_latex, as_markdown, escaped, number
from ceql.bench.suite_tables import slope
from ceql.expression import node_count, parse_formula


def record(suite, problem, method, seed, **changes):
    values = {"train_mse": 1e-29, "interp_mse": 1e-28, "extrap_mse": 1e-29, "node_count": 5, "exact": True}
    values |= {"seconds": 1.0, "expression": "1.87*x1 + 2.01", "machine": "a machine", "settings": {"time_limit": 9.0}}
    return Record(suite, problem, "family", method, seed, **(values | changes))


PAPER = [
    record("paper", "E-1", "ceql", 0),
    record("paper", "E-1", "ceql", 1, train_mse=1e-31, expression="x1*1.87 + 2.01"),
    record("paper", "E-1", "operon", 0, interp_mse=1e-3, node_count=3, exact=False),
    record("paper", "E-7", "operon", 0, interp_mse=math.inf, extrap_mse=math.inf, exact=False),
]


def test_the_published_numbers_are_the_papers():
    columns = {c.method: c for c in published("paper")}
    assert set(columns) == {"ceql", "pysr", "eql-div", "sindy"}
    assert columns["ceql"].cell("extrap_mse", "E-9") == pytest.approx((9.7e-7, 19.4e-7))
    assert columns["eql-div"].cell("node_count", "E-2") == pytest.approx((115.4, 38.1))
    assert str(columns["sindy"].cell("interp_mse", "E-8")) == "(71.0, nan)"
    for column in columns.values():
        assert all(column.cell(m, f"E-{k}") for m in ("interp_mse", "extrap_mse", "node_count") for k in range(1, 11))
    assert published("poles") == ()


def test_the_papers_table_marks_the_best_cells():
    interpolation, _, size, formulas = sheets(load_suite("paper"), PAPER)
    assert interpolation.header[:3] == ["", "ceql", "operon"]
    row = dict(zip(interpolation.header, interpolation.rows[0], strict=True))
    # A tie at machine precision counts: SINDy's zero is not better than our rounding.
    assert [name for name, cell in row.items() if cell.best] == ["ceql", "SINDy (paper)"]
    sizes = dict(zip(size.header, size.rows[0], strict=True))
    # Operon's three nodes do not fit.
    assert [name for name, cell in sizes.items() if cell.best] == ["ceql", "CEQL (paper)", "SINDy (paper)"]
    assert "PySR (paper)" in interpolation.note
    assert best_cells([interpolation], "ceql")[0] == 1
    assert formulas.rows[0][2].text == "`1.87*x1 + 2.01`"
    assert formulas.rows[0][4].text == "1.0e-31"


def test_latex_is_balanced_and_escaped():
    text = as_latex_file(load_suite("paper"), PAPER)
    assert text.count(r"\begin{") == text.count(r"\end{")
    assert text.count("{") == text.count("}")
    assert r"{\boldmath\bfseries $(1.0\pm0.0)\times10^{-28}$}" in text
    assert escaped("50 % of a_b & c÷d") == r"50 \% of a\_b \& c$\div$d"


@pytest.mark.parametrize(
    ("values", "text", "tex"),
    [
        ((0.0, 0.0), "0.0e+00 ± 0.0e+00", r"$(0.0\pm0.0)$"),
        ((71.0,), "7.1e+01", r"$7.1\times10^{1}$"),
        ((math.inf, 1.0), "inf", r"$\infty$"),
        ((math.nan,), "–", "--"),
    ],
)
def test_numbers(values, text, tex):
    assert number(*values) == Cell(text, tex)


def test_markdown_keeps_bars_apart():
    text = as_markdown(Sheet("T", ["a|b"], [[Cell("|x|", best=True)]], "note"))
    assert "| **\\|x\\|** |" in text
    assert as_latex(Sheet("T", ["a"], [[Cell("b")]])).startswith(r"\begin{table*}")


TRUTH = "(-2.09*x1 + 1.17*x2 + 0.60*x3 + 0.54)/(-2.02*x1 + 2.32*x2 + 1.86*x3 - 2.84)"
NEARLY = TRUTH.replace("0.54", "0.5401")  # right to two decimals of the cross-multiplied difference, not to 1e-6


def test_the_ablation_stands_beside_the_authors_and_criteria_are_not_mixed():
    suite = load_suite("ablation")
    runs = [
        record("ablation", "A-1", m, s, exact=m == "ceql", expression=TRUTH if m == "ceql" else NEARLY)
        for m in suite.methods
        for s in (0, 1)
    ]
    first, exact, fitted = sheets(suite, runs)
    rows = {row[0].text: [cell.text for cell in row] for row in first.rows}
    assert rows["authors"][2:6] == ["4 of 5", "2 of 2 (0.34–1.00)", "0 of 2 (0.00–0.66)", "2 of 2 (0.34–1.00)"]
    assert rows["ceql"][2:5] == ["–", "2 of 2 (0.34–1.00)", "2 of 2 (0.34–1.00)"]
    theirs = {name: rows[name][2] for name in ("authors-real", "authors-no-skips", "authors-log")}
    assert theirs == {"authors-real": "0 of 5", "authors-no-skips": "4 of 5", "authors-log": "1 of 5"}
    assert {row[0].text: row[2].text for row in exact.rows}["ceql"] == "2/2"
    assert {row[2].text for row in fitted.rows} == {"2/2"}


def test_an_ablation_without_the_reported_problem_has_no_column_of_the_authors():
    suite = load_suite("ablation")
    tables = sheets(suite, [record("ablation", "E-7", "ceql", 0)])
    assert [sheet.header[-1] for sheet in tables] == ["all", "all"]


def test_parts_left_out_have_rates_and_seconds_by_family():
    suite = load_suite("parts")
    exact = {("ceql", "sum-1"), ("ceql", "sum-2"), ("ceql-no-sums", "sum-3")}
    runs = [
        replace(record("parts", problem, method, 0, exact=(method, problem) in exact, seconds=seconds), family="sums")
        for method, seconds in (("ceql", 1.0), ("ceql-no-sums", 3.0))
        for problem in ("sum-1", "sum-2", "sum-3")
    ]
    (sheet,) = sheets(suite, runs)
    whole, without = ([cell.text for cell in row] for row in sheet.rows)
    assert whole[:2] == ["sums", "ceql"]
    assert whole[3].startswith("2 of 3")
    assert whole[5:7] == ["0", "0"]
    assert without[3].startswith("1 of 3")
    assert without[5:7] == ["2", "1"]
    assert without[-1] == "3.0"
    assert "| sums | ceql-no-sums |" in results_page(runs)


def test_the_papers_runs_stand_beside_the_unselected_runs_of_the_authors():
    suite = load_suite("paper")
    runs = [record("paper", "E-9", m, s, train_mse=1e-7 * 10**s) for m in ("ceql-paper", "sindy") for s in (0, 1, 2)]
    *_, fitted, formulas = sheets(suite, runs)
    rows = {row[0].text: [cell.text for cell in row] for row in fitted.rows}
    assert list(fitted.header) == ["", "authors", "ceql-paper"]
    assert rows["E-9"][1:] == ["2 of 10", "1 of 3"]
    assert rows["all"][1].startswith("59 of 100 (0.49–0.68)")
    assert "selected seeds" in fitted.note
    assert formulas.title == "Recovered by ceql-paper"
    size = next(sheet for sheet in sheets(suite, runs) if sheet.title.startswith("Node count"))
    assert "log(x) and sqrt(x)" in size.note


def test_the_form_is_shown_whose_nodes_are_counted():
    text = "2.4800000001*(x1 + 1.0382801)*(x1 - 0.26408501)"
    size = node_count(parse_formula(text, ("x1",), as_written=True))
    runs = [record("paper", "E-3", "ceql", 0, expression=text, node_count=size)]
    formulas = sheets(load_suite("paper"), runs)[-1]
    assert [cell.text for cell in formulas.rows[0][2:4]] == ["`2.48*(x1 - 0.264085)*(x1 + 1.03828)`", "8"]


def test_growth_has_its_slope():
    suite = load_suite("scalability")
    runs = [
        Record(
            "scalability",
            p.name,
            p.family,
            "ceql",
            0,
            exact=True,
            rows=p.n_train,
            columns=len(p.names),
            seconds=0.1 * p.n_train**0.5,
            grown_mb=p.n_train / 1000,
            peak_mb=200.0,
        )
        for p in suite.problems
    ]
    by_columns, by_rows = sheets(suite, runs)
    assert [cell.text for cell in by_rows.rows[-1]] == ["ceql", "slope", "", "", "0.50", "", "1.00"]
    assert by_columns.header[2:] == ["2", "3", "10", "11", "32", "33", "64", "65"]
    assert math.isnan(slope([1, 2], [0.0, math.nan]))


def test_the_page_does_not_depend_on_who_was_done_first():
    assert results_page(PAPER[::-1]) == results_page(PAPER)
    assert [r.key for r in in_order(load_suite("paper"), PAPER[::-1])] == [r.key for r in PAPER]


def test_the_page_says_what_it_was_made_on(tmp_path):
    page = results_page([*PAPER, record("elsewhere", "p", "m", 0)])
    assert "- machine: a machine" in page
    assert "ceql bench paper --problems E-1,E-7 --methods ceql --seeds 0-1 --time-limit 9" in page
    assert "## elsewhere" in page
    assert commands([record("s", "p", "m", seed) for seed in (0, 2)]) == [
        "ceql bench s --methods m --seeds 0,2 --time-limit 9"
    ]
    source, out = tmp_path / "r.jsonl", tmp_path / "results.md"
    for row in PAPER:
        append_record(source, row)
    result = CliRunner().invoke(bench_report, [str(source), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_text().startswith("# Results\n")
    missing = CliRunner().invoke(bench_report, [str(tmp_path / "none.jsonl"), "--out", str(out)])
    assert missing.exit_code == 1
    assert "cannot be read" in str(missing.exception)
