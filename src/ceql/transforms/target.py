"""A transformed target: the values to fit, and the way back from a formula for them to one for y."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ceql.data.dataset import Dataset
from ceql.operators import get
from ceql.transforms.outermost import Target

_NEARBY = 1e-7  # step of difference quotients, as a share of the value
PAIRINGS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a - b,
    lambda a, b: a + b,
)


def _as_it_is(expression: Any) -> Any:
    return expression


@dataclass(frozen=True, eq=False)
class TransformedTarget:
    """Columns `x` with their expressions `symbols`, values `y` to fit, and `back`, which turns a formula for these into
    one for the original y."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    symbols: tuple[Any, ...]
    back: Callable[[Any], Any] = _as_it_is
    slope: np.ndarray | float = 1.0  # derivative of these values by the user's y: how strongly noise moves them
    angles: tuple[int, ...] | None = None  # of a dimensionless target: the original columns that may be angles

    @property
    def is_plain(self) -> bool:
        """Return whether `y` is the user's y, with nothing to undo."""
        return self.back is _as_it_is

    @property
    def is_direct(self) -> bool:
        """Return whether y itself is fitted, perhaps in another unit: a good fit of one is a good fit of the other."""
        return self.is_plain or self.angles is not None


def plain(data: Dataset, symbols: Sequence[Any]) -> TransformedTarget:
    return TransformedTarget(data.x, data.y, data.weight, tuple(symbols))


def towards(start: TransformedTarget, target: Target) -> TransformedTarget:
    """Return the target with the outermost operator of the formula undone."""
    if not target.needs:
        return start
    values = target.forward(start.y)
    with np.errstate(all="ignore"):
        nearby = start.y + _NEARBY * np.abs(start.y)
        slope = start.slope * np.abs(target.forward(nearby) - values) / np.abs(nearby - start.y)
    changed = replace(start, y=values, slope=slope, angles=None)
    return replace(changed, back=lambda e: start.back(target.back(e, start.y)))


def only(target: TransformedTarget, columns: Sequence[int]) -> TransformedTarget:
    symbols = tuple(target.symbols[k] for k in columns)
    return replace(target, x=target.x[:, list(columns)], symbols=symbols, angles=None)


def sampled(target: TransformedTarget, rows: int | None) -> TransformedTarget:
    """Return the target with at most that many rows, spread evenly over the table."""
    if rows is None or len(target.y) <= rows:
        return target
    kept = np.linspace(0, len(target.y) - 1, rows).astype(int)
    weight = target.weight[kept]
    if not weight.any():
        return target
    slope = np.broadcast_to(target.slope, len(target.y))[kept]
    return replace(target, x=target.x[kept], y=target.y[kept], weight=weight / weight.mean(), slope=slope)


def with_logs(target: TransformedTarget) -> TransformedTarget | None:
    """Return the target with the logarithms of columns of one sign as further columns; None if there are no such ones.

    The logarithm of a column has no constant of its own to fit, since a scale of the column becomes an offset. As an
    input it turns products and powers into sums, which are one layer shallower and so far easier to find.
    """
    suited = np.flatnonzero(keep_their_sign(target.x) & (np.ptp(target.x, axis=0) > 0))
    if not len(suited):
        return None
    log = get("log").symbolic
    symbols = [log(target.symbols[k] if target.x[0, k] > 0 else -target.symbols[k]) for k in suited]
    x = np.column_stack([target.x, np.log(np.abs(target.x[:, suited]))])
    return replace(target, x=x, symbols=(*target.symbols, *symbols), angles=None)


def by_power(target: TransformedTarget, k: int, exponent: float | Fraction, keep: bool = False) -> TransformedTarget:
    """Return the target with y divided by that power of a column, which is removed unless `keep` is set."""
    column, symbol = target.x[:, k], target.symbols[k]
    whole = float(exponent).is_integer()
    if not whole and (column < 0).all():
        column, symbol = -column, -symbol
    factor, written = column ** float(exponent), symbol ** (int(exponent) if whole else exponent)
    rest = target if keep else only(target, np.delete(np.arange(target.x.shape[1]), k).tolist())
    slope = target.slope / np.abs(factor)
    divided = replace(rest, y=target.y / factor, slope=slope, angles=None)
    return replace(divided, back=lambda e: target.back(written * e))


def joined(target: TransformedTarget, i: int, j: int, pairing: Callable[[Any, Any], Any]) -> TransformedTarget:
    """Return the target with one column, such as a product or a sum, in place of two."""
    others = only(target, np.delete(np.arange(target.x.shape[1]), (i, j)).tolist())
    x = np.column_stack([others.x, pairing(target.x[:, i], target.x[:, j])])
    return replace(others, x=x, symbols=(*others.symbols, pairing(target.symbols[i], target.symbols[j])))


def less(target: TransformedTarget, values: np.ndarray, written: Any) -> TransformedTarget:
    """Return the target with a known part of y, given by its values and its expression, subtracted."""
    rest = replace(target, y=target.y - values, angles=None)
    return replace(rest, back=lambda e: target.back(written + e))


def is_sound(target: TransformedTarget) -> bool:
    return bool(np.isfinite(target.x).all() and np.isfinite(target.y).all() and np.ptp(target.y) > 0)


def keep_their_sign(x: np.ndarray) -> np.ndarray:
    return np.asarray((x > 0).all(axis=0) | (x < 0).all(axis=0))
