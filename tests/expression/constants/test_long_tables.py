"""Constants of a long table: fitted to as many rows as the time allows, in few passes, and judged on all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.data.dataset import Dataset
from ceql.expression import parse_formula, refit
from ceql.formula import POLISH, make_symbols, mean_square, polish
from ceql.operators.program import BLOCK

ROWS = 2 * BLOCK
RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 3.0, (ROWS, 2))
LAW = X[:, 0] * X[:, 1] / (X[:, 1] + 0.7)
SYMBOLS = make_symbols(("x1", "x2"))
RAW = parse_formula("1.01*x1*x2/(x2 + 0.72) + 0.001*x1", ("x1", "x2"))


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_some_rows_give_the_same_formula_as_all(noise):
    data = Dataset.of(X, LAW + noise * RNG.standard_normal(ROWS))
    on_all, on_some = (polish(RAW, data, SYMBOLS, policy=replace(POLISH, most_rows=rows)) for rows in (ROWS, ROWS // 8))
    assert on_all is not None
    assert on_some is not None
    if noise == 0.0:
        assert str(on_some) == str(on_all)
    assert on_some.loss == pytest.approx(mean_square(on_some(data.x) - data.y, data.weight))
    assert on_some.loss <= on_all.loss * (1.0 + 100.0 / ROWS) + 1e-20


def test_few_passes_over_a_long_table_end_where_many_would():
    """The bottom is told by the first step that gains nothing: each costs a pass over all rows."""
    y = LAW + 0.02 * RNG.standard_normal(ROWS)
    once = refit(RAW, SYMBOLS, X, y)
    again = refit(once.expr, SYMBOLS, X, y)
    assert again.misfit == pytest.approx(once.misfit, rel=1e-6)
    assert np.all(np.abs(again.values - once.values) < 0.05 * once.standard_errors)


def test_a_longer_limit_leaves_more_rows():
    rows = [POLISH.within(seconds).most_rows for seconds in (0.1, 1.0, 10.0, 1e4, np.inf)]
    assert rows == sorted(rows)
    assert rows[0] == POLISH.checked_rows
    assert rows[-1] == POLISH.most_rows
