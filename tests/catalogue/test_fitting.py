"""A law finds its own constants again, the catalogue finds the law, and no table makes either of them fail."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.catalogue.fitting import fit_all, fitted
from ceql.catalogue.law import catalogue
from ceql.data.dataset import Dataset
from ceql.expression import parametrise
from ceql.formula import mean_square

LAWS = {law.name: law for law in catalogue()}
WITHIN = 1e-6  # of the spread
# Laws that may miss their own curve: why.
HARD = {
    "double logistic": "six constants, four of them searched for: two steps are taken for a difference of one",
    "Preece-Baines": "two rates and a time that nearly replace each other before the spurt",
    "Sellmeier with two terms": "strength and resonance of the infrared term are one number far from it",
    "oral dose with lag": "lag and scale replace each other where both rates are slow",
}


def misses(law, data: Dataset) -> bool:
    fit = fitted(law, data)
    spread = np.std(data.y) if law.columns else np.abs(data.y).max()
    return fit is None or not np.max(np.abs(fit.formula(data.x) - data.y)) <= WITHIN * spread


def test_laws_find_their_own_constants(table_of):
    seeds = {name: k % 3 for k, name in enumerate(LAWS)}
    missed = {name for name, law in LAWS.items() if misses(law, table_of(law, seeds[name]))}
    assert missed <= set(HARD)
    assert len(missed) <= 0.05 * len(LAWS)


@pytest.mark.parametrize(
    "name", ["Michaelis-Menten", "logistic", "Arrhenius", "Gaussian on a background", "competitive inhibition", "sine"]
)
def test_constants_have_their_names_values_and_errors(table_of, name):
    law = LAWS[name]
    data = table_of(law, 0, noise=0.01)
    fit = fitted(law, data)
    assert fit is not None
    assert fit.is_determined
    assert [constant.name for constant in fit.constants] == list(law.names)
    assert fit.loss == pytest.approx(mean_square(fit.formula(data.x) - data.y, data.weight))
    for constant, known in zip(fit.constants, law.constants, strict=True):
        assert constant.meaning == known.meaning
        if name != "sine":  # amplitude and phase may both have the other sign
            assert abs(constant.value - known.typical) <= 5 * constant.error


@pytest.mark.parametrize("name", ["Hill", "Hill with baseline", "Gaussian"])
def test_numbers_made_of_constants_are_no_longer_than_the_noise_allows(table_of, name):
    data = table_of(LAWS[name], 0, noise=0.01)
    fit = fitted(LAWS[name], data)
    assert fit is not None
    assert max(len(f"{value:.15g}".strip("-0.").replace(".", "")) for value, _ in fit.formula.constants) <= 8
    assert [value for value, _ in fit.formula.constants] == pytest.approx(parametrise(fit.formula.expression).values)
    assert fit.loss == pytest.approx(mean_square(fit.formula(data.x) - data.y, data.weight))


@pytest.mark.parametrize("seed", range(2))
def test_every_number_of_a_formula_has_its_error(seed):
    """Also where all of them are far smaller than their errors, and would be rounded to zero."""
    rng = np.random.default_rng(seed)
    data = Dataset.of(rng.uniform(0.2, 3.0, (15, 1)), rng.normal(size=15))
    fits = [fitted(law, data) for law in LAWS.values() if len(law.columns) == 1]
    given = [fit.formula for fit in fits if fit is not None]
    assert len(given) > 100
    for formula in given:
        assert [value for value, _ in formula.constants] == parametrise(formula.expression).values.tolist()


def test_weights_are_respected(table_of):
    law = LAWS["Michaelis-Menten"]
    data = table_of(law, 0)
    y, weight = data.y.copy(), np.ones(len(data.y))
    y[::5] += 1.0
    weight[::5] = 1e-12
    fit = fitted(law, Dataset.of(data.x, y, weight))
    assert fit is not None
    assert fit.values["K"] == pytest.approx(1.5, rel=1e-6)


@pytest.mark.parametrize("name", ["Michaelis-Menten", "logistic", "power law", "straight line", "Gaussian"])
def test_the_catalogue_finds_the_law(table_of, name):
    """First, or behind a law with one more constant that happens to follow the noise."""
    fits = fit_all(table_of(LAWS[name], 0, noise=0.01))
    assert name in [fit.law.name for fit in fits[:3]]


def test_columns_are_tried_in_every_order(table_of):
    law = LAWS["competitive inhibition"]
    data = table_of(law, 0)
    turned = Dataset(data.x[:, ::-1].copy(), data.y, data.weight, ("inhibitor", "K"))
    fit = fitted(law, turned)
    assert fit is not None
    assert fit.columns == ("K", "inhibitor")  # a column may be called like a constant
    assert np.allclose(fit.formula(turned.x), turned.y)


def test_a_constant_keeps_to_its_bounds():
    x = np.linspace(0.1, 5, 30)[:, None]
    beyond = fitted(LAWS["Michaelis-Menten"], Dataset.of(x, x[:, 0] / (x[:, 0] - 7.0)))  # K would be -7
    assert beyond is None or (beyond.values["K"] > 0 and not beyond.is_determined)


def test_a_long_table_is_finished_on_all_rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 10, (30_000, 1))
    data = Dataset.of(x, 2 * x[:, 0] / (1.5 + x[:, 0]) + 0.01 * rng.normal(size=len(x)))
    fit = fitted(LAWS["Michaelis-Menten"], data)
    assert fit is not None
    best = mean_square(data.y - fit.formula(x), data.weight)
    values = np.array(list(fit.values.values()))
    for factor in ((1.0001, 1.0), (1.0, 1.0001), (0.9999, 1.0), (1.0, 0.9999)):
        v, k = values * factor
        assert mean_square(data.y - v * x[:, 0] / (k + x[:, 0]), data.weight) > best


def test_the_same_table_gives_the_same_fits(table_of):
    data = table_of(LAWS["Gompertz"], 0, noise=0.02)
    some = list(LAWS.values())[::6]
    first, second = fit_all(data, laws=some), fit_all(data, laws=some)
    assert [(fit.law.name, fit.values) for fit in first] == [(fit.law.name, fit.values) for fit in second]


def hostile() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    line = np.linspace(-3.0, 3.0, 20)[:, None]
    return {
        "noise": (rng.normal(size=(30, 2)), rng.normal(size=30)),
        "two rows": (np.array([[0.0], [1.0]]), np.array([1.0, 2.0])),
        "three equal rows": (np.ones((3, 1)), np.array([1.0, 2.0, 3.0])),
        "huge": (1e139 * line, 1e139 * line[:, 0]),
        "tiny": (1e-139 * line, 1e-139 * line[:, 0]),
        "huge against tiny": (1e-100 * line, 1e130 * line[:, 0] ** 3),
        "zeros": (line, np.zeros(20) + (line[:, 0] > 2.9)),
        "one value of x": (np.where(line > 0, 1.0, 2.0), line[:, 0]),
        "a wall": (line, np.where(line[:, 0] > 0, 1e6, -1e6)),
        "many columns": (rng.normal(size=(60, 12)), np.exp(rng.normal(size=60))),
        "wider than long": (rng.normal(size=(8, 20)), rng.normal(size=8)),
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_tables_are_survived(name):
    x, y = hostile()[name]
    fits = fit_all(Dataset.of(x, y))
    assert "constant" in [fit.law.name for fit in fits]
    assert all(np.isfinite(fit.formula(x)).all() and np.isfinite(fit.loss) for fit in fits)


def test_what_has_no_value_on_a_row_is_no_fit():
    x = np.linspace(-2.0, 2.0, 20)[:, None]
    data = Dataset.of(x, np.abs(x[:, 0]))
    for name in ("logarithm", "Arrhenius", "square root", "log-normal peak"):
        fit = fitted(LAWS[name], data)
        assert fit is None or np.isfinite(fit.formula(x)).all()
    assert fitted(LAWS["logarithm"], data) is None


def test_plain_models_are_always_there():
    rng = np.random.default_rng(3)
    x = rng.uniform(1, 2, (40, 2))
    fits = {fit.law.name: fit for fit in fit_all(Dataset.of(x, np.sin(9 * x[:, 0]) * x[:, 1]))}
    assert {"constant", "straight line", "parabola", "cubic", "plane", "quadratic surface"} <= set(fits)


def test_a_wide_table_gets_a_straight_line_in_all_columns():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 9))
    weights = rng.normal(size=9)
    line = Dataset.of(x, 2.0 + x @ weights + 0.01 * rng.normal(size=200))
    plain = [law for law in LAWS.values() if law.is_plain]
    assert fit_all(line, laws=plain)[0].law.name == "straight line in all columns"
    growth = Dataset.of(x, np.exp(0.3 * x @ weights) * (1 + 0.01 * rng.normal(size=200)))
    assert fit_all(growth, laws=plain)[0].law.name == "exponential in all columns"


def test_no_law_is_offered_for_a_pole_that_it_cannot_have():
    x = np.linspace(-2.0, 2.0, 40)
    below_zero = Dataset.of(x[:, None], -1.5 * x / (x + 0.775), None)
    assert fitted(LAWS["Michaelis-Menten"], below_zero) is None
    assert fitted(LAWS["shifted hyperbola"], below_zero) is not None
