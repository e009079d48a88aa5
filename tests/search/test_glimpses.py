"""What whoever watches a search is shown: a front at any time, which does not change the search."""

from __future__ import annotations

import numpy as np
import pytest

from ceql import Dataset, Settings, discover
from ceql.discovery import Progress
from ceql.search.policy import SearchPolicy

SETTINGS = Settings(operators=("mul", "div"), max_starts=256, search=SearchPolicy(round_size=128, chunk_size=64))


def noisy() -> Dataset:
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (60, 2))
    return Dataset.of(x, x[:, 0] / (x[:, 1] + 0.5) + 0.1 * rng.standard_normal(60))


@pytest.fixture(scope="module")
def watched():
    """The fronts that were seen, and what was found."""
    fronts = []

    def look(progress: Progress) -> None:
        assert progress.front is not None
        fronts.append((progress.starts, progress.message, progress.front()))

    return fronts, discover(noisy(), SETTINGS, look)


def test_there_is_a_front_from_before_the_first_round_until_the_last_formula(watched):
    fronts, _ = watched
    assert fronts[0][0] == 0
    assert len(fronts[0][2]) == 2  # a constant and a line
    assert {starts for starts, _, _ in fronts} >= {0, 128, 256}
    assert fronts[-1][1] == "writing the formulas down"


def test_each_is_a_front_with_one_best(watched):
    for _, _, front in watched[0]:
        sizes, losses = [g.complexity for g in front], [g.loss for g in front]
        assert sizes == sorted(sizes)
        assert losses == sorted(losses, reverse=True)
        assert len(set(losses)) == len(losses)
        assert sum(g.is_best for g in front) == 1


def test_the_losses_are_those_of_the_formulas(watched):
    data = noisy()
    for _, _, front in watched[0]:
        for glimpse in front:
            columns = {f"x{k + 1}": column for k, column in enumerate(data.x.T)}
            symbols = sorted(glimpse.expression.free_symbols, key=str)
            rows = zip(*(columns[symbol.name] for symbol in symbols), strict=True) if symbols else [()] * len(data.y)
            values = [float(glimpse.expression.subs(dict(zip(symbols, row, strict=True)))) for row in rows][:60]
            assert np.mean((np.array(values) - data.y) ** 2) == pytest.approx(glimpse.loss, rel=1e-6)


def test_to_look_changes_nothing(watched):
    alone = discover(noisy(), SETTINGS)
    assert [str(f) for f in alone.formulas] == [str(f) for f in watched[1].formulas]
