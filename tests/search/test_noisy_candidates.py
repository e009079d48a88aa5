"""What needs no search in noise ends it, and nothing else is taken for noise."""

from __future__ import annotations

import numpy as np
import pytest

from ceql import Dataset, Settings, discover
from ceql.discovery import Outcome
from ceql.search.policy import SearchPolicy

FEW_STARTS = SearchPolicy(round_size=64, chunk_size=32)


def searched(x: np.ndarray, y: np.ndarray, rounds: int = 6):
    settings = Settings(search=FEW_STARTS, time_limit=120.0, max_starts=rounds * FEW_STARTS.round_size)
    return discover(Dataset.of(x, y), settings)


@pytest.mark.parametrize(
    "law",
    [
        lambda a, b: 1.7 * a * np.sqrt(b),
        lambda a, b: 2.0 * a / (1 + 0.8 * b),
        lambda a, b: np.exp(-0.5 * (a / b) ** 2),
    ],
)
def test_a_law_in_noise_is_explained_after_a_few_rounds(law):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 3.0, (500, 2))
    y = law(*x.T)
    found = searched(x, y + 0.01 * np.std(y) * rng.standard_normal(len(y)))
    assert found.outcome is Outcome.SETTLED
    assert found.starts <= 5 * FEW_STARTS.round_size
    fresh = rng.uniform(0.5, 3.0, (100, 2))
    assert np.abs(found.best(fresh) - law(*fresh.T)).max() < 0.02 * np.ptp(y)


@pytest.mark.parametrize("rows", [15, 40, 150])
@pytest.mark.parametrize("columns", [1, 2])
def test_what_a_proposal_fails_to_say_is_no_noise(rows, columns):
    """Exact data of a function that nothing proposed is equal to."""
    x = np.random.default_rng(1).uniform(-2.0, 2.0, (rows, columns))
    y = np.sin(3.3 * x[:, 0] + np.exp(-x[:, -1])) / (x.sum(axis=1) + 5.3)
    assert searched(x, y).outcome is Outcome.OUT_OF_STARTS
