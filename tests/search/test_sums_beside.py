"""Sums beside the rounds: however far these have come, the search is that of one thread."""

from __future__ import annotations

import numpy as np
import pytest

from ceql import Dataset, Settings, discover
from ceql.search.outcome import Outcome
from ceql.search.policy import SearchPolicy
from ceql.search.state import SearchState
from ceql.storage.checkpoint import Checkpoint, read_checkpoint
from ceql.sums.policy import SumSearchPolicy

FEW_SUMS = SearchPolicy(sums=SumSearchPolicy(degrees=(2, 0), most_terms=200, in_pairs=(50, 50, 50), most_expansions=4))


def table() -> Dataset:
    """A sum that takes a few rounds, and that no network of the first ones hits."""
    x = np.random.default_rng(5).uniform(0.2, 4.0, (60, 1))
    u = x[:, 0]
    return Dataset.of(x, -0.0128 * u**3 + 2.78 * np.log(u + 1.0) - 1.096 * np.cos(1.24 * u) - 1.08)


@pytest.fixture(scope="module")
def on_one_thread():
    return discover(table(), Settings(time_limit=np.inf, max_starts=8192, threads=1))


@pytest.mark.parametrize("threads", [2, 5])
def test_an_exact_sum_ends_the_search_at_its_round(on_one_thread, threads):
    found = discover(table(), Settings(time_limit=np.inf, max_starts=8192, threads=threads))
    assert found.outcome is on_one_thread.outcome is Outcome.EXACT
    assert found.starts == on_one_thread.starts
    assert [str(row) for row in found.front] == [str(row) for row in on_one_thread.front]


def test_what_is_kept_has_the_sums_of_its_round(tmp_path):
    """Another search that goes on from it does what the first would have done."""
    rng = np.random.default_rng(6)
    x = rng.uniform(0.2, 4.0, (40, 1))
    data = Dataset.of(x, np.sinc(x[:, 0]) / (1.0 + x[:, 0] ** 5) ** 0.3)

    def kept(threads: int) -> SearchState:
        path = tmp_path / f"{threads}.ceql-checkpoint"
        settings = Settings(time_limit=np.inf, max_starts=4096, threads=threads, search=FEW_SUMS)
        discover(data, settings, checkpoint=Checkpoint(path, every=1e-3))
        return read_checkpoint(path)[0]

    one, other = kept(1), kept(3)
    assert one.sums is not None
    assert other.sums is not None
    assert one.starts == other.starts
    assert one.sums.known == other.sums.known
    assert one.sums.peeled == other.sums.peeled
