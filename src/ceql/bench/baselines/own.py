"""Our own method, its real-valued twin and the paper's recipe, as a user would call them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.bench.methods import Adapter, Found


@dataclass(frozen=True)
class Own(Adapter):
    """`CEQLRegressor` with its defaults, but for what is set here."""

    recipe: str | None = None
    complex_weights: bool = True

    def arguments(self, seed: int, time_limit: float) -> dict[str, Any]:
        """The arguments of `CEQLRegressor`; what is left at its default is not passed."""
        chosen: dict[str, Any] = {"random_state": seed}
        if self.recipe is None:
            chosen["time_limit"] = time_limit
        else:
            # The paper's recipe is a fixed schedule: it takes the time it takes.
            chosen["recipe"] = self.recipe
        if not self.complex_weights:
            chosen["complex_weights"] = False
        return chosen

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        import pandas as pd

        from ceql import CEQLRegressor

        # A frame, so that the formula comes back in the problem's own names.
        frame = pd.DataFrame(X, columns=list(names))
        model = CEQLRegressor(**self.arguments(seed, time_limit))
        start = time.perf_counter()
        model.fit(frame, y)
        expression = model.sympy()
        return Found(expression, time.perf_counter() - start)
