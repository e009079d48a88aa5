"""Fits many sums at once in the core: weights are solved for, only numbers inside terms are iterated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.engine import fit
from ceql.sums.table import Table
from ceql.sums.terms import Sum
from ceql.sums.view import View

_AT_ONCE = 48  # sums on one tape


def fitted(sums: Sequence[Sum], view: View, threads: int = 1) -> list[Sum]:
    """Each sum with the numbers and weights that leave least beside what is projected out, if it can be fitted."""
    found: list[Sum] = []
    for first in range(0, len(sums), _AT_ONCE):
        found += _fitted(sums[first : first + _AT_ONCE], view, threads)
    return found


def _fitted(sums: Sequence[Sum], view: View, threads: int) -> list[Sum]:
    table = view.table
    written = table.writer.written(sums)
    count = written.tape.n_params
    params, masks = np.zeros((len(sums), count)), np.zeros((len(sums), count), np.uint8)
    places = list(zip(sums, written.numbers, written.weights, strict=True))
    for k, (one, numbers, weights) in enumerate(places):
        params[k, numbers] = one.numbers
        params[k, weights] = 0.0 if table.policy.separable else first_weights(one, table)
        masks[k, numbers.start : weights.stop] = 1
    size = table.size / len(table.y)
    policy = table.policy
    options = fit.Levenberg(
        policy.fitting_steps, target=policy.rounding * size, least_reduction=1e-6, separable=policy.separable
    )
    fits = fit.levenberg(written.tape, view.samples, params, masks, options, threads=threads)
    good = np.isfinite(fits.misfit) & np.isfinite(fits.params).all(axis=1)
    return [
        one.fitted(fits.params[k, numbers].tolist(), fits.params[k, weights].tolist(), float(fits.misfit[k]) / size)
        for k, (one, numbers, weights) in enumerate(places)
        if good[k]
    ]


def first_weights(one: Sum, table: Table) -> np.ndarray:
    """Starting weights, where weights are iterated: solved once, for the starting numbers of the sum."""
    with np.errstate(all="ignore"):
        columns = table.columns_of(one)[0]
    if not np.isfinite(columns).all():
        return np.zeros(columns.shape[1])
    return np.linalg.lstsq(columns, table.y, rcond=None)[0]
