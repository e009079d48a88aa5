"""Which columns matter, when there are many: a handful that together explain y, found without any formula."""

from __future__ import annotations

import numpy as np

from ceql.aims.smoothness import distances, on_circle, unexplained, unexplained_by_neighbour
from ceql.one_thread import one_thread

_ROWS = 256
_PAIRS_EXTENDED = 12
_GAIN = 0.93  # another column must lower the error to this share of it
_STARTING = 120  # columns of which all pairs are looked at


@one_thread
def relevant(x: np.ndarray, y: np.ndarray, most: int) -> list[int]:
    """At most that many columns, in their order: the best pair of all, and what else lowers the error of prediction.

    A column alone may show nothing when a pole moves with another one, so pairs come first.
    """
    rows = _some_rows(len(y))
    points = on_circle(y[rows])
    apart = [distances(column) for column in x[rows].T]
    varying = [k for k in range(x.shape[1]) if np.ptp(x[rows, k]) > 0]
    if len(varying) <= 2:
        return varying
    singles = sorted(varying, key=lambda k: unexplained_by_neighbour(apart[k], points))[:_STARTING]
    pairs = [(i, j) for position, i in enumerate(singles) for j in singles[:position]]
    pairs.sort(key=lambda pair: unexplained_by_neighbour(apart[pair[0]] + apart[pair[1]], points))
    best = min((_extended(list(pair), apart, points, varying, most) for pair in pairs[:_PAIRS_EXTENDED]), key=_error)
    return sorted(best[0])


def _error(found: tuple[list[int], float]) -> float:
    return found[1]


def _extended(
    chosen: list[int], apart: list[np.ndarray], points: np.ndarray, varying: list[int], most: int
) -> tuple[list[int], float]:
    """Columns are added one by one as long as each of them helps."""
    squared = np.sum([apart[k] for k in chosen], axis=0)
    error = unexplained_by_neighbour(squared, points)
    while len(chosen) < most:
        trials = {k: unexplained_by_neighbour(squared + apart[k], points) for k in varying if k not in chosen}
        if not trials:
            break
        column = min(trials, key=trials.__getitem__)
        if trials[column] > _GAIN * error:
            break
        chosen, squared, error = [*chosen, column], squared + apart[column], trials[column]
    return chosen, unexplained(squared, points)


def _some_rows(n: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).permutation(n)[:_ROWS])
