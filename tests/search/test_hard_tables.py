"""Losses on tables that leave them little to go by: y mostly zero, rows without a finite loss, long tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

from ceql import CEQLRegressor, CeqlWarning, Constraints, Dataset, InputError, Settings, discover
from ceql.data.dataset import typical_size
from ceql.formula import Formula, make_symbols
from ceql.search.judgement import constant_for, judged, seconds_for_judging
from ceql.search.losses import DEAREST, Loss, read_loss, robust_scale
from ceql.search.policy import HitPolicy, ReweightingPolicy, SearchPolicy
from ceql.search.reweighting import agreement_with_neighbours, first_weights, with_weight

STEEP = "exp(residual**2) - 1"
RELATIVE = "residual**2/y**2"
NONE = Constraints()
SYMBOLS = make_symbols(("x1", "x2"))
X1, X2 = SYMBOLS


def fitted(x, y, loss, seconds=0.3):
    return CEQLRegressor(loss=loss, time_limit=seconds, threads=1, verbose=False).fit(x, y)


def two_columns(rows=100, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, 2))


# ---- fits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["huber", "absolute", "cauchy", "log-cosh", STEEP, "log(1 + residual**2)"])
def test_the_formula_of_a_y_that_is_zero_but_for_one_row_is_zero(loss):
    found = fitted(two_columns(), np.eye(100)[0], loss).discovery_
    assert found.best.expression == 0
    assert np.isfinite([formula.loss for formula in found.front]).all()


@pytest.mark.parametrize("loss", ["huber", "cauchy"])
def test_counts_that_are_mostly_zero_have_a_front(loss):
    rng = np.random.default_rng(5)
    found = fitted(rng.normal(size=(100, 2)), rng.poisson(0.5, 100).astype(float), loss).discovery_
    assert np.isfinite([formula.loss for formula in found.front]).all()


def test_where_a_loss_overflows_for_every_formula_the_fit_says_so():
    y = 1e3 * np.random.default_rng(1).standard_cauchy(100)
    with pytest.warns(CeqlWarning, match="has no finite value for .* grows less fast"):
        found = fitted(two_columns(), y, STEEP).discovery_
    assert np.isfinite([formula.loss for formula in found.front]).all()


def test_a_formula_with_a_finite_loss_is_reported_where_the_constant_has_none():
    x = two_columns()
    y = 100.0 * x[:, 0] + 0.1 * np.random.default_rng(1).normal(size=100)
    found = fitted(x, y, STEEP).discovery_
    assert found.best.loss < 1.0
    assert X1 in found.best.expression.free_symbols


def test_one_row_that_is_wrong_by_decades_does_not_make_a_constant_exact():
    x = two_columns()
    y = 2.0 * x[:, 0] + 0.1 * np.random.default_rng(1).normal(size=100)
    y[0] = 1e20
    assert X1 in fitted(x, y, "cauchy").discovery_.best.expression.free_symbols


def test_a_row_for_which_no_formula_has_a_loss_is_named_before_the_search():
    y = np.linspace(1.0, 2.0, 100)
    y[7] = 0.0
    with pytest.raises(InputError, match=r"no finite value in row 7, where y = 0.* abs\(y\) \+ 1"):
        fitted(two_columns(), y, RELATIVE)
    y[50:] = 0.0
    with pytest.raises(InputError, match=r"row 7 \(nor in 50 more\)"):
        read_loss(RELATIVE, y)


# ---- losses -------------------------------------------------------------------------------------------------------


def test_a_loss_may_be_undefined_for_a_perfect_prediction_and_overflow_for_a_bad_one():
    y = np.array([0.0, 1.0, 2.0])
    by_prediction = read_loss("residual**2/abs(prediction)", y)
    assert by_prediction is not None
    np.testing.assert_allclose(by_prediction.cost(y, np.array([0.0, 0.5, 2.0]), 1.0), [0.0, 0.5, 0.0])
    steep = read_loss(STEEP, 1e12 + y)
    assert steep is not None
    assert steep.cost(y, np.array([0.0, 1.0, 1e3]), 1.0).tolist() == [0.0, 0.0, DEAREST]
    with pytest.raises(InputError, match="is not zero"):
        read_loss("exp(residual**2) - 2", 10.0 * y)


def test_costs_and_weights_are_numbers_for_every_scale():
    y, prediction = np.array([0.0, 1e140, -1e-140, 1.0]), np.zeros(4)
    for name in ("huber", "cauchy", "log-cosh", "absolute", STEEP):
        for scale in (1e-150, 1.0, 1e140):
            cost, weight = Loss(name).cost(y, prediction, scale), Loss(name).weight(y, prediction, scale)
            assert (cost[[0, 2]] <= cost[[3, 1]]).all(), (name, scale)
            assert (np.isfinite(weight) & (weight >= 0.0) & (weight <= 1.0)).all(), (name, scale)


def test_the_size_of_y_is_that_of_what_is_not_zero():
    assert typical_size(np.array([0.0, 0.0, 0.0, -4.0])) == 4.0
    assert typical_size(np.array([0.0, 1.0, -2.0])) == 1.0
    assert typical_size(np.zeros(3)) > 0.0


def test_the_constant_is_one_for_which_the_loss_has_a_value():
    x = two_columns(101)
    zero_mean = Dataset.of(x, np.append(np.linspace(-50.0, 50.0, 100), 0.0))
    by_prediction = constant_for(zero_mean, Loss("residual**2/abs(prediction)"), NONE)
    assert float(by_prediction.expression) != 0.0
    mostly = Dataset.of(x, np.where(np.arange(101) < 60, 3.0, x[:, 0]))
    assert constant_for(mostly, Loss("huber"), NONE).expression == 3
    assert float(constant_for(mostly, Loss("huber"), Constraints(constants_within=(-1, 2))).expression) == 2.0


# ---- long tables --------------------------------------------------------------------------------------------------


def long_table(rows=5000):
    x = np.random.default_rng(0).uniform(0.5, 3.0, (rows, 2))
    y = 2.5 * x[:, 0] + x[:, 1] + 0.1 * np.random.default_rng(1).normal(size=rows)
    y[::20] += 30.0
    return Dataset.of(x, y)


def test_neighbours_are_those_found_row_by_row():
    x = np.round(two_columns(300), 1)  # some rows coincide
    data = Dataset.of(x, np.random.default_rng(2).standard_cauchy(300))
    middle, variation = np.empty((2, 300))
    for k, row in enumerate(data.x):
        distance = np.sum(((data.x - row) / data.x.std(axis=0)) ** 2, axis=1)
        nearest = np.argpartition(distance, 8)[:9]
        around = data.y[nearest[distance[nearest] > 0.0]]
        middle[k] = np.median(around) if len(around) else data.y[k]
        variation[k] = robust_scale(around - middle[k]) if len(around) else np.inf
    off = data.y - middle
    expected = 1.0 / (1.0 + (off / (4.0 * np.maximum(variation, robust_scale(off)))) ** 2)
    np.testing.assert_allclose(agreement_with_neighbours(data), expected, rtol=1e-12)


def test_weights_are_found_for_some_rows_of_a_long_table():
    few = long_table(60_000).thinned(ReweightingPolicy().rows)
    weighted = with_weight(few, first_weights(few).weight)
    assert len(weighted.y) <= 20_000
    assert weighted.weight.mean() == pytest.approx(1.0)


@pytest.mark.parametrize("deadline", [0.0, np.inf])
def test_the_loss_of_a_long_table_is_that_of_all_rows(deadline):
    data, loss = long_table(), Loss("absolute")
    lines = [2.4 * X1 + X2, 2.4 * X1 + 1.1 * X2, sympy.Float(5.0)]
    found = judged([Formula(line, SYMBOLS, np.inf) for line in lines], data, loss, NONE, deadline)
    assert 2 <= len(found) <= 3
    for formula in found:
        assert formula.loss == pytest.approx(np.mean(np.abs(data.y - formula(data.x))))
    best = min(found, key=lambda formula: formula.loss)
    assert best.expression.coeff(X1) == pytest.approx(2.5, abs=0.01)


def test_a_formula_that_is_undefined_on_a_row_nobody_looked_at_is_left_out():
    data = long_table()
    seen = set(data.thinned(2000).x[:, 0])
    unseen = next(value for value in data.x[:, 0] if value not in seen)
    pole = 2.5 * X1 + X2 + 1e-9 / (X1 - sympy.Rational(float(unseen)))
    formulas = [Formula(form, SYMBOLS, np.inf) for form in (pole, sympy.Float(5.0))]
    (left,) = judged(formulas, data, Loss("huber"), NONE)
    assert not left.expression.free_symbols


def test_the_search_leaves_time_for_a_long_table_alone():
    assert seconds_for_judging(long_table(2000), 60.0) == 0.0
    assert 0.0 < seconds_for_judging(long_table(), 60.0) < seconds_for_judging(long_table(60_000), 60.0) < 30.0


def test_closed_forms_that_are_far_off_are_not_finished_and_nothing_is_lost():
    rng = np.random.default_rng(1)
    x = rng.uniform(0.5, 3.0, (80, 2))
    data = Dataset.of(x, x[:, 0] / (x[:, 1] + 0.4) + 0.05 * rng.standard_t(2, 80), rng.uniform(0.01, 100.0, 80))
    few = SearchPolicy(round_size=64, chunk_size=32)
    settings = Settings(operators=("mul", "div"), max_starts=128, search=few)
    all_finished = replace(settings, search=replace(few, hits=HitPolicy(far_off=np.inf)))
    one, other = ([str(f) for f in discover(data, given).front] for given in (settings, all_finished))
    assert one == other
