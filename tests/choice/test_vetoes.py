"""What is struck, with which sentence; and that laws which the rows show are kept."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.bench.problems import load_problem, sample
from ceql.choice.vetoes import Vetoes, VetoPolicy, fewer, struck
from ceql.data.dataset import Dataset
from ceql.engine.deadline import Deadline
from ceql.expression import parse_formula
from ceql.expression.constants.refit import best_of_starts
from ceql.expression.evaluate.poles import find_poles
from ceql.formula import Formula, as_it_stands, constant_formula, make_symbols, refitted

LAWS = Path(__file__).parents[3] / "shared" / "data" / "laws"
seeds = st.integers(0, 2**32 - 1)


def table(y, **columns) -> Dataset:
    return Dataset.of(pd.DataFrame(columns), y)


def written(text: str, data: Dataset) -> Formula:
    """With the constants that it has."""
    formula = as_it_stands(parse_formula(text, data.names), data, make_symbols(data.names))
    assert formula is not None
    return formula


def fitted(text: str, data: Dataset) -> Formula:
    formula = refitted(parse_formula(text, data.names), data, make_symbols(data.names))
    assert formula is not None
    return formula


def noisy(y: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    return y + share * np.std(y) * np.random.default_rng(seed).standard_normal(len(y))


# ---- poles --------------------------------------------------------------------------------------------------------


def smooth_curve(seed: int, rows: int = 60, noise: float = 0.01) -> Dataset:
    x = np.linspace(0.0, 4.0, rows)
    return table(noisy(2 * np.exp(-0.7 * x) + 0.1, noise, seed), x=x)


def test_a_pole_that_no_row_shows_is_struck_with_its_place_and_its_rows():
    data = smooth_curve(0)
    formula = written("(2.0*exp(-0.7*x) + 0.1)*(x - 1.5301)/(x - 1.53)", data)
    assert struck(formula, data) == "has a pole at x = 1.53, between the rows at 1.49153 and 1.55932, that no row shows"


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(0, 58), st.floats(0.1, 0.9), st.floats(1e-5, 1e-3), st.sampled_from((-1, 1)))
def test_planted_doublets_on_smooth_curves_are_struck(seed, gap, part, apart, sign):
    data = smooth_curve(seed)
    pole = float(data.x[gap, 0] + part * (data.x[gap + 1, 0] - data.x[gap, 0]))
    formula = written(f"(2.0*exp(-0.7*x) + 0.1)*(x - {pole + sign * apart!r})/(x - {pole!r})", data)
    assert "a pole at x" in str(struck(formula, data))


def series(pole_of: float = 0.0, noise: float = 0.003) -> Dataset:
    """Three series over t; the last has a gap after its first row, where t + 0.4*(3 - a) - 2.15 vanishes."""
    t = np.linspace(2.0, 4.0, 30)
    late = np.concatenate([[2.0], np.linspace(2.3, 4.0, 29)])
    a, t = np.repeat([1.0, 2.0, 3.0], 30), np.concatenate([t, t, late])
    y = 1 / t + 0.1 * a + pole_of / (t + 0.4 * (3 - a) - 2.15)
    return table(noisy(y, noise), a=a, t=t)


def test_a_doublet_in_the_gap_of_a_series_is_struck():
    """Its rows are farther apart than others in two columns, and nothing else lies between them."""
    why = struck(written("1/t + 0.1*a + 0.0002/(t - 0.4*a - 0.95)", series()), series())
    assert why is not None
    assert "between the rows at (a = 3, t = 2) and (a = 3, t = 2.3), that no row shows" in why


def test_a_pole_in_the_gap_of_a_series_that_rows_show_is_kept():
    data = series(pole_of=0.3)
    assert struck(fitted("1/t + 0.1*a + 0.3/(t - 0.4*a - 0.95)", data), data) is None


@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(0, 38))
def test_poles_that_bend_a_single_row_are_struck(seed, gap):
    data = smooth_curve(seed, rows=40)
    pole = float(0.2 * data.x[gap, 0] + 0.8 * data.x[gap + 1, 0])
    formula = fitted(f"2.0*exp(-0.7*x) + 0.1 + 0.0001/(x - {pole!r})", data)
    inside = find_poles(formula.expression, formula.symbols, data.x.min(axis=0), data.x.max(axis=0))
    assert not inside or struck(formula, data) is not None


@settings(max_examples=30, deadline=None)
@given(seeds, st.floats(0.1, 1.5), st.integers(20, 200))
def test_poles_with_rows_on_both_sides_are_kept(seed, pole, rows):
    x = np.random.default_rng(seed).uniform(-2, 2, rows)
    x = x[np.abs(x - pole) > 0.01]
    data = table(noisy(1.7 / (x - pole), 0.01, seed), x=x)
    assert struck(fitted(f"1.7/(x - {pole!r})", data), data) is None


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.01])
@pytest.mark.parametrize(
    "law", ["tan(x)", "1.3*tan(1.1*x)", "2.1/(x - 1.3)**2 + 0.5", "2.1/(1.69 - 2.6*x + x**2)", "x/sin(x)"]
)
def test_real_poles_are_kept(law, noise):
    x = np.linspace(0.31, 5.9, 90)
    y = written(law, table(x, x=x))(x[:, None])
    data = table(noisy(y, noise), x=x)
    assert struck(fitted(law, data), data) is None


@settings(max_examples=20, deadline=None)
@given(seeds, st.floats(0.2, 0.8), st.floats(0.6, 3.0))
def test_a_narrow_resonance_that_three_rows_show_is_kept(seed, place, rows_wide):
    x = np.linspace(0.0, 1.0, 101)
    width = 0.01 * rows_wide
    data = table(noisy(1e-3 / ((x - place) ** 2 + width**2) + x, 0.01, seed), x=x)
    assert struck(fitted(f"0.001/((x - {place!r})**2 + {width**2!r}) + 1.0*x", data), data) is None


def test_a_peak_between_two_rows_is_struck():
    data = smooth_curve(0)
    formula = written("2.0*exp(-0.7*x) + 0.1 + 0.0000001/((x - 1.56)**2 + 0.0000000001)", data)
    sentence = struck(formula, data)
    assert sentence is not None
    assert sentence.startswith("rises to 1001 at x = 1.56, between the rows at 1.55932 and 1.62712")


def test_a_fraction_of_columns_has_a_pole_and_is_kept():
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(-1, 1, (3, 200))
    data = table(noisy(a / (b - c), 0.01), a=a, b=b, c=c)
    assert struck(written("a/(b - c)", data), data) is None
    assert struck(fitted("1.1*a/(b - 1.02*c)", data), data) is None


def test_a_doublet_in_several_columns_is_struck():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 200))
    data = table(noisy(a + b**2, 0.01), a=a, b=b)
    sentence = struck(written("(a + b**2)*(a - 1.1*b + 0.10001)/(a - 1.1*b + 0.1)", data), data)
    assert "has a pole where a - 1.1*b + 0.1 = 0, between the rows at (a = " in str(sentence)


def test_a_pole_on_a_point_that_is_looked_at_is_seen():
    x = np.arange(40.0)
    data = table(noisy(0.5 * x + 1, 0.01), x=x)
    assert "a pole at x = 11.5, " in str(struck(written("(0.5*x + 1)*(x - 11.4999)/(x - 11.5)", data), data))


def test_0_over_0_is_no_pole():
    x = np.linspace(-2.0, 2.1, 50)
    data = table(noisy(np.sin(x - 0.3) / (x - 0.3), 0.01), x=x)
    assert struck(written("sin(x - 0.3)/(x - 0.3)", data), data) is None


def test_values_far_from_all_rows_are_struck():
    x = np.arange(12.0)
    data = table(noisy(x, 0.01), x=x)
    sentence = struck(written("x + 50*(sin(pi*x))**2", data), data)
    assert sentence is not None
    assert "though all rows lie between" in sentence or "periods of" in sentence
    bumps = struck(
        written("x + 0.0001*x*(x-1)*(x-2)*(x-3)*(x-4)*(x-5)*(x-6)*(x-7)*(x-8)*(x-9)*(x-10)*(x-11)", data), data
    )
    assert "though all rows lie between" in str(bumps)


# ---- frequencies --------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.integers(8, 60), st.floats(1.1, 30.0), seeds)
def test_sines_faster_than_the_rows_are_struck(rows, times, seed):
    x = np.linspace(0.0, 1.0, rows)
    frequency = times * np.pi * rows
    data = table(noisy(3 * np.sin(frequency * x) + x, 0.01, seed), x=x)
    sentence = struck(written(f"3.0*sin({frequency!r}*x) + x", data), data)
    assert f"but {rows} different rows can show at most {(rows - 1) / 2:.4g}" in str(sentence)


@pytest.mark.parametrize(
    ("phase", "kept"),
    [
        ("1.3*x + 0.0951*k", False),  # seven turns along k, of which there are five values
        ("1.3*x + 0.02*k", True),
        ("0.004*x*k", True),  # every x shows another part of the turns along k
    ],
)
def test_few_values_of_a_column_show_no_fast_turns_along_it(phase, kept):
    x, k = (grid.ravel() for grid in np.meshgrid(np.linspace(0.0, 9.0, 30), [15.0, 60.0, 126.0, 252.0, 507.0]))
    law = f"2.0*sin({phase}) + x"
    y = written(law, table(x, x=x, k=k))(np.column_stack([x, k]))
    data = table(noisy(y, 0.01), x=x, k=k)
    sentence = struck(written(law, data), data)
    assert sentence is None if kept else "its 5 different values can show at most 2" in str(sentence)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 0.85), seeds)
def test_fitted_frequencies_of_less_than_a_period_are_struck(periods, seed):
    x = np.linspace(0.0, 10.0, 40)
    frequency = 2 * np.pi * periods / 10
    data = table(noisy(37 - 30 * np.cos(frequency * x), 0.01, seed), x=x)
    sentence = struck(written(f"37.0 - 30.0*cos({frequency!r}*x)", data), data)
    assert sentence is not None
    assert sentence.endswith(f"of which the rows cover only {periods:.2g} of a period")


@pytest.mark.parametrize(
    ("law", "last"),
    [
        ("2.0*cos(x)**2", np.pi / 2),  # Malus
        ("2.0*cos(0.017453*x)**2", 90.0),  # the same in degrees
        ("2.0*cos(pi*x/180)**2", 90.0),
        ("1.3*sin(2*x)", np.pi / 2),  # range of a projectile
        ("1.3*sin(x + 0.3)", 2.0),
        ("2.0*exp(-0.2*x)*cos(1.9*x)", 12.0),
        ("3.0 + 1.7*sin(0.75*x + 0.6)", 10.0),
        ("1.5*cos(0.4*x)**2", 10.0),  # 1.3 periods of the square
        ("2.0*sin(1.1*x) + 0.7*cos(1.1*x)", 6.0),
    ],
)
def test_sines_that_the_rows_show_are_kept(law, last):
    x = np.linspace(0.0, last, 30)
    y = written(law, table(x, x=x))(x[:, None])
    data = table(noisy(y, 0.02), x=x)
    assert struck(fitted(law, data), data) is None


# ---- undefined ----------------------------------------------------------------------------------------------------


def test_no_value_between_rows_is_struck():
    x = np.linspace(0.0, 4.0, 41)
    data = table(noisy(np.abs(x - 1.95), 0.01), x=x)
    assert (
        struck(written("sqrt((x - 1.95)**2 - 0.0001)", data), data)
        == "has no value at x = 1.95, between the rows at 1.9 and 2"
    )
    assert "has no value" in str(struck(written("log((x - 1.953)**2 - 0.0000001) + x", data), data))
    assert "has no value" in str(struck(written("((x - 1.95)**2 - 0.0004)**0.3 + x", data), data))


def test_a_gap_that_the_law_itself_leaves_is_kept():
    x = np.random.default_rng(0).uniform(-3, 3, 150)
    x = x[x**2 > 1]
    data = table(noisy(2 * np.sqrt(x**2 - 1), 0.01), x=x)
    assert struck(written("2.0*sqrt(x**2 - 1)", data), data) is None


# ---- constants ----------------------------------------------------------------------------------------------------


def test_constants_that_the_rows_do_not_determine_are_struck_and_done_without():
    x = np.linspace(0.0, 4.0, 50)
    data = table(noisy(2 * x / (x + 1.3), 0.01), x=x)
    formula = fitted("2.0*x/(1.0001*x + 1.3)", data)
    assert "its standard error is infinite" in str(struck(formula, data))
    best = fewer(formula, data)[0]
    assert best.loss == pytest.approx(formula.loss, rel=1e-2)
    assert all(np.isfinite(error) for _, error in best.constants)
    assert struck(best, data) is None


def test_several_scales_are_fixed_one_after_the_other():
    x = np.linspace(0.1, 4.0, 80)
    data = table(noisy(2 / (x + 1.3) + 1 / (4.8 - x), 0.001), x=x)
    formula = fitted("3.9/(1.95*x + 2.5) + 1.5/(7.2 - 1.5*x)", data)
    best = fewer(formula, data)[0]
    assert best.loss == pytest.approx(formula.loss, rel=1e-2)
    assert struck(best, data) is None


def test_a_constant_far_below_its_error_is_struck_where_another_formula_does_without():
    x = np.linspace(0.0, 4.0, 50)
    data = table(noisy(2 * x + 1, 0.1), x=x)
    formula = written("2.0*x + 1.0 + 0.0000001*exp(0.9*x)", data)
    sentence = struck(formula, data)
    assert sentence is not None
    assert "has the constant 1e-07 with a standard error of" in sentence
    assert sentence.endswith("fits as well without it")


def test_an_offset_near_zero_is_kept_and_offered_without():
    x = np.linspace(1.0, 4.0, 50)
    data = table(noisy(2 * x + 0.02, 0.05, 1), x=x)
    formula = written("2.0*x + 0.02", data)
    value, error = formula.constants[0]
    assert value < error < 5 * value
    assert struck(formula, data) is None
    assert [len(without.constants) for without in fewer(formula, data)] == [1]


def test_constants_out_of_all_proportion_are_struck():
    x = np.linspace(1.0, 4.0, 50)
    data = table(noisy(x, 0.01), x=x)
    assert "out of all proportion" in str(struck(written("x + 1.0e-119*x**2", data), data))


def test_large_numbers_that_make_up_for_units_are_kept():
    x = np.linspace(1e14, 9e14, 50)
    data = table(noisy(6.62607e-34 * x, 0.01), x=x)
    assert struck(fitted("6.6e-34*x", data), data) is None


def test_constants_of_another_form_are_worked_out_anew():
    x = np.linspace(0.0, 4.0, 50)
    data = table(noisy(2 * x / (x + 1.3), 0.01), x=x)
    formula = fitted("2.0*x/(x + 1.3)", data)
    other = formula.with_expression(parse_formula("3.0*x/(1.5*x + 1.95)", data.names))
    assert "infinite" in str(struck(other, data))


# ---- never --------------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(
        [
            "(2.1*x + 0.3)*(x - 1.5301)/(x - 1.53)",
            "sin(0.1*x)",
            "sin(900.5*x)",
            "1.3*sqrt((x - 1.95)**2 - 0.0001)",
            "2.0*x/(3.0*x + 5.1)",
        ]
    ),
    seeds,
)
def test_exact_formulas_are_never_struck(law, seed):
    x = np.random.default_rng(seed).uniform(0, 4, 100)
    x = x[np.abs(x - 1.95) > 0.02]
    y = written(law, table(x, x=x))(x[:, None])
    data = table(y, x=x)
    assert struck(written(law, data), data) is None


def test_small_odd_and_wide_tables_are_no_problem():
    two = table(np.array([1.0, 2.0]), x=[0.0, 1.0])
    assert isinstance(struck(fitted("1.1*x + 0.9", two), two), str)  # two rows leave no errors
    assert struck(constant_formula(two), two) is None
    with pytest.warns(UserWarning, match="constant"):
        same = table(np.ones(5), x=np.arange(5.0))
    assert struck(constant_formula(same), same) is None
    replicas = table(np.array([1.0, 1.1, 0.9, 1.05]), x=np.ones(4), z=np.ones(4))
    assert struck(written("2/(x + z)", replicas), replicas) is None
    rng = np.random.default_rng(0)
    wide = Dataset.of(rng.standard_normal((30, 100)), rng.standard_normal(30))
    assert struck(written("x1*x50 + 0.5/(x3 - 0.1)", wide), wide) is not None
    long = Dataset.of(rng.uniform(0, 1, (30_000, 1)), rng.standard_normal(30_000))
    assert struck(written("0.1*x1", long), long) is None


def test_one_table_serves_many_formulas_and_the_policy_counts():
    data = smooth_curve(0)
    formula = written("(2.0*exp(-0.7*x) + 0.1)*(x - 1.5301)/(x - 1.53)", data)
    vetoes = Vetoes(data)
    assert vetoes.sentence(formula) == vetoes.sentence(formula) == struck(formula, data)
    assert struck(formula, data, VetoPolicy(far=1e9)) is None


def laws() -> list[dict[str, str]]:
    if not (LAWS / "laws.csv").exists():
        return []
    with (LAWS / "laws.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.skipif(not laws(), reason=f"needs the measured tables in {LAWS}")
@pytest.mark.parametrize("law", laws(), ids=lambda law: law["table"])
def test_laws_of_measured_tables_are_kept(law):
    rows = pd.read_csv(LAWS / f"{law['table']}.csv")
    data = Dataset.of(rows.iloc[:, :-1], rows.iloc[:, -1])
    start = json.loads(law["start"])
    names = [*data.names, *start]
    unknown = [parse_formula(name, names) for name in start]
    values = np.array([list(start.values())], float)
    symbols = make_symbols(data.names)
    fit, _ = best_of_starts(parse_formula(law["law"], names), unknown, values, symbols, data.x, data.y)
    formula = refitted(fit, data, symbols)
    assert formula is not None
    assert struck(formula, data) is None


@pytest.mark.parametrize(
    "name",
    ["E-5", "E-7", "E-9", "E-10", "linrat-5", "quadrat2-5", "poles-6", "rootquad-1", "ofratio-7", "exp-3", "sine-5"],
)
def test_true_formulas_of_the_suites_are_kept_under_noise(name):
    problem = load_problem(name)
    drawn = sample(problem, 1)
    data = Dataset.of(pd.DataFrame(drawn.X_train, columns=list(drawn.names)), noisy(drawn.y_train, 0.01))
    formula = fitted(problem.expression, data)
    # As they are written there, some have a scale too many.
    formula = min([formula, *fewer(formula, data)], key=lambda f: (not is_determined(f), f.loss))
    assert struck(formula, data) is None


def is_determined(formula: Formula) -> bool:
    return all(np.isfinite(error) for _, error in formula.constants)


def test_no_refit_begins_when_the_time_is_up():
    data = Dataset.of(np.linspace(1.0, 2.0, 30)[:, None], np.linspace(2.0, 4.0, 30))
    formula = as_it_stands(parse_formula("2.01*x1 + 1.5e-9*sin(x1)", data.names), data, make_symbols(data.names))
    assert formula is not None
    assert fewer(formula, data)
    assert fewer(formula, data, until=Deadline.after(-1.0)) == []
