"""Joint least squares over groups, against dense least squares and against fits of one table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from ceql.catalogue.law import catalogue
from ceql.data.dataset import Dataset
from ceql.expression.constants.refit import minimise
from ceql.expression.evaluate.residual_problem import Problem
from ceql.groups.joint import Bounds, covariance, errors_of, fitted
from ceql.groups.rows import GroupedRows

LAWS = {law.name: law for law in catalogue()}
SATURATION = LAWS["Michaelis-Menten"]
SPLITS = ((True, True), (True, False), (False, True), (False, False))


def measured(seed: int, groups: int = 4, noise: float = 0.02) -> tuple[Dataset, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(groups), rng.integers(5, 12, groups))
    x = rng.uniform(0.2, 6.0, len(codes))
    top, half = rng.uniform(1.0, 4.0, groups)[codes], rng.uniform(0.5, 2.0, groups)[codes]
    y = top * x / (half + x) + noise * rng.normal(size=len(codes))
    return Dataset.of(x[:, None], y, rng.uniform(0.5, 2.0, len(codes))), codes


def dense(rows: GroupedRows, own: tuple[bool, ...], start: np.ndarray):
    """The same problem with one column of derivatives for every constant, by SciPy."""
    groups, data, codes = rows.groups, rows.data, rows.codes

    def spread(values: np.ndarray) -> np.ndarray:
        table, place = np.empty((groups, 2)), 0
        for k, mine in enumerate(own):
            size = groups if mine else 1
            table[:, k] = values[place : place + size]
            place += size
        return table

    def residuals(values: np.ndarray) -> np.ndarray:
        constants = dict(zip(SATURATION.names, spread(values)[codes].T, strict=True))
        fit = constants["V"] * data.x[:, 0] / (constants["K"] + data.x[:, 0])
        return (fit - data.y) * np.sqrt(data.weight)

    begin = np.concatenate([start[:, k] if mine else start[:1, k] for k, mine in enumerate(own)])
    found = least_squares(residuals, begin, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return spread(found.x), 2.0 * found.cost, found.jac


@pytest.mark.parametrize("own", SPLITS)
@given(seed=st.integers(0, 1000))
@settings(max_examples=6, deadline=None)
def test_the_bottom_is_that_of_dense_least_squares(own, seed):
    data, codes = measured(seed)
    rows = GroupedRows.of(data, codes)
    start = np.tile([2.0, 1.0] if SATURATION.names == ("V", "K") else [1.0, 2.0], (rows.groups, 1))
    fit = fitted(SATURATION, rows.seen_by((0,)), start, own, 200, Bounds.of(SATURATION))
    values, misfit, _ = dense(rows, own, start)
    assert fit.misfit == pytest.approx(misfit, rel=1e-7)
    np.testing.assert_allclose(fit.values, values, rtol=1e-4)


@pytest.mark.parametrize("own", SPLITS)
def test_errors_are_those_of_the_dense_normal_matrix(own):
    data, codes = measured(3)
    rows = GroupedRows.of(data, codes)
    table = rows.seen_by((0,))
    fit = fitted(SATURATION, table, np.full((rows.groups, 2), 1.5), own, 200, Bounds.of(SATURATION))
    known = covariance(SATURATION, table, fit)
    _, misfit, jacobian = dense(rows, own, fit.values)
    expected = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)) * misfit / (len(codes) - fit.count))
    errors = errors_of(fit, known)
    place = 0
    for k, mine in enumerate(own):
        size = rows.groups if mine else 1
        np.testing.assert_allclose(errors[:size, k], expected[place : place + size], rtol=1e-4)
        place += size


@given(seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_one_group_is_an_ordinary_fit(seed):
    data, _ = measured(seed)
    rows = GroupedRows.of(data, np.zeros(len(data.y), int))
    ordinary = Problem(SATURATION.program, data.x, data.y, np.sqrt(data.weight))
    values, misfit = minimise(ordinary, np.array([1.5, 1.5]), 200)
    for own in SPLITS:
        fit = fitted(SATURATION, rows.seen_by((0,)), np.full((1, 2), 1.5), own, 200, Bounds.of(SATURATION))
        assert fit.misfit == pytest.approx(misfit, rel=1e-7)
        np.testing.assert_allclose(fit.values[0], values, rtol=1e-4)


@given(seed=st.integers(0, 1000), data=st.data())
@settings(max_examples=20, deadline=None)
def test_neither_the_order_of_rows_nor_the_numbers_of_groups_matter(seed, data):
    table, codes = measured(seed)
    order = np.array(data.draw(st.permutations(range(len(codes)))))
    renamed = np.array(data.draw(st.permutations(range(codes.max() + 1))))
    moved = Dataset(table.x[order], table.y[order], table.weight[order], table.names)
    here, there = GroupedRows.of(table, codes), GroupedRows.of(moved, renamed[codes[order]])
    np.testing.assert_array_equal(here.data.y, there.data.y)
    np.testing.assert_array_equal(here.data.x, there.data.x)
    np.testing.assert_array_equal(here.codes, there.codes)
    np.testing.assert_array_equal(renamed[here.order], there.order)


def test_sharing_a_constant_never_lowers_the_misfit():
    data, codes = measured(5)
    rows = GroupedRows.of(data, codes).seen_by((0,))
    every = fitted(SATURATION, rows, np.full((4, 2), 1.5), (True, True), 200, Bounds.of(SATURATION))
    for own in SPLITS[1:]:
        fit = fitted(SATURATION, rows, every.values, own, 200, Bounds.of(SATURATION))
        assert fit.misfit >= every.misfit
        assert all(np.ptp(fit.values[:, k]) == 0.0 for k, mine in enumerate(own) if not mine)


def test_bounds_are_kept():
    data, codes = measured(7)
    rows = GroupedRows.of(data, codes).seen_by((0,))
    low, high = np.array([0.0, 0.0]), np.array([1.2, 1.2])
    fit = fitted(SATURATION, rows, np.full((4, 2), 1.0), (True, True), 200, Bounds.of(SATURATION, low, high))
    assert (fit.values <= high).all()
    assert (fit.values >= low).all()
    assert (fit.values == 1.2).any()


def test_a_long_table_keeps_rows_of_every_group():
    data, codes = measured(1, groups=6)
    few = GroupedRows.of(data, codes).thinned(18, 2)
    assert len(few.codes) < len(codes)
    assert (few.sizes >= 2).all()
