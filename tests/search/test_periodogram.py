"""Frequencies are read off the data as starting points for sines."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.search.periodogram import peaks


@pytest.mark.parametrize("frequency", [6.0, 12.0, 41.0])
def test_the_highest_peak_is_the_frequency(frequency):
    x = np.random.default_rng(0).uniform(-1, 1, (200, 1))
    (found,) = peaks(x, np.sin(frequency * x[:, 0] + 0.4) + 0.5 * x[:, 0])
    assert abs(found[0] - frequency) < 0.6


def test_an_amplitude_that_changes_sign_does_not_hide_it():
    x = np.random.default_rng(1).uniform(-1, 1, (300, 2))
    found = peaks(x, x[:, 0] * np.sin(14.0 * x[:, 1]))
    assert np.abs(found[1] - 14.0).min() < 0.8


def test_columns_that_do_not_vary_have_none():
    x = np.column_stack([np.linspace(-1, 1, 50), np.ones(50)])
    assert len(peaks(x, np.sin(9 * x[:, 0]))[1]) == 0
    assert all(np.isfinite(found).all() for found in peaks(x, np.zeros(50)))


@pytest.mark.parametrize("reach", [1e-9, 0.04, 0.1])
def test_columns_that_hardly_vary_have_none(reach):
    x = 1.0 + reach * np.linspace(0, 1, 50)[:, None]
    assert [len(found) for found in peaks(x, np.random.default_rng(0).normal(size=50))] == [0]
