from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.choice.selection import choose
from ceql.choice.shrunk_formula import shrunk_sum
from ceql.choice.shrunk_line import shrunk_line
from ceql.choice.validation import (
    HeldOut,
    ValidationPolicy,
    cross_validated,
    held_out,
    own_folds,
    r2_of,
    within_one_error,
)
from ceql.data.dataset import Dataset
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols, mean_square


def formula(text, data):
    expression, symbols = parse_formula(text, data.names), make_symbols(data.names)
    loss = mean_square(Formula(expression, symbols, 0.0)(data.x) - data.y, data.weight)
    return Formula(expression, symbols, loss)


def noisy(rows, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 4.0, (rows, 1))
    return Dataset(x, 1.5 + 0.7 * x[:, 0] + noise * rng.standard_normal(rows), np.ones(rows), ("x1",))


def test_folds_hold_out_every_row_once_and_are_always_the_same():
    for rows, count in ((7, 7), (9, 9), (10, 5), (103, 5)):
        folds = own_folds(rows)
        assert len(folds) == count
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(rows))
        assert all(len(np.intersect1d(*fold)) == 0 and sum(map(len, fold)) == rows for fold in folds)
        assert [test.tolist() for _, test in folds] == [test.tolist() for _, test in own_folds(rows)]


def test_rows_held_out_are_not_those_next_to_each_other():
    test = own_folds(100)[0][1]
    assert np.ptp(test) > 50


def test_a_line_scores_as_by_hand():
    """The same folds with numpy's own least squares."""
    data = noisy(40)
    square = 0.0
    for train, test in own_folds(40):
        line = np.polynomial.Polynomial.fit(data.x[train, 0], data.y[train], 1)
        square += float(np.sum((line(data.x[test, 0]) - data.y[test]) ** 2))
    expected = 1.0 - square / float(np.sum((data.y - data.y.mean()) ** 2))
    assert cross_validated([formula("1.0 + 1.0*x1", data)], data)[0] == pytest.approx(expected, rel=1e-9)


def test_leaving_one_out_agrees_with_the_formula_of_leverages():
    data = noisy(8)
    design = np.column_stack([np.ones(8), data.x])
    hat = design @ np.linalg.pinv(design)
    residual = (data.y - hat @ data.y) / (1.0 - np.diag(hat))
    expected = 1.0 - float(residual @ residual) / float(np.sum((data.y - data.y.mean()) ** 2))
    assert cross_validated([formula("1.4 + 0.8*x1", data)], data)[0] == pytest.approx(expected, rel=1e-9)


def test_weights_count_in_the_fit_and_in_the_score():
    """A row of weight two is as good as two rows in the same fold."""
    data = noisy(30)
    weight = np.where(np.arange(30) < 10, 2.0, 1.0)
    weighted = Dataset(data.x, data.y, weight / weight.mean(), data.names)
    twice = np.r_[np.arange(30), np.arange(10)]
    doubled = Dataset(data.x[twice], data.y[twice], np.ones(40), data.names)
    folds = own_folds(30)
    same = [(np.flatnonzero(np.isin(twice, a)), np.flatnonzero(np.isin(twice, b))) for a, b in folds]
    line = formula("1.4 + 0.8*x1", data)
    scores = cross_validated([line], weighted, folds), cross_validated([line], doubled, same)
    assert scores[0][0] == pytest.approx(scores[1][0], rel=1e-9)


def test_the_score_is_below_that_of_the_rows_fitted_to_and_sees_through_many_constants():
    data = noisy(12, noise=0.5)
    wiggly = formula(" + ".join(f"0.1*x1**{k}" for k in range(1, 8)) + " + 0.5", data)
    line, long = (formula(str(f), data) for f in ("1.5 + 0.7*x1", "0.5"))
    validated = cross_validated([line, wiggly, long], data)
    assert validated[0] > validated[1]
    assert validated[0] < 1.0
    assert validated[2] < 0.0  # the mean of the others is further off than the mean of all


def test_a_row_held_out_without_a_value_is_a_bad_score_and_no_error():
    x = np.linspace(1.0, 4.0, 30)[:, None]
    data = Dataset(x, np.sqrt(x[:, 0] - 0.999), np.ones(30), ("x1",))
    first_out = [(np.arange(1, 30), np.array([0])), (np.arange(20), np.arange(20, 30))]
    moved = Dataset(x, np.where(x[:, 0] < 1.05, 0.0, np.sqrt(np.abs(x[:, 0] - 1.08))), np.ones(30), ("x1",))
    assert cross_validated([formula("sqrt(x1 - 1.0)", data)], moved, first_out) == (-np.inf,)
    assert cross_validated([formula("sqrt(x1 - 1.0)", data)], data)[0] > 0.99


def test_a_target_that_does_not_vary_has_no_score():
    data = Dataset(np.arange(12.0)[:, None], np.ones(12), np.ones(12), ("x1",))
    assert np.isnan(cross_validated([formula("1", data)], data)).all()
    assert np.isnan(r2_of([formula("1", data)], data)).all()


def test_of_a_long_table_some_rows_serve():
    data = noisy(5000)
    line = formula("1.5 + 0.7*x1", data)
    few = held_out([line], data, policy=ValidationPolicy(rows=200))
    assert few.sizes.sum() == 200
    assert few.r2[0] == pytest.approx(cross_validated([line], data)[0], abs=0.01)
    blocks = [(np.arange(2500), np.arange(2500, 5000))]
    assert held_out([line], data, blocks).sizes.sum() == pytest.approx(1000, rel=0.1)


def test_exact_formulas_score_one():
    data = noisy(30, noise=0.0)
    assert cross_validated([formula("1.5 + 0.7*x1", data)], data)[0] == pytest.approx(1.0, abs=1e-12)


def test_equal_within_one_standard_error_of_the_paired_difference():
    errors = np.array([[2.0, 2.0, 2.0, 2.0], [1.1, 0.9, 1.05, 0.97], [1.0, 1.0, 1.0, 1.0], [np.inf, 0.0, 0.0, 0.0]])
    held = HeldOut(errors, np.ones(4), 10.0)
    assert within_one_error(held).tolist() == [False, True, True, False]
    assert held.r2 == pytest.approx((0.8, 0.8995, 0.9, -np.inf))


def test_the_rule_takes_the_simplest_that_is_equal():
    data = noisy(60)
    front = [formula(text, data) for text in ("2.9", "1.5 + 0.7*x1", "1.5 + 0.7*x1 + 0.001*x1**2")]
    held = held_out(front, data)
    assert choose(front, "cv", 60, 10.0, held) == 1
    assert choose(front[::-1], "cv", 60, 10.0, HeldOut(held.errors[::-1], held.sizes, held.spread)) == 1


def test_without_a_finite_error_the_rule_is_that_of_the_criterion():
    data = noisy(60)
    front = [formula(text, data) for text in ("2.9", "1.5 + 0.7*x1")]
    nothing = HeldOut(np.full((2, 5), np.inf), np.ones(5), 1.0)
    assert choose(front, "cv", 60, 10.0, nothing) == choose(front, "best", 60, 10.0)


def test_rows_are_held_out_several_times_and_count_once():
    """Folds of another permutation say more of the same rows, but no more of others."""
    data = noisy(60)
    formulas = [formula("1.0 + 1.0*x1", data), formula("1.4 + 0.8*x1**0.9", data)]
    once, often = held_out(formulas, data), held_out(formulas, data, times=3)
    assert often.errors.shape == (2, 15)
    np.testing.assert_allclose(often.errors[:, :5], once.errors)
    assert not np.allclose(often.errors[:, 5:10], once.errors)
    again = replace(once, errors=np.tile(once.errors, 3), sizes=np.tile(once.sizes, 3), times=3)
    for errors in (0.1, 0.5, 1.0, 2.0):
        assert within_one_error(again, errors).tolist() == within_one_error(once, errors).tolist()
    assert held_out(formulas, data, own_folds(60, 4), times=3).errors.shape == (2, 4)  # the user's folds are the user's
    assert held_out(formulas, noisy(9), times=3).errors.shape == (2, 9)


def test_weights_that_are_shrunk_are_shrunk_anew_in_each_fold():
    rng = np.random.default_rng(4)
    x = rng.uniform(0.5, 2.0, (50, 2))
    data = Dataset(x, x[:, 0] * x[:, 1] + 0.3 * rng.standard_normal(50), np.ones(50), ("a", "b"))
    symbols = make_symbols(data.names)
    terms = [parse_formula(text, data.names) for text in ("a*b", "log(a)", "1/b")]
    values = np.column_stack([x[:, 0] * x[:, 1], np.log(x[:, 0]), 1.0 / x[:, 1]])
    found = shrunk_sum(terms, shrunk_line(values, data.y, data.weight), data)
    assert found.symbols == symbols
    assert found.is_shrunk
    assert found.loss < 0.1
    expected = []
    for train, test in own_folds(50):
        line = shrunk_line(values[train], data.y[train], np.ones(len(train)))
        expected.append(np.mean((line(values[test]) - data.y[test]) ** 2))
    np.testing.assert_allclose(held_out([found], data).errors[0], expected, rtol=1e-6)
