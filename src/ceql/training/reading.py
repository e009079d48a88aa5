"""Extracts the formula of a trained network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ceql.engine.pruning import drop_small
from ceql.expression import UnsupportedExpression, compile_numpy
from ceql.network.extract import extract, upright
from ceql.training.run import Trained


def read_off(trained: Trained, negligible: float, x: np.ndarray, symbols: Sequence[Any]) -> Any:
    """Return the formula, with the argument of a log negated wherever it is negative in all rows of `x`."""
    real = simplified(trained, negligible)
    return extract(real.network, real.edges, upright(real.network, real.edges, real.params, x), symbols)


def training_error(formula: Any, symbols: Sequence[Any], x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted mean square error of the formula; infinite if it has no real value in some row."""
    try:
        function = compile_numpy(formula, symbols)
    except UnsupportedExpression:  # for example, the root of a negative constant
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.average((function(x) - y) ** 2, weights=weight))
    return error if np.isfinite(error) else np.inf


def simplified(trained: Trained, negligible: float) -> Trained:
    """Return the network on the real axis, without negligible edges and everything that depends on them.

    A root times 2e-10, for instance, changes no value but makes the formula undefined where the root is.
    """
    real = trained.on_real_axis()
    edges = drop_small(real.network, real.edges, real.params[: real.network.n_edges], negligible)
    return replace(real, edges=edges, params=np.where(real.network.parameter_mask(edges), real.params, 0.0))
