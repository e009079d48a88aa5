"""Logarithms of noisy values: none is off by more than noise tells."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.closed_form.noisy_logarithms import noisy_logarithms
from ceql.closed_form.policy import PowerFitPolicy
from ceql.closed_form.power_fits import PowerFit


def table(noise, rows=2000):
    rng = np.random.default_rng(0)
    x = rng.uniform(1.0, 3.0, (rows, 2))
    y = 0.7 * x[:, 0] ** 3 / x[:, 1] ** 2
    return x, y, y + noise * np.sqrt(np.mean(y**2)) * rng.standard_normal(rows)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_their_mean_error_is_far_below_that_of_the_logarithm_of_each_value(sign):
    x, y, noisy = table(0.1)
    assert (noisy < 0).any()
    found = noisy_logarithms(x, sign * noisy, np.ones(len(y)))
    assert found is not None
    assert found.sign == sign
    weight = found.weight(np.ones(len(y)))
    positive = noisy > 0
    errors = weight * (found.values - np.log(y))
    plain = weight[positive] * (np.log(noisy[positive]) - np.log(y[positive]))
    assert abs(errors.mean()) < 0.2 * abs(plain.mean())


def test_what_the_smooth_function_cannot_follow_near_a_pole_is_not_lost():
    x, _, _ = table(0.0)
    y = 1.0 / (3.05 - x[:, 0])
    found = noisy_logarithms(x, y, np.ones(len(y)))
    assert found is not None
    steep = y > 10.0
    assert np.abs(found.values[steep] - np.log(y[steep])).max() < 0.05
    assert np.abs(found.smooth[steep] - np.log(y[steep])).max() < 0.4


@pytest.mark.parametrize("spoil", ["signs", "zero"])
def test_values_of_both_signs_have_none(spoil):
    x, y, _ = table(0.0)
    y = np.zeros(len(y)) if spoil == "zero" else y * np.resize([1.0, -1.0], len(y))
    assert noisy_logarithms(x, y, np.ones(len(y))) is None


def test_a_power_law_is_fitted_to_the_values():
    x, y, noisy = table(0.1)
    columns = np.column_stack([np.ones(len(y)), np.log(x)])
    fit = PowerFit(
        noisy, np.ones(len(y)), columns, np.array([0.5, 1.0, -1.0]), policy=PowerFitPolicy(steps=20)
    ).fitted()
    truth = np.array([np.log(0.7), 3.0, -2.0])
    assert np.all(np.abs(fit.numbers - truth) < 4.0 * fit.errors)
    assert fit.errors[1:].max() < 0.02


def test_a_shape_has_its_scale_fitted_and_no_value_where_it_changes_sign():
    x, _, _ = table(0.0)
    group = x[:, 0] / x[:, 1]
    y = 2.0 * x[:, 1] * np.expm1(1.5 * group)
    columns = np.column_stack([np.ones(len(y)), np.log(x)])
    start = PowerFit(
        y, np.ones(len(y)), columns, np.zeros(3), shape=np.expm1, group=group, policy=PowerFitPolicy(steps=30)
    )
    fit = start.fitted()
    assert fit.scale == pytest.approx(1.5, rel=1e-3)
    assert np.exp(fit.numbers[0]) == pytest.approx(2.0, rel=1e-3)
    crossing = PowerFit(y, np.ones(len(y)), columns, np.zeros(3), shape=np.log, group=group)
    assert crossing.left == np.inf
    assert crossing.fitted() is crossing


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_values_whose_squares_are_beyond_doubles_are_no_error(size):
    x, _, noisy = table(0.1)
    y = size * noisy
    assert noisy_logarithms(x, y, np.ones(len(y))) is None
    columns = np.column_stack([np.ones(len(y)), np.log(x)])
    fit = PowerFit(y, np.ones(len(y)), columns, np.array([np.log(size), 1.0, -1.0]))
    with np.errstate(all="ignore"):  # as all who call it
        assert not np.isnan(fit.fitted().errors).any()
