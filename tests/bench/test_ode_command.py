"""Runs on differential equations: methods, records, tables and the command."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ceql.bench.baselines import SYSTEM_METHODS
from ceql.bench.baselines.systems import Library, Pysindy
from ceql.bench.baselines.trajectories import COMPARISON
from ceql.bench.cli import bench
from ceql.bench.errors import BenchError
from ceql.bench.methods import Found, find_method
from ceql.bench.ode_contest import SystemAdapter
from ceql.bench.ode_data import measured, motion_of, true_system
from ceql.bench.ode_judge import score_system
from ceql.bench.ode_tables import is_of_motion, ode_sheets
from ceql.bench.problems import load_problem, load_suite, with_noise, with_subsampling
from ceql.bench.records import Record, append_record, read_records
from ceql.bench.results_page import commands
from ceql.bench.runner import run_suite
from ceql.bench.sheets import as_markdown
from ceql.dynamics.series import Series, Trajectory
from ceql.dynamics.system import System
from ceql.expression import compile_numpy
from ceql.formula import Formula, make_symbols


def linear(states, factors):
    """Every state grows or decays by itself."""
    symbols = make_symbols(tuple(states))
    pairs = zip(factors, symbols, strict=True)
    return System(tuple(states), tuple(Formula(factor * symbol, symbols, 0.0) for factor, symbol in pairs))


@dataclass(frozen=True)
class Growth(SystemAdapter):
    """Finds exponential growth by this rate in every state, or fails."""

    rate: float | None = 0.23

    def discover(self, series: Series, seed: int, time_limit: float) -> Found:
        if self.rate is None:
            raise RuntimeError("out of ideas")
        found = linear(series.states, [self.rate] * len(series.states))
        return Found(found, 0.5, extra={"samples": series.samples})


def some(*names, noise=(0.0,), shares=(0.0,)):
    suite = replace(load_suite("ode"), problems=tuple(map(load_problem, names)))
    return with_noise(with_subsampling(suite, shares), noise)


def test_a_run_has_the_verdicts_in_its_record(tmp_path):
    out = tmp_path / "ode.jsonl"
    suite = some("malthus", "oscillator", noise=(0.0, 0.01), shares=(0.0, 0.5))
    methods = [Growth("right"), Growth("broken", None)]
    records = list(run_suite(suite, methods, [0], out=out))
    assert read_records(out) == records
    found = {(r.problem, r.method): r for r in records}
    assert len(found) == 16
    right = found["malthus[subsample=0.5][noise=0.01]", "right"]
    assert (right.rows, right.columns, right.noise, right.subsample) == (75, 1, 0.01, 0.5)
    assert (right.base_problem, right.structure, right.right_equations) == ("malthus", True, 1)
    assert (right.expression, right.settings["extra"]) == ("dx/dt = 0.23*x", {"samples": 75})
    assert min(right.r2 or 0.0, right.r2_test or 0.0) > 0.999
    wrong = found["oscillator", "right"]
    assert (wrong.structure, wrong.right_equations, wrong.error) == (False, 0, None)
    assert wrong.r2 is not None
    assert wrong.r2 < 0.5
    failed = found["malthus", "broken"]
    assert (failed.error, failed.structure, failed.r2) == ("RuntimeError: out of ideas", False, None)
    again = run_suite(suite, methods, [0], out=out, resume=True)
    assert len(list(again)) == len(read_records(out)) == 16


def test_a_method_for_formulas_says_so():
    (record,) = run_suite(some("malthus"), [find_method("aaa")], [0])
    assert record.error == "MethodError: The method 'aaa' finds formulas, not differential equations."


def run(problem, method, *, r2=1.0, r2_test=1.0, structure=True, states=1, **others):
    noise, subsample = others.pop("noise", 0.0), others.pop("subsample", 0.0)
    name = problem + (f"[subsample={subsample:g}]" if subsample else "") + (f"[noise={noise:g}]" if noise else "")
    scores = {"r2": r2, "r2_test": r2_test, "structure": structure, "right_equations": states * structure}
    data = {"noise": noise, "subsample": subsample, "columns": states, "seconds": 2.0}
    return Record("ode", name, f"odebench; {states} states", method, 0, **scores, **data, **others)


RUNS = (
    run("malthus", "ceql", settings={"time_limit": 60.0}),
    run("sir", "ceql", states=2, r2_test=0.5),
    run("malthus", "pysindy", structure=False, expression="dx/dt = 0.2*x + 1"),
    run("sir", "pysindy", states=2, r2=float("-inf"), r2_test=float("-inf"), structure=False, error="no idea"),
    run("malthus", "ceql", noise=0.01, subsample=0.5),
)


def test_the_tables_have_shares_by_level_method_and_states():
    rates, by_states, missed = ode_sheets(RUNS)
    rows = [[cell.text for cell in row] for row in rates.rows]
    assert rows[0][:8] == ["odebench", "0", "0", "ceql", "2", "100 %", "50 %", "100 %"]
    assert rows[1][:8] == ["odebench", "0", "0", "pysindy", "2", "50 %", "50 %", "0 %"]
    assert rows[2][:5] == ["odebench", "0.01", "0.5", "ceql", "1"]
    marked = {name for name, cell in zip(rates.header, rates.rows[0], strict=True) if cell.best}
    assert marked == {"trajectory", "generalises", "structure"}
    assert [row[1].text for row in by_states.rows] == ["1", "1", "1", "2", "2"]
    assert missed.title == "Missed: 3 of 5 runs"
    assert "`dx/dt = 0.2*x + 1`" in as_markdown(missed)
    assert "no idea" in as_markdown(missed)
    assert is_of_motion(RUNS)
    assert not is_of_motion([Record("paper", "E-1", "", "ceql", 0)])


def test_the_command_of_records_names_what_was_left_out():
    own = [problem.name for problem in load_suite("ode").problems]
    (ceql, pysindy) = commands(RUNS, own)
    assert " --problems malthus,sir --noise 0,0.01 --subsample 0,0.5 --methods ceql " in ceql
    assert "--subsample" not in pysindy


@pytest.mark.parametrize("fourier", [False, True])
def test_the_terms_are_those_of_pysindy(fourier):
    pytest.importorskip("pysindy")
    library = Library(3, fourier)
    x = np.random.default_rng(0).standard_normal((20, 2))
    symbols = make_symbols(("x", "y"))
    values = np.column_stack([compile_numpy(term, symbols)(x) for term in library.terms(symbols)])
    assert np.asarray(library.of_pysindy().fit_transform(x)) == pytest.approx(values)


def test_pysindy_finds_what_its_library_has():
    pytest.importorskip("pysindy")
    (problem,) = some("logistic").problems
    small = Pysindy("pysindy", degrees=(2,), windows=(0,), fourier_degree=1)
    assert score_system(small.discover(measured(problem, 0), 0, 20.0).expression, problem).structure
    (fraction,) = some("enzyme-decay").problems
    assert not score_system(small.discover(measured(fraction, 0), 0, 20.0).expression, fraction).structure


def test_sindy_pi_finds_a_fraction():
    pytest.importorskip("cvxpy")
    (problem,) = some("enzyme-decay").problems
    found = SYSTEM_METHODS["sindy-pi"].discover(measured(problem, 0), 0, 20.0)  # pyright: ignore
    assert score_system(found.expression, problem).structure


def test_the_comparison_takes_the_truth_among_others():
    problem = some("lotka-volterra", noise=(0.02,)).problems[0]
    truth = true_system(problem.variables, motion_of(problem))
    off = replace(truth, formulas=tuple(f.with_expression(1.05 * f.expression) for f in truth.formulas))
    others = [off, linear(("x", "y"), (0.1, -0.2)), linear(("x", "y"), (30.0, 1.0))]
    assert COMPARISON.best([*others, truth], measured(problem, 0)) is truth


def test_of_equally_good_systems_the_comparison_takes_the_smaller():
    time = np.linspace(0.0, 4.0, 60)
    series = Series((Trajectory("1", time, np.exp(-0.5 * time)[:, None], np.zeros((60, 0))),), "t", ("x",))
    small = linear(("x",), (-0.5,))
    (formula,) = small.formulas
    symbol = formula.symbols[0]
    large = replace(small, formulas=(formula.with_expression(formula.expression + 1e-7 * symbol**2),))
    assert COMPARISON.best([large, small], series) is small


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(bench, list(arguments))


def test_the_command_makes_the_tables(tmp_path):
    pytest.importorskip("pysindy")
    out, page = tmp_path / "ode.jsonl", tmp_path / "ode.md"
    for record in RUNS:
        append_record(out, replace(record, settings=settings_of(record.method)))
    asked = ["ode", "--problems", "malthus,sir", "--methods", "ceql,pysindy", "--seeds", "0", "--time-limit", "60"]
    result = invoke(*asked, "--json", str(out), "--resume", "--markdown", str(page))
    assert result.exit_code == 0, result.output
    assert "## Systems of differential equations" in result.stdout
    assert "| odebench | 0 | 0 | ceql | 2 | **100 %** |" in page.read_text()


def settings_of(name):
    method = SYSTEM_METHODS[name]
    return {**method.settings, "time_limit": 60.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ode", "--methods", "operon"], "Unknown method 'operon'.*Known: ceql, pysindy, sindy-pi"),
        (["ode", "--subsample", "half"], "Cannot read the shares of samples 'half'"),
        (["paper", "--subsample", "0.5"], "have no trajectories: leave out --subsample"),
        (["ode", "--problems", "lotka-voltera"], "Did you mean 'lotka-volterra'"),
    ],
)
def test_bad_input_is_explained(arguments, message):
    result = invoke(*arguments)
    assert isinstance(result.exception, BenchError)
    with pytest.raises(BenchError, match=message):
        raise result.exception
