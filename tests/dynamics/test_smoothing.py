"""Smooth paths: exact without noise, honest about slopes with it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.dynamics.policy import SmoothingPolicy
from ceql.dynamics.series import Trajectory
from ceql.dynamics.smoothing import smooth_state, smoothed


def _uneven(samples: int, seed: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).uniform(0.5, 1.5, samples)) * 6.0 / samples


@given(st.floats(0.3, 2.0), st.floats(0.0, 6.0), st.floats(-1e3, 1e3), st.integers(0, 20))
@settings(max_examples=8, deadline=None)
def test_without_noise_slopes_are_those_of_the_motion(speed, phase, offset, seed):
    time = _uneven(120, seed)
    path = smooth_state(time, np.sin(speed * time + phase) + offset)
    inside = time[10:-10]
    np.testing.assert_allclose(path(inside, 1), speed * np.cos(speed * inside + phase), atol=1e-5)
    assert path.noise < 1e-6


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_noise_is_told_and_slopes_are_within_their_errors(noise):
    time = np.linspace(0.0, 10.0, 200)
    wide = []
    for seed in range(5):
        values = np.sin(time) + noise * np.random.default_rng(seed).standard_normal(len(time))
        path = smooth_state(time, values)
        assert path.noise == pytest.approx(noise, rel=0.25)
        wide.append((path(time, 1) - np.cos(time)) / path.slope_errors)
    assert 0.5 < np.sqrt(np.mean(np.square(wide))) < 2.0


def test_units_of_time_and_state_do_not_matter():
    time = _uneven(80, 0)
    values = np.exp(-time) + 0.01 * np.random.default_rng(1).standard_normal(80)
    plain, scaled = smooth_state(time, values), smooth_state(1e-3 * time + 5.0, 1e6 * values - 7.0)
    np.testing.assert_allclose(scaled(1e-3 * time + 5.0), 1e6 * plain(time) - 7.0, rtol=1e-6)
    np.testing.assert_allclose(scaled.slope_errors, 1e9 * plain.slope_errors, rtol=1e-4)


def test_long_trajectories_are_smoothed_in_pieces_that_meet():
    time = np.linspace(0.0, 60.0, 900)
    path = smooth_state(time, np.cos(time), SmoothingPolicy(most_samples=200, overlap=40))
    assert len(path.pieces) > 3
    between = np.linspace(1.0, 59.0, 5000)
    np.testing.assert_allclose(path(between), np.cos(between), atol=1e-7)
    np.testing.assert_allclose(path(between, 1), -np.sin(between), atol=1e-5)


def test_gaps_are_bridged_by_the_samples_that_are_there():
    time = np.linspace(0.0, 6.0, 120)
    states = np.column_stack([np.sin(time), np.cos(time)])
    states[::3, 1] = np.nan
    path = smoothed(Trajectory("a", time, states, np.zeros((120, 0))))
    np.testing.assert_allclose(path(time)[5:-5], np.column_stack([np.sin(time), np.cos(time)])[5:-5], atol=1e-6)
    assert path.slope_errors.shape == (120, 2)
