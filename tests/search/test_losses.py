"""Losses: their curves, losses of one's own, and formulas recovered among gross outliers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ceql
from ceql import CeqlError, CEQLRegressor, Dataset, InputError, Settings, discover
from ceql.choice.vetoes import Vetoes
from ceql.discovery import Outcome
from ceql.expression import is_exact, parse_formula
from ceql.formula import constant_formula, make_symbols
from ceql.search.judgement import judged
from ceql.search.losses import NAMES, Loss, read_loss, robust_scale
from ceql.search.reweighting import agreement_with_neighbours

ROBUST = [name for name in NAMES if name != "squared"]
OWN = "log(1 + residual**2)"
RESIDUALS = np.linspace(-30.0, 30.0, 241)
ZEROS = np.zeros_like(RESIDUALS)

sizes = st.floats(1e-3, 1e3)


@pytest.mark.parametrize("name", [*ROBUST, OWN])
@settings(max_examples=20, deadline=None)
@given(scale=sizes)
def test_a_loss_is_even_grows_with_the_residual_and_is_zero_at_zero(name, scale):
    loss = Loss(name)
    cost = loss.cost(RESIDUALS * scale, ZEROS, scale)
    np.testing.assert_allclose(cost, cost[::-1], rtol=1e-12)
    assert cost[120] == 0.0
    assert (np.diff(cost[120:]) > 0).all()


@pytest.mark.parametrize("name", ["huber", "cauchy", "log-cosh"])
@settings(max_examples=20, deadline=None)
@given(scale=sizes)
def test_small_residuals_cost_their_square(name, scale):
    small = 1e-4 * scale * RESIDUALS / 30.0
    np.testing.assert_allclose(Loss(name).cost(small, ZEROS, scale), small**2, rtol=1e-4, atol=1e-9 * scale**2)


@pytest.mark.parametrize("name", ["huber", "cauchy", "log-cosh"])
@settings(max_examples=30, deadline=None)
@given(size=st.floats(0.05, 50), scale=sizes)
def test_the_weight_is_the_slope_over_twice_the_residual(name, size, scale):
    loss, residual = Loss(name), np.array([size * scale])
    step = 1e-5 * residual
    slope = (loss.cost(residual + step, 0 * step, scale) - loss.cost(residual - step, 0 * step, scale)) / (2 * step)
    np.testing.assert_allclose(loss.weight(residual, 0 * step, scale), slope / (2 * residual), rtol=1e-3)


@pytest.mark.parametrize("name", [*ROBUST, OWN])
def test_weights_fall_from_one(name):
    weight = Loss(name).weight(RESIDUALS[120:], ZEROS[120:], 1.0)
    assert weight[0] == pytest.approx(1.0)
    assert (np.diff(weight) <= 1e-12).all()
    assert weight[-1] < 0.2


def test_the_scale_is_the_standard_deviation_of_normal_noise_and_ignores_outliers():
    noise = np.random.default_rng(0).normal(0.0, 2.5, 4000)
    spoilt = np.concatenate([noise, np.full(400, 1e6)])
    assert robust_scale(noise) == pytest.approx(2.5, rel=0.05)
    assert robust_scale(spoilt) == pytest.approx(2.5, rel=0.2)


def test_a_loss_may_depend_on_y_and_the_prediction():
    y, prediction = np.array([1.0, 10.0]), np.array([1.1, 11.0])
    np.testing.assert_allclose(Loss("(residual/y)**2").cost(y, prediction, 1.0), [0.01, 0.01])
    np.testing.assert_allclose(Loss("(y - prediction)**4").cost(y, prediction, 1.0), [1e-4, 1.0])
    weight = Loss("(residual/y)**2").weight(y, prediction, 1.0)
    assert weight[0] / weight[1] == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ("hubert", "Did you mean 'huber'"),
        (2, "must be one of"),
        ("residual**2 +", "cannot be read"),
        ("residual**2 + scale", "unknown name 'scale'"),
        ("residual", "is negative"),
        ("residual**3", "is negative"),
        ("residual**2 + 1", "is not zero"),
        ("0*residual", "zero for all residuals"),
        ("prediction**2", "is not zero"),
        ("__import__('os')*residual", "cannot be read"),
    ],
)
def test_what_is_no_loss_is_refused(given_, message):
    with pytest.raises(CeqlError, match=message):
        read_loss(given_, np.linspace(-2.0, 3.0, 20))


def test_squares_need_no_loss_and_other_recipes_no_other():
    assert read_loss("squared", np.arange(3.0)) is None
    with pytest.raises(InputError, match="needs recipe='search'"):
        CEQLRegressor(recipe="paper", loss="huber").fit(np.arange(6.0)[:, None], np.arange(6.0) ** 2)


def spoilt(seed: int, truth, share: float = 0.05, rows: int = 120) -> Dataset:
    """Rows of which so many are wrong by several times the size of y."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 5.0, (rows, 2))
    y = truth(x)
    wrong = rng.choice(rows, int(share * rows), replace=False)
    y[wrong] += rng.choice([-1, 1], len(wrong)) * rng.uniform(5.0, 20.0, len(wrong))
    return Dataset.of(x, y)


def fraction(x):
    return 2.5 * x[:, 0] / (x[:, 1] + 1.2)


def test_rows_that_disagree_with_their_neighbours_count_less():
    data = spoilt(0, fraction)
    weight = agreement_with_neighbours(data)
    wrong = np.abs(data.y - fraction(data.x)) > 1e-9
    assert np.median(weight[wrong]) < 0.3 < 0.8 < np.median(weight[~wrong])
    assert (agreement_with_neighbours(Dataset.of(data.x[:9], data.y[:9])) == 1.0).all()


@pytest.mark.parametrize("name", ROBUST)
def test_a_robust_fit_of_a_constant_ignores_an_outlier(name):
    rng = np.random.default_rng(1)
    y = 3.0 + 0.1 * rng.normal(size=60)
    y[:3] = 1e4
    data = Dataset.of(rng.uniform(size=(60, 1)), y)
    (best,) = judged([constant_formula(data)], data, Loss(name), ceql.Constraints())
    assert float(best.expression) == pytest.approx(3.0, abs=0.1)
    assert best.constants[0][1] < 0.05
    assert best.loss == pytest.approx(
        np.mean(Loss(name).cost(y, best(data.x), robust_scale(y - best(data.x)))), rel=0.2
    )


SYMBOLS = make_symbols(("x1", "x2"))


def pole(x):
    return 1 / (x[:, 0] - 2.5) + x[:, 1]


@pytest.mark.parametrize(
    ("seed", "loss", "text"),
    [
        *((seed, ("huber", "cauchy")[seed % 2], "1/(x1 - 2.5) + x2") for seed in range(5)),
        (0, "huber", "2.5*x1/(x2 + 1.2)"),
    ],
)
def test_a_formula_is_recovered_among_gross_outliers(seed, loss, text):
    truth = parse_formula(text, ("x1", "x2"))
    data = spoilt(seed, pole if text.startswith("1/") else fraction)
    model = CEQLRegressor(operators=["mul", "div"], time_limit=60, loss=loss, random_state=seed, verbose=False)
    model.fit(data.x, data.y)
    assert is_exact(model.sympy(), truth, SYMBOLS, data.x), str(model.discovery_.best)
    assert model.discovery_.outcome is Outcome.EXACT


def test_every_formula_with_columns_is_asked_about_under_another_loss():
    data = spoilt(0, fraction)
    found = discover(data, Settings(operators=("mul", "div"), max_starts=1024, time_limit=60, loss="huber"))
    assert not found.front[0].expression.free_symbols
    vetoes = Vetoes(data)
    assert [vetoes.sentence(f) for f in found.formulas if f.expression.free_symbols] == [None] * (
        len(found.formulas) - 1
    )


def test_squares_are_led_astray_by_the_same_outliers(tmp_path):
    data = spoilt(0, fraction)
    settings_ = {"operators": ["mul", "div"], "time_limit": 1.0, "verbose": False}
    squares = CEQLRegressor(**settings_).fit(data.x, data.y)
    assert np.median(np.abs(squares.predict(data.x) - fraction(data.x))) > 1e-3
    noisy = Dataset.of(data.x, data.y + 0.02 * np.random.default_rng(5).normal(size=len(data.y)))
    robust = CEQLRegressor(**{**settings_, "time_limit": 3.0}, loss=OWN).fit(noisy.x, noisy.y)
    assert np.median(np.abs(robust.predict(data.x) - fraction(data.x))) < 0.02
    costs = Loss(OWN).cost(noisy.y, robust.predict(noisy.x), 1.0)
    assert robust.equations_["loss"][robust.discovery_.chosen] == pytest.approx(costs.mean())
    assert robust.equations_["loss"][robust.equations_["front"]].is_monotonic_decreasing
    robust.save(tmp_path / "model.json")
    assert ceql.load(tmp_path / "model.json").loss == OWN
