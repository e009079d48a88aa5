"""Tables that follow a law."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.catalogue.law import Constant, Law
from ceql.data.dataset import Dataset

ROWS = {0: 20, 1: 50, 2: 80, 3: 80}  # by the number of columns
TRIES = 60


def drawn_constants(law: Law, seed: int) -> np.ndarray:
    """Near the typical ones, each with its sign and within its bounds; the typical ones for seed 0."""
    rng = np.random.default_rng(seed)
    typical = np.array([constant.typical for constant in law.constants])
    if seed == 0:
        return typical
    for _ in range(TRIES):
        values = typical * np.exp(rng.normal(0.0, 0.12, len(typical)))
        if law.allows(values) and all(map(_outside, [law] * len(typical), law.constants, values)):
            return values
    return typical


def _outside(law: Law, constant: Constant, value: float) -> bool:
    """Whether a constant that lies beyond the data still does."""
    if constant.start is None or constant.start.kind not in ("below min", "above max"):
        return True
    (name, power), *_ = constant.start.quantity
    column = law.columns[int(name[1:]) - 1]
    if constant.start.kind == "below min":
        return value < column.lower**power
    return value > 1.02 * column.upper**power


@pytest.fixture(scope="session")
def table_of():
    def table(law: Law, seed: int, noise: float = 0.0) -> Dataset:
        rng = np.random.default_rng(seed)
        count, rows = len(law.columns), ROWS[len(law.columns)]
        lower, upper = (np.array([getattr(c, side) for c in law.columns]) for side in ("lower", "upper"))
        share = rng.random((rows, count)) if count > 1 else np.linspace(0.0, 1.0, rows)[:, None]
        x = lower + (upper - lower) * share if count else share
        y = law.program.value(x[:, :count], drawn_constants(law, seed))
        y = y + noise * np.std(y) * rng.normal(size=rows)
        return Dataset(x, y, np.ones(rows), tuple(f"x{k + 1}" for k in range(x.shape[1])))

    return table
