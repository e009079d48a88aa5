"""`max_complexity` steers the search: small sub-networks, no end at a formula that is too large, the best within it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql import Dataset, Settings, discover
from ceql.discovery import Outcome
from ceql.network.libraries import search_network
from ceql.network.sampling import Prior, Stream, draw
from ceql.search.policy import SearchPolicy
from ceql.search.stage import edges_for, edges_within


@pytest.fixture(scope="module")
def wave():
    """Its exact formula has 11 nodes, its first harmonic 6, and its slope at the origin 3."""
    x = np.linspace(-2, 2, 80)[:, None]
    return Dataset.of(x, 1.5 * np.sin(x[:, 0]) + 0.02 * np.sin(3.1 * x[:, 0]))


@pytest.mark.parametrize("limit", [1, 3, 6])
def test_the_best_within_the_limit(wave, limit):
    discovery = discover(wave, Settings(operators=("mul", "sin"), max_complexity=limit, time_limit=20))
    assert max(formula.complexity for formula in discovery.front) <= limit
    assert discovery.outcome is not Outcome.EXACT
    # What fits best may be a sine of which the rows cover half a period: found, but struck.
    found = [*discovery.front, *(struck.formula for struck in discovery.struck)]
    share_left = min(formula.loss for formula in found) / np.var(wave.y)
    assert share_left < {1: 1.0001, 3: 0.2, 6: 2e-4}[limit]


def test_a_formula_that_just_fits_is_found(wave):
    discovery = discover(wave, Settings(operators=("mul", "sin"), max_complexity=11))
    assert discovery.outcome is Outcome.EXACT
    assert discovery.best.complexity <= 11


def test_an_exact_formula_beyond_the_limit_is_mentioned():
    x = np.linspace(1, 3, 60)[:, None]
    data = Dataset.of(x, 1.5 / (x[:, 0] + 0.5) + 0.7)
    discovery = discover(data, Settings(operators=("mul", "div"), max_complexity=8, time_limit=30))
    assert discovery.outcome is Outcome.TOO_COMPLEX
    assert discovery.best.complexity <= 8


def test_the_draws_follow_the_limit():
    edges = draw(search_network(3), 200, Stream(0), Prior(maximum_edges=edges_within(4, SearchPolicy())))
    assert edges.sum(axis=1).max() <= 6
    assert edges_within(12, SearchPolicy()) < edges_within(20, SearchPolicy()) < 26


def test_a_number_of_starts_ends_the_search_at_the_same_point_on_any_machine():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 3, (60, 2))
    data = Dataset.of(x, np.sin(5 * x[:, 0] * x[:, 1]) / x[:, 1])
    small = SearchPolicy(round_size=64, chunk_size=32)
    settings = Settings(operators=("mul", "div"), max_starts=150, time_limit=np.inf, search=small)
    one, two = (discover(data, replace(settings, threads=threads)) for threads in (1, 2))
    assert one.outcome is Outcome.OUT_OF_STARTS
    assert one.starts == 192  # the round that reaches the number is finished
    assert [str(f) for f in one.front] == [str(f) for f in two.front]


def test_few_rows_make_smaller_draws_and_many_do_not():
    sizes = {rows: edges_for(rows, SearchPolicy()) for rows in range(2, 40)}
    assert list(sizes.values()) == sorted(sizes.values())
    assert sizes[2] == sizes[8] == 6  # below the number of rows, as far as there is a formula at all
    assert sizes[18] >= Prior().maximum_edges
