from __future__ import annotations

import numpy as np
import pytest

from ceql.choice.residuals import agreement, grow_with_values, look_like_noise, neighbours

RNG = np.random.default_rng(0)


def test_the_nearest_row_is_never_the_row_itself():
    x = RNG.uniform(-1, 1, (50, 3)) * [1.0, 1e6, 1e-6]
    nearest = neighbours(x)
    assert (nearest != np.arange(50)).all()
    scaled = x / x.std(axis=0)
    distance = np.linalg.norm(scaled[:, None] - scaled[None], axis=2) + np.diag(np.full(50, np.inf))
    assert (nearest == distance.argmin(axis=1)).all()


def test_a_constant_column_does_not_count():
    x = np.column_stack([np.arange(5.0), np.full(5, 3.0)])
    assert set(np.abs(neighbours(x) - np.arange(5))) == {1}


@pytest.mark.parametrize("dimension", [1, 2])
def test_noise_passes_and_what_was_left_unsaid_does_not(dimension):
    passed = missed = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-2, 2, (128, dimension))
        y = 1 / (x[:, 0] - 0.51) + x.sum(axis=1)
        nearest = neighbours(x)
        passed += look_like_noise(rng.standard_normal(128), y, nearest)
        missed += look_like_noise(np.sin(3 * x.sum(axis=1)) + 0.3 * rng.standard_normal(128), y, nearest)
    assert passed >= 45
    assert missed <= 5


def test_one_huge_residual_decides_nothing():
    residuals = RNG.standard_normal(200)
    nearest = neighbours(RNG.uniform(-1, 1, (200, 1)))
    before = agreement(residuals, nearest)
    residuals[17] = 1e9 * np.sign(residuals[17])
    assert agreement(residuals, nearest) == pytest.approx(before, abs=0.03)


def test_far_neighbours_prove_nothing():
    """In many dimensions every row is alone, so residuals look random whatever they are."""
    x = RNG.uniform(-2, 2, (128, 12))
    y = np.sin(2 * x).sum(axis=1)
    assert not look_like_noise(RNG.standard_normal(128), y, neighbours(x))


DECAY = 20.0 * np.exp(-0.35 * np.linspace(0.2, 12.0, 40))


def flagged(fitted: np.ndarray, errors: np.ndarray) -> int:
    """Of 100 draws of errors of this size."""
    draws = (errors * np.random.default_rng(seed).standard_normal(len(fitted)) for seed in range(100))
    return sum(grow_with_values(draw, fitted) for draw in draws)


def test_errors_in_proportion_are_told_from_equal_ones():
    assert flagged(DECAY, 0.03 * DECAY) >= 95
    assert flagged(DECAY, np.full(40, 0.2)) <= 2
    assert flagged(-DECAY, 0.03 * DECAY) >= 95


def test_where_values_hardly_differ_or_rows_are_few_it_does_not_matter():
    assert flagged(20.0 + DECAY, 0.03 * DECAY) == 0
    assert flagged(DECAY[::4], 0.03 * DECAY[::4]) == 0


def test_rounding_grows_with_the_values_and_says_nothing():
    assert not grow_with_values(1e-15 * DECAY, DECAY)
    assert not grow_with_values(np.zeros(40), DECAY)
    assert not grow_with_values(np.full(40, np.nan), DECAY)
