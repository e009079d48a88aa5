"""An aim: numbers to search a formula in, and the way back from that formula to one for y."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ceql.data.dataset import Dataset
from ceql.operators import get
from ceql.transforms.outermost import Target

_NEARBY = 1e-7  # share of a value, for differences


def _as_it_is(expression: Any) -> Any:
    return expression


@dataclass(frozen=True, eq=False)
class Aim:
    """Columns `x`, what each of them stands for, the values `y` to fit and what makes a formula for them one for y."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    symbols: tuple[Any, ...]
    back: Callable[[Any], Any] = _as_it_is
    slope: np.ndarray | float = 1.0  # how fast these values move with the user's y, so how far noise moves them

    @property
    def is_direct(self) -> bool:
        """Whether it is y itself that is fitted, so that a good fit of one is a good fit of the other."""
        return self.back is _as_it_is


def plain(data: Dataset, symbols: Sequence[Any]) -> Aim:
    return Aim(data.x, data.y, data.weight, tuple(symbols))


def towards(aim: Aim, target: Target) -> Aim:
    """The same with an operator on top of the formula undone."""
    if not target.needs:
        return aim
    values = target.forward(aim.y)
    with np.errstate(all="ignore"):
        nearby = aim.y + _NEARBY * np.abs(aim.y)
        slope = aim.slope * np.abs(target.forward(nearby) - values) / np.abs(nearby - aim.y)
    return replace(aim, y=values, slope=slope, back=lambda e: aim.back(target.back(e, aim.y)))


def only(aim: Aim, columns: Sequence[int]) -> Aim:
    return replace(aim, x=aim.x[:, list(columns)], symbols=tuple(aim.symbols[k] for k in columns))


def sampled(aim: Aim, rows: int | None) -> Aim:
    """At most that many rows, spread evenly over those there are."""
    if rows is None or len(aim.y) <= rows:
        return aim
    kept = np.linspace(0, len(aim.y) - 1, rows).astype(int)
    weight = aim.weight[kept]
    if not weight.any():
        return aim
    slope = np.broadcast_to(aim.slope, len(aim.y))[kept]
    return replace(aim, x=aim.x[kept], y=aim.y[kept], weight=weight / weight.mean(), slope=slope)


def with_logs(aim: Aim) -> Aim | None:
    """The logarithms of the columns beside them; None where no column keeps its sign.

    A logarithm of a column has no constant of its own to fit, since a scale of the column becomes an offset. As an
    input it turns products and powers into sums, which are a layer shallower, so far easier to hit.
    """
    suited = np.flatnonzero(keep_their_sign(aim.x) & (np.ptp(aim.x, axis=0) > 0))
    if not len(suited):
        return None
    log = get("log").symbolic
    symbols = [log(aim.symbols[k] if aim.x[0, k] > 0 else -aim.symbols[k]) for k in suited]
    x = np.column_stack([aim.x, np.log(np.abs(aim.x[:, suited]))])
    return replace(aim, x=x, symbols=(*aim.symbols, *symbols))


def keep_their_sign(x: np.ndarray) -> np.ndarray:
    return np.asarray((x > 0).all(axis=0) | (x < 0).all(axis=0))
