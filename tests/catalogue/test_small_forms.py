"""Small forms find laws without knowing their names, and no table makes them fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.catalogue.law import UNNAMED
from ceql.catalogue.policy import POLICY
from ceql.catalogue.small_forms import small_forms
from ceql.choice.criterion import constants_of, criterion
from ceql.data.dataset import Dataset
from ceql.formula import mean_square

NOISE = 0.01
FEW = replace(POLICY, forms_per_size=4)


def table(x: np.ndarray, y: np.ndarray, noise: float = 0.0, weight: np.ndarray | None = None) -> Dataset:
    y = y * (1 + noise * np.random.default_rng(0).standard_normal(len(y)))
    return Dataset.of(x, y, weight)


X = np.linspace(0.4, 8.0, 30)[:, None]
GRID = np.stack(np.meshgrid(np.linspace(0.5, 3.0, 6), np.linspace(0.2, 4.0, 6)), axis=-1).reshape(-1, 2)
# y over the columns, the text of the form that it is an instance of, and how many constants that has.
LAWS = {
    "Michaelis-Menten": (X, lambda x: 5.0 * x / (2.0 + x), "1/(a0 + a1*(1/x1))", 2),
    "logistic": (X, lambda x: 1.0 / (0.2 + 3.0 * np.exp(-1.1 * x)), "1/(a0 + a1*(exp(c1*x1)))", 3),
    "Antoine": (40.0 * X, lambda x: np.exp(8.0 - 1700.0 / (x + 230.0)), "exp(a0 + a1*(1/(x1 + c1)))", 3),
    "power law": (X, lambda x: 3.0 * x**1.62, "a1*(x1**c1)", 2),
    "exp of a pole": (X, lambda x: np.exp(1.0 - 2.0 / x), "exp(a0 + a1*(1/x1))", 2),
    "decay to a level": (X, lambda x: 2.0 + 3.0 * np.exp(-0.5 * x), "a0 + a1*(exp(c1*x1))", 3),
    "decay over a line": (X, lambda x: np.exp(-0.6 * x) / (0.2 + 1.5 * x), "1/((a1 + a2*x1)*exp(c1*x1))", 3),
    "root of a parabola": (X, lambda x: np.sqrt(2.0 + 3.0 * x**2), "sqrt(a0 + a1*(x1**2))", 2),
    "two columns": (GRID, lambda t, c: t * np.exp(-0.6 * c), "a1*(x{0}*(exp({{c}}*x{1})))", 2),
}


def noisy_table(name: str) -> Dataset:
    x, law, *_ = LAWS[name]
    return table(x, law(*x.T), NOISE)


@pytest.mark.parametrize("name", [name for name in LAWS if name != "two columns"])
def test_the_form_of_a_law_is_found_in_noise(name):
    """Itself, with a loss as near to the least as that of any form with as many constants."""
    *_, text, constants = LAWS[name]
    fits = small_forms(noisy_table(name))
    alike = [fit for fit in fits if len(fit.constants) == constants]
    found = [fit for fit in alike if fit.law.formula == text]
    assert found, [fit.law.formula for fit in alike]
    assert found[0].loss <= 1.1 * min(fit.loss for fit in alike)


def test_a_product_of_two_columns_is_found_in_noise():
    data = noisy_table("two columns")
    fits = small_forms(data)
    truth = GRID[:, 0] * np.exp(-0.6 * GRID[:, 1])
    noise = mean_square(truth - data.y, data.weight)
    found = [fit for fit in fits if "exp(" in fit.law.formula and len(fit.constants) == 2 and fit.loss <= 1.05 * noise]
    assert found
    assert np.max(np.abs(found[0].formula(data.x) - truth)) < 0.02 * np.max(truth)


def test_its_constants_are_those_of_the_law():
    fits = small_forms(noisy_table("Michaelis-Menten"))
    found = next(fit for fit in fits if fit.law.formula == "1/(a0 + a1*(1/x1))")
    assert found.values == pytest.approx({"a0": 1 / 5.0, "a1": 2.0 / 5.0}, rel=0.05)
    assert all(0 < constant.error < 0.1 * constant.value for constant in found.constants)


def test_fits_are_formulas_without_a_name_judged_on_all_rows():
    data = noisy_table("logistic")
    for fit in small_forms(data, FEW):
        assert fit.law.field == UNNAMED
        assert fit.formula.law is None
        assert fit.is_determined
        assert fit.loss == fit.formula.loss == pytest.approx(mean_square(fit.formula(data.x) - data.y, data.weight))


def test_of_each_number_of_constants_there_are_at_most_as_many_as_the_policy_says():
    fits = small_forms(noisy_table("logistic"), FEW)
    counts = [len(fit.constants) for fit in fits]
    assert max(counts.count(count) for count in counts) <= FEW.forms_per_size
    assert small_forms(noisy_table("logistic"), replace(POLICY, forms_per_size=0)) == ()


def test_the_same_table_has_the_same_fits():
    first, second = (small_forms(noisy_table("Antoine"), FEW) for _ in range(2))
    assert [str(fit.formula) for fit in first] == [str(fit.formula) for fit in second]


def test_rows_that_weigh_nothing_have_no_say():
    x, law, *_ = LAWS["Michaelis-Menten"]
    y, weight = law(*x.T), np.ones(len(x))
    y[::5] += 1.0
    weight[::5] = 1e-12
    fits = small_forms(table(x, y, NOISE / 10, weight), FEW)
    best = min((fit for fit in fits if len(fit.constants) == 2), key=lambda fit: fit.loss)
    assert best.law.formula == "1/(a0 + a1*(1/x1))"
    assert best.values["a0"] == pytest.approx(1 / 5.0, rel=0.01)


# ---- tables that are hard to take ---------------------------------------------------------------------------------

Y = 2.0 * np.exp(-0.7 * X[:, 0]) + 0.3
AWKWARD = {
    "negative y": (X, -Y),
    "y of both signs": (X, Y - 0.8),
    "zero in y": (X, Y - Y[3]),
    "zero in x": (X - X[0], Y),
    "x of both signs": (X - 3.0, Y),
    "mostly zeros": (np.where(np.arange(30) % 4 == 0, X[:, 0], 0.0)[:, None], Y),
    "a constant column": (np.hstack([X, np.full_like(X, 3.0)]), Y),
    "nothing but a constant column": (np.full_like(X, 3.0), Y),
    "twice the same column": (np.hstack([X, X]), Y),
    "many columns": (np.random.default_rng(0).normal(size=(30, 7)), Y),
    "two values of x": (np.where(X > 3.0, 1.0, 2.0), Y),
    "three rows": (X[:3], Y[:3]),
    "two rows": (X[:2], Y[:2]),
    "tiny x": (1e-130 * X, Y),
    "huge x": (1e130 * X, Y),
    "tiny y": (X, 1e-130 * Y),
    "huge y": (X, 1e130 * Y),
    "all of it huge": (1e130 * X, 1e130 * Y),
    "large and far off": (X + 1e9, Y + 1e9),
    "underflowing tails": (X * 5, np.exp(-0.5 * (5 * X[:, 0]) ** 2)),
    "large values": (X, 40.0 + Y),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_whatever_the_table_what_is_fitted_is_finite(name):
    x, y = AWKWARD[name]
    data = Dataset.of(x, y)
    for fit in small_forms(data, replace(FEW, forms_per_size=2)):
        assert np.isfinite(fit.loss)
        assert np.isfinite(fit.formula(data.x)).all()
        assert fit.is_determined


def test_few_rows_have_no_form_with_as_many_constants_as_half_of_them():
    for rows in (3, 5, 7):
        data = table(X[:rows], Y[:rows], NOISE)
        assert all(2 * len(fit.constants) < rows for fit in small_forms(data, FEW))


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_make_no_difference(unit):
    def kinds(data):
        fits = [fit for fit in small_forms(data, FEW) if len(fit.constants) == 2]
        return {fit.law.formula for fit in fits}

    x, law, *_ = LAWS["Michaelis-Menten"]
    plain, scaled = table(x, law(*x.T), NOISE), table(unit * x, unit * law(*x.T), NOISE)
    assert "1/(a0 + a1*(1/x1))" in kinds(plain) & kinds(scaled)


def test_a_row_that_was_not_looked_at_does_not_leave_others_without_a_place():
    """The logarithm of y is compared on some rows of a long table. One of the others is negative."""
    x = np.random.default_rng(0).uniform(0.1, 8.0, (200, 1))
    y = np.exp(-x[:, 0])
    looked_at = set(Dataset.of(x, y).thinned(POLICY.screened_rows).y)
    first = next(k for k in range(200) if y[k] not in looked_at)
    y[first] = -0.001
    fits = small_forms(Dataset.of(x, y), FEW)
    counts = [len(fit.constants) for fit in fits]
    assert counts.count(3) == FEW.forms_per_size


def test_a_longer_table_is_fitted_on_all_its_rows():
    x = np.linspace(0.4, 8.0, 2500)[:, None]
    data = table(x, 5.0 * x[:, 0] / (2.0 + x[:, 0]), NOISE)
    best = min(small_forms(data, replace(FEW, forms_per_size=1)), key=lambda fit: criterion(fit.formula, 2500))
    assert constants_of(best.formula) == 2
    assert best.loss == pytest.approx(mean_square(best.formula(data.x) - data.y, data.weight))
    assert best.values["a0"] == pytest.approx(1 / 5.0, rel=0.01)


def test_of_each_number_of_constants_only_the_best_become_formulas():
    table = noisy_table("logistic")
    few, more = (small_forms(table, replace(FEW, forms_made=most)) for most in (1, 100))
    sizes = [len(fit.constants) for fit in few]
    assert len(sizes) == len(set(sizes))
    best = {size: min(fit.loss for fit in more if len(fit.constants) == size) for size in sizes}
    assert all(fit.loss <= 1.5 * best[len(fit.constants)] for fit in few)
