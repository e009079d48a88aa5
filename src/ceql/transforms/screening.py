"""Screening of columns: finds the handful of many columns that together explain y, without any formula.

In a wide table, some dozens are chosen first by correlations, which take a fraction of a second for a thousand columns
and all their pairs.
"""

from __future__ import annotations

import numpy as np

from ceql.data.correlations import best_products, explained
from ceql.engine.one_thread import one_thread
from ceql.transforms.policy import ScreeningPolicy, TransformPolicy
from ceql.transforms.smoothness import distances, left_by, on_circle, unexplained, unexplained_by_neighbour


@one_thread
def promising(x: np.ndarray, y: np.ndarray, most: int, policy: TransformPolicy = TransformPolicy()) -> list[int]:
    """Return the `most` most promising columns of a wide table, in their order; all that vary if these are fewer.

    They are taken in turn from three lists: columns that correlate with y on their own, pairs whose product does, and
    columns in the order in which a linear fit adds them, which differ from each other.
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
    """Return ranks, centred and of unit variance: outliers get no extra weight, and monotonic functions do not matter.

    Equal values have equal ranks; otherwise the order of the rows would matter.
    """
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in columns.T], axis=1).astype(float)
    return (ranks - ranks.mean(axis=0)) / np.maximum(ranks.std(axis=0), 1e-300)


def _one_by_one(x: np.ndarray, y: np.ndarray, most: int, policy: ScreeningPolicy) -> np.ndarray:
    """Return the columns in the order in which orthogonal least squares adds them or their squares."""
    left = (y - y.mean()) / max(float(np.max(np.abs(y))), 1e-300)
    even = _even(x)
    columns = np.hstack([x - x.mean(axis=0), even**2 - (even**2).mean(axis=0)])
    size = full = np.linalg.norm(columns, axis=0)
    taken: list[int] = []
    directions = np.zeros((0, len(y)))
    while len(taken) < min(most, x.shape[1]) and (len(directions) + 1) * policy.rows_per_step <= len(y):
        fresh = size > policy.nothing_new * full
        gain = np.where(fresh, np.abs(left @ columns) / np.maximum(size, 1e-300), 0.0)
        gain = gain.reshape(2, -1).max(axis=0)
        gain[taken] = 0.0
        best = int(np.argmax(gain))
        if gain[best] == 0.0:
            break
        # Nonlinear effects and products of the first columns would hide the effects of later ones.
        bent = [even[:, best] ** power for power in (2, 3)] + [even[:, best] * even[:, k] for k in taken]
        for column in (columns[:, best], *(bent if len(taken) < policy.bent else ())):
            direction = column - column.mean()
            direction = direction - directions.T @ (directions @ direction)
            length = np.linalg.norm(direction)
            if not length > policy.nothing_new * np.linalg.norm(column):
                continue
            direction = direction / length
            directions = np.vstack([directions, direction])
            left = left - direction * (direction @ left)
            size = np.sqrt(np.maximum(size**2 - (direction @ columns) ** 2, 0.0))
        taken.append(best)
    return np.array(taken, int)


@one_thread
def relevant(x: np.ndarray, y: np.ndarray, most: int, policy: TransformPolicy = TransformPolicy()) -> list[int]:
    """Return at most `most` columns, in their order: the best pair, and those that further lower the prediction error.

    Pairs come first, since a column alone may show nothing if it acts only together with another one, as in a pole.
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
    chosen, _ = min(extended, key=lambda found: found[1])
    together = _pair_that_shows(x[rows], y[rows], points, own)
    chosen = list(dict.fromkeys([*together, *chosen]))[:most]
    return sorted(_with_weak_ones(chosen, x[rows], apart, points, most, policy))


def _pair_that_shows(x: np.ndarray, y: np.ndarray, points: np.ndarray, policy: ScreeningPolicy) -> list[int]:
    """Return the two columns whose product best explains y, unless that may be chance.

    With few rows and many columns, nearest neighbours cannot find such a pair.
    """
    columns, goals = _even(x), np.column_stack([_even(y[:, None]), points])
    (i,), (j,) = best_products(columns, columns, goals, 1)
    shown = explained(columns[:, [i]] * columns[:, [j]], goals)[0]
    return [int(i), int(j)] if shown > _by_chance(len(y), x.shape[1] ** 2, policy) else []


def _by_chance(rows: int, tries: int, policy: ScreeningPolicy) -> float:
    """Return the share of the variance that the best of `tries` meaningless columns hardly ever exceeds."""
    return float(-np.expm1(-2.0 * np.log(4.0 * tries / policy.chance) / max(rows - 2, 1)))


def _with_weak_ones(
    chosen: list[int],
    x: np.ndarray,
    apart: list[np.ndarray],
    points: np.ndarray,
    most: int,
    policy: TransformPolicy,
) -> list[int]:
    """Add columns that explain more than chance of what a smooth function of the chosen ones leaves."""
    columns = _even(x)
    chance = _by_chance(len(points), x.shape[1], policy.screening)
    while len(chosen) < most:
        left = left_by(np.sum([apart[k] for k in chosen], axis=0), points, policy.smoothness)
        if left is None:
            break
        shown = np.maximum(explained(columns, left), explained(columns**2, left))
        shown[chosen] = 0.0
        best = int(np.argmax(shown))
        if not shown[best] > chance:
            break
        chosen = [*chosen, best]
    return chosen


def _extended(
    chosen: list[int],
    apart: list[np.ndarray],
    points: np.ndarray,
    varying: list[int],
    most: int,
    policy: TransformPolicy,
) -> tuple[list[int], float]:
    """Add columns one by one as long as each lowers the error; return them with the final error."""
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
