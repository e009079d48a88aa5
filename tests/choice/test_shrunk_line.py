"""A straight line in all columns, its slopes held small together, and when it takes the place of what is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, RidgeCV

from ceql.catalogue.offers import line_out_of_time
from ceql.catalogue.plain import shrunk
from ceql.catalogue.policy import POLICY
from ceql.choice.shrunk_line import shrunk_line
from ceql.choice.validation import held_out, is_beaten, own_folds
from ceql.data.dataset import Dataset
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols, refitted
from ceql.pipeline import discover
from ceql.search.policy import SearchPolicy
from ceql.search.settings import Settings

BRIEFLY = Settings(operators=("mul",), max_starts=64, time_limit=60, search=SearchPolicy(round_size=64, chunk_size=64))


def weak_columns(rows: int, columns: int, seed: int, noise: float = 1.0) -> tuple[Dataset, Dataset]:
    """Each says a little of y; columns lie far from zero. The second table is for looking at what came out."""
    rng = np.random.default_rng(seed)
    x = rng.normal(100.0, 1.0, (rows + 1000, columns))
    y = (x - 100.0) @ rng.normal(size=columns)
    y += noise * np.std(y) * rng.standard_normal(len(y))
    names = tuple(f"x{k + 1}" for k in range(columns))
    parts = (slice(0, rows), slice(rows, None))
    train, test = (Dataset(x[part], y[part], np.ones(len(y[part])), names) for part in parts)
    return train, test


def r2(values: np.ndarray, data: Dataset) -> float:
    return 1.0 - float(np.mean((values - data.y) ** 2) / np.var(data.y))


def test_without_noise_it_is_that_of_least_squares():
    data, _ = weak_columns(60, 8, 0, noise=0.0)
    line = shrunk_line(data.x, data.y, data.weight)
    assert line.values[1:] == pytest.approx(LinearRegression().fit(data.x, data.y).coef_, rel=1e-4)


def test_on_new_rows_it_is_as_good_as_ridge_regression_and_so_is_what_is_shown_of_it():
    scores = []
    for seed in range(6):
        data, new = weak_columns(100, 30, seed)
        line, formula = shrunk_line(data.x, data.y, data.weight), shrunk(data)
        assert formula is not None
        assert all(0.0 < error < np.inf for _, error in formula.constants)
        assert max(len(f"{abs(value):.12g}".split(".")[-1]) for value, _ in formula.constants) <= 4
        ridge = RidgeCV(np.logspace(-4, 4, 33)).fit(data.x, data.y).predict(new.x)
        scores.append([r2(values, new) for values in (ridge, line(new.x), formula(new.x))])
    by_ridge, by_line, by_formula = np.mean(scores, axis=0)
    assert by_line > by_ridge - 0.01
    assert by_formula > by_line - 0.002


def test_rows_held_out_are_predicted_by_slopes_that_do_not_know_them():
    data, _ = weak_columns(50, 12, 3)
    formula = shrunk(data)
    assert formula is not None
    errors = held_out([formula], data).errors[0]
    for (train, test), error in zip(own_folds(50), errors, strict=True):
        line = shrunk_line(data.x[train], data.y[train], data.weight[train])
        assert error == pytest.approx(np.mean((line(data.x[test]) - data.y[test]) ** 2))


def test_a_table_with_few_columns_or_few_rows_has_none():
    assert shrunk(weak_columns(50, 3, 0)[0]) is None
    assert shrunk(weak_columns(20, 9, 0)[0]) is None


def law_among_idle_columns(seed: int) -> tuple[Dataset, Formula]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 2.0, (60, 6))
    y = 2.3 * x[:, 0] * x[:, 1] + 0.2 * rng.standard_normal(60)
    data = Dataset(x, y, np.ones(60), ("a", "b", "c", "d", "e", "f"))
    fitted = refitted(parse_formula("2.0*a*b", data.names), data, make_symbols(data.names))
    assert fitted is not None
    return data, fitted


def test_it_does_not_beat_a_law():
    for seed in range(10):
        data, law = law_among_idle_columns(seed)
        line = shrunk(data)
        assert line is not None
        assert not is_beaten(held_out([law], data), held_out([line], data), 1.5)


def test_many_weak_columns_are_reported_as_such_a_line():
    data, new = weak_columns(150, 10, 1)
    found = discover(data, BRIEFLY)
    assert found.best.is_shrunk
    assert found.best.law is not None
    assert found.best.law.name == "straight line in 10 columns, shrunk together"
    assert max(found.weights) == found.weights[found.chosen]
    assert r2(found.best(new.x), new) > r2(LinearRegression().fit(data.x, data.y).predict(new.x), new) - 0.01


def test_a_line_that_takes_no_time_is_there_when_the_time_is_up():
    data, _ = weak_columns(120, 9, 0)
    (line,) = line_out_of_time(data)
    assert line.is_shrunk
    assert line_out_of_time(data, policy=replace(POLICY, quick_line=1.0)) == []
