"""A formula is the law if the law's constants can be set so that it has the formula's values."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.bench.definitions import Problem
from ceql.bench.judge import score
from ceql.bench.law_folder import with_tables
from ceql.bench.law_judge import LawJudge
from ceql.bench.points import columns, sample
from ceql.bench.problems import load_suite
from ceql.expression import compile_numpy, parse_formula

FOLDER = Path(os.environ.get("CEQL_LAWS_DATA") or Path(__file__).parents[3] / "shared" / "data" / "laws")
X = np.linspace(0.2, 4.0, 24)
# A law with constants near its solution, and the same law as others may write it, with other numbers.
LAWS = {
    "saturation": ("b1*x/(b2 + x)", {"b1": 3.0, "b2": 0.8}, "2.5/(1 + 0.61/x)"),
    "approach": ("b1*(1 - exp(-b2*x))", {"b1": 3.0, "b2": 0.7}, "2.9 - 2.9*exp(-0.4*x)"),
    "logistic": ("b1/(1 + exp(b2 - b3*x))", {"b1": 3.0, "b2": 2.0, "b3": 1.5}, "2.2*exp(1.3*x)/(exp(1.3*x) + 5.5)"),
    "power": ("b1*x**b2", {"b1": 1.5, "b2": 1.7}, "exp(0.3 + 1.9*log(x))"),
    "wave": ("b1 + b2*sin(b3*x + b4)", {"b1": 1.0, "b2": 2.0, "b3": 2.2, "b4": 0.4}, "0.9 + sin(2*x) + 1.5*cos(2*x)"),
    "shifted power": ("b1*(b2 + x)**(-1/b3)", {"b1": 5.0, "b2": 1.4, "b3": 0.8}, "1/(0.3 + 0.25*x)**1.25"),
    "two decays": (
        "b1*exp(-b2*x) + b3*exp(-b4*x)",
        {"b1": 2.0, "b2": 3.0, "b3": 1.0, "b4": 0.5},
        "0.8*exp(-0.6*x) + 3*exp(-2.5*x)",
    ),
    "fraction": ("(b1 + b2*x)/(1 + b3*x)", {"b1": 1.0, "b2": 3.0, "b3": 0.6}, "4.5 - 3/(0.8 + 0.5*x)"),
}


def problem_of(law: str, start: dict[str, float], x: np.ndarray = X, names: tuple[str, ...] = ("x",)) -> Problem:
    """A table of the law's values at these constants, with a little noise that is the same always."""
    x = x.reshape(-1, len(names))
    known = (*names, *start)
    values = compile_numpy(parse_formula(law, known), columns(known))
    y = values(np.hstack([x, np.tile(list(start.values()), (len(x), 1))]))
    y = y + 0.01 * np.std(y) * np.random.default_rng(0).standard_normal(len(y))
    rows = tuple(tuple(map(float, row)) for row in np.column_stack([x, y]))
    return Problem("table", "", law, names, (), (), data=rows, start=tuple(start.items()))


def judge_of(kind: str) -> LawJudge:
    law, start, _ = LAWS[kind]
    return LawJudge(problem_of(law, start))


JUDGES = {kind: judge_of(kind) for kind in LAWS}


def member(judge: LawJudge, constants) -> sympy.Expr:
    numbers = [sympy.Float(float(f"{value:.6g}")) for value in constants]
    return judge.law.xreplace(dict(zip(judge.constants, numbers, strict=True)))


@pytest.mark.parametrize("kind", LAWS)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_the_law_with_other_constants_is_the_law(kind, data):
    judge = JUDGES[kind]
    factors = data.draw(st.lists(st.floats(0.8, 1.25), min_size=len(judge.start), max_size=len(judge.start)))
    assert judge.is_law(member(judge, judge.start * factors))


@pytest.mark.parametrize("kind", LAWS)
def test_the_law_written_otherwise_is_the_law(kind):
    judge = JUDGES[kind]
    assert judge.is_law(parse_formula(LAWS[kind][2], ("x",)))


@pytest.mark.parametrize("kind", LAWS)
@settings(max_examples=1, deadline=None)
@given(size=st.sampled_from([1e-4, 1e-2]), turns=st.floats(9.0, 11.0))
def test_a_small_term_more_is_another_formula(kind, size, turns):
    judge = JUDGES[kind]
    ripple = sympy.Float(size) * sympy.sin(sympy.Float(turns) * judge.symbols[0])
    assert not judge.is_law(member(judge, judge.best) + ripple)


@pytest.mark.parametrize(("kind", "other"), [("saturation", "approach"), ("approach", "saturation"), ("power", "wave")])
def test_another_law_that_fits_the_table_is_not_the_law(kind, other):
    judge = JUDGES[kind]
    law, start, _ = LAWS[other]
    rival = LawJudge(Problem("t", "", law, ("x",), (), (), data=tuple(map(tuple, np.column_stack([judge.x, judge.y]))),
                             start=tuple(start.items())))  # fmt: skip
    assert not judge.is_law(member(rival, rival.best))


@pytest.mark.parametrize("kind", ["saturation", "approach", "power", "fraction"])
@pytest.mark.parametrize("text", ["1.3*x", "0.7*x + 0.2", "3.0", "0*x + 2"])
def test_limits_and_constants_are_not_the_law(kind, text):
    """A straight line is a saturation that never comes; of a power it is one, and so is a constant of none."""
    found = parse_formula(text, ("x",))
    expected = {("power", "1.3*x"), ("fraction", "1.3*x"), ("fraction", "0.7*x + 0.2")}
    assert JUDGES[kind].is_law(found) == ((kind, text) in expected)


def test_constants_that_a_law_does_not_need_are_no_obstacle():
    judge = LawJudge(problem_of("b1*b2*x + b3", {"b1": 2.0, "b2": 3.0, "b3": 1.0}))
    assert judge.is_law(parse_formula("5.5*x - 0.3", ("x",)))


def test_a_formula_without_a_column_of_the_law_is_not_the_law():
    x = np.random.default_rng(0).uniform(1.0, 3.0, (30, 2))
    judge = LawJudge(problem_of("b1*u/(v - b2)", {"b1": 2.0, "b2": 0.4}, x, ("u", "v")))
    assert judge.is_law(parse_formula("3*u/(2*v - 1.1)", ("u", "v")))
    assert not judge.is_law(parse_formula("3*u", ("u", "v")))


def test_a_formula_without_a_value_inside_the_box_is_not_the_law():
    judge = JUDGES["approach"]
    hidden = parse_formula("2.9*(1 - exp(-0.4*x)) + 0*x", ("x",)) + 1e-12 / (judge.symbols[0] - sympy.Float(2.0001))
    undefined = parse_formula("2.9*(1 - exp(-0.4*x))*sqrt(x - 1)/sqrt(x - 1 + 1e-13)", ("x",))
    assert judge.is_law(hidden)  # a pole so narrow that no point of the grid sees it
    assert not judge.is_law(undefined)


def test_beyond_the_box_a_formula_need_not_have_a_value():
    judge = LawJudge(problem_of("b1*x + b2", {"b1": 2.0, "b2": 1.0}, np.linspace(0.0, 1.0, 20)))
    assert judge.is_law(parse_formula("3*sqrt(x)*sqrt(x) + 2", ("x",)))


def test_what_is_offered_must_fit_as_well_as_the_law():
    judge = JUDGES["saturation"]
    best, poor = member(judge, judge.best), member(judge, judge.best * [1.1, 1.0])
    line = parse_formula("0.6*x + 0.5", ("x",))
    cases = {(best, ()): (True, True), (poor, ()): (True, False), (line, (poor,)): (False, False)}
    cases[line, (line, poor, best)] = (False, True)
    for (chosen, offer), expected in cases.items():
        verdict = judge.verdict(chosen, offer)
        assert (verdict.chosen, verdict.offered) == expected


def test_an_exact_table_leaves_room_for_rounding():
    law, start, _ = LAWS["saturation"]
    y = 3.0 * X / (0.8 + X)
    exact = Problem("t", "", law, ("x",), (), (), data=tuple(zip(X, y, strict=True)), start=tuple(start.items()))
    assert LawJudge(exact).verdict(parse_formula("3.00000001*x/(0.8 + x)", ("x",)), ()).offered


def test_a_long_table_is_judged_by_some_of_its_rows():
    judge = LawJudge(problem_of(*LAWS["approach"][:2], np.linspace(0.2, 4.0, 20_001)))
    assert len(judge.y) == 3334
    assert judge.verdict(member(judge, judge.best), ()).offered
    assert not judge.is_law(parse_formula("2.5*x/(1 + x)", ("x",)))


def test_a_score_on_a_table_names_the_formula():
    problem = problem_of(*LAWS["saturation"][:2])
    found = score("2.5*x/(0.7 + x)", problem, sample(problem, 3), ["x + 1", "3*x/(0.8 + x)"])
    assert (found.chosen, found.name) == (True, "Michaelis-Menten")
    assert (found.exact, found.symbolic_solution, found.front_solution, found.extrap_mse) == (False, False, None, None)
    assert found.r2 > 0.5


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the measured tables are not at {FOLDER}")
def test_every_measured_law_is_recognised_at_six_digits():
    for problem in with_tables(load_suite("laws"), FOLDER).problems:
        judge = LawJudge(problem)
        verdict = judge.verdict(member(judge, judge.best), ())
        assert verdict.chosen, problem.name
