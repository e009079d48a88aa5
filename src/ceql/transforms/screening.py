"""Which columns matter, when there are many: a handful that together explain y, found without any formula.

Of a wide table some dozens are chosen first, by what can be said of a thousand columns and all their pairs within a
fraction of a second: correlations.
"""

from __future__ import annotations

import numpy as np

from ceql.data.correlations import best_products, explained
from ceql.engine.one_thread import one_thread
from ceql.transforms.policy import ScreeningPolicy, TransformPolicy
from ceql.transforms.smoothness import distances, on_circle, unexplained, unexplained_by_neighbour


@one_thread
def promising(x: np.ndarray, y: np.ndarray, most: int, policy: TransformPolicy = TransformPolicy()) -> list[int]:
    """That many columns of a wide table, in their order, or all that vary where these are fewer.

    They come in turn from three lists: those that show alone, those of the pairs whose product shows, and those that a
    linear fit takes one after the other, which are unlike each other.
    """
    varying = np.flatnonzero(np.ptp(x, axis=0) > 0)
    if len(varying) <= most:
        return varying.tolist()
    own = policy.screening
    rows = _some_rows(len(y), max(own.fewest_rows, own.most_products // len(varying) ** 2))
    x, y = x[np.ix_(rows, varying)], y[rows]
    columns, goals = _even(x), np.column_stack([_even(y[:, None]), on_circle(y)])
    alone = np.argsort(-np.maximum(explained(columns, goals), explained(columns**2, goals)), kind="stable")
    pairs = best_products(columns, columns, goals, own.pairs_per_column * most)
    lists = (alone, np.column_stack(pairs).ravel(), _one_by_one(x, y, most, own))
    chosen: dict[int, None] = {}
    for place in range(max(map(len, lists))):
        chosen.update(dict.fromkeys(int(varying[own[place]]) for own in lists if place < len(own)))
    return sorted(list(chosen)[:most])


def _even(columns: np.ndarray) -> np.ndarray:
    """Ranks, centred and of unit size: outliers count no more than others, and functions that only grow not at all."""
    ranks = columns.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable").astype(float)
    return (ranks - ranks.mean(axis=0)) / np.maximum(ranks.std(axis=0), 1e-300)


def _one_by_one(x: np.ndarray, y: np.ndarray, most: int, policy: ScreeningPolicy) -> np.ndarray:
    """Columns in the order in which orthogonal least squares takes them."""
    left = (y - y.mean()) / max(float(np.max(np.abs(y))), 1e-300)
    columns = x - x.mean(axis=0)
    size = full = np.linalg.norm(columns, axis=0)
    taken: list[int] = []
    directions = np.zeros((0, len(y)))
    for _ in range(min(most, len(y) // policy.rows_per_step, x.shape[1])):
        fresh = size > policy.nothing_new * full
        gain = np.where(fresh, np.abs(left @ columns) / np.maximum(size, 1e-300), 0.0)
        best = int(np.argmax(gain))
        if gain[best] == 0.0:
            break
        taken.append(best)
        direction = columns[:, best] - directions.T @ (directions @ columns[:, best])
        direction /= np.linalg.norm(direction)
        directions = np.vstack([directions, direction])
        left = left - direction * (direction @ left)
        size = np.sqrt(np.maximum(size**2 - (direction @ columns) ** 2, 0.0))
    return np.array(taken, int)


@one_thread
def relevant(x: np.ndarray, y: np.ndarray, most: int, policy: TransformPolicy = TransformPolicy()) -> list[int]:
    """At most that many columns, in their order: the best pair of all, and what else lowers the error of prediction.

    A column alone may show nothing when a pole moves with another one, so pairs come first.
    """
    own = policy.screening
    rows = _some_rows(len(y), own.rows)
    points = on_circle(y[rows])
    apart = [distances(column, policy.smoothness) for column in x[rows].T]
    varying = [k for k in range(x.shape[1]) if np.ptp(x[rows, k]) > 0]
    if len(varying) <= 2:
        return varying
    singles = sorted(varying, key=lambda k: unexplained_by_neighbour(apart[k], points))[: own.starting]
    pairs = [(i, j) for position, i in enumerate(singles) for j in singles[:position]]
    pairs.sort(key=lambda pair: unexplained_by_neighbour(apart[pair[0]] + apart[pair[1]], points))
    extended = (_extended(list(pair), apart, points, varying, most, policy) for pair in pairs[: own.pairs_extended])
    return sorted(min(extended, key=lambda found: found[1])[0])


def _extended(
    chosen: list[int],
    apart: list[np.ndarray],
    points: np.ndarray,
    varying: list[int],
    most: int,
    policy: TransformPolicy,
) -> tuple[list[int], float]:
    """Columns are added one by one as long as each of them helps."""
    squared = np.sum([apart[k] for k in chosen], axis=0)
    error = unexplained_by_neighbour(squared, points)
    while len(chosen) < most:
        trials = {k: unexplained_by_neighbour(squared + apart[k], points) for k in varying if k not in chosen}
        if not trials:
            break
        column = min(trials, key=trials.__getitem__)
        if trials[column] > policy.screening.gain * error:
            break
        chosen, squared, error = [*chosen, column], squared + apart[column], trials[column]
    return chosen, unexplained(squared, points, policy.smoothness)


def _some_rows(n: int, most: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).permutation(n)[:most])
