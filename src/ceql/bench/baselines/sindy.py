"""SINDy (pysindy) as a static regression: a fixed library of terms, thresholded least squares."""

# pyright: reportMissingImports=false
from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from ceql.bench.methods import Adapter, Found


@dataclass(frozen=True)
class Sindy(Adapter):
    """The paper's library (1, x, x^2, x_i x_j, log|x|, sqrt|x|, x_i/x_j for i < j) and STLSQ settings.

    The paper's stabilisers (1e-12 inside log, 1e-6 in denominators) are left out: no sample is that close
    to zero, and the formula that is judged is the one that was fitted. Large features are clipped while
    fitting, as there.
    """

    requires: ClassVar = (("pysindy", "pysindy"),)
    threshold: float = 1e-2
    alpha: float = 1e-6
    max_iterations: int = 1000
    clip: float = 1e6
    zero: float = 1e-12

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from pysindy import STLSQ

        start = time.perf_counter()
        texts, values = zip(*library(X, names), strict=True)
        features = np.clip(np.column_stack(values), -self.clip, self.clip)
        optimizer = STLSQ(
            threshold=self.threshold, alpha=self.alpha, max_iter=self.max_iterations, normalize_columns=True
        )
        optimizer.fit(features, y[:, None])
        weights = np.ravel(optimizer.coef_)
        terms = [f"({float(w)!r})*{text}" for w, text in zip(weights, texts, strict=True) if abs(w) > self.zero]
        return Found(" + ".join(terms) or "0", time.perf_counter() - start)


def library(X: np.ndarray, names: tuple[str, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """The terms of the library, each as text and as values."""
    yield "1", np.ones(len(X))
    columns = list(zip(names, X.T, strict=True))
    for name, x in columns:
        yield name, x
        yield f"{name}**2", x**2
        yield f"log(Abs({name}))", np.log(np.abs(x))
        yield f"sqrt(Abs({name}))", np.sqrt(np.abs(x))
    for (a, x), (b, z) in combinations(columns, 2):
        yield f"{a}*{b}", x * z
        yield f"{a}/{b}", x / z
