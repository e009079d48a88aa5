"""Checks whether the problems of a suite, ours or a user's, are well posed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ceql.bench.definitions import Problem
from ceql.bench.points import draw, formula, stream, target, usable

_DRAWS = 4096


def complaints(problem: Problem, rate: float = 0.1, share: float = 0.01, influence: float = 0.01) -> Iterator[str]:
    """Yields what is wrong with a problem: rare points, a constant target, irrelevant variables, no singularity.

    At least `rate` of the drawn points must be usable in either range; each argument in `singular` must be negative on
    a share of the training range between `share` and `1 - share`; shuffling a variable must change the target by
    `influence` of its interquartile range or more, at half of the points.
    """
    rng = stream(problem, 0, "posed")
    X = draw(rng, problem.train, _DRAWS)
    y = target(problem)(X)
    keep = usable(problem, y)
    outside = usable(problem, target(problem)(draw(rng, problem.extrap, _DRAWS)))
    for part, good in (("training", keep), ("extrapolation", outside)):
        if good.mean() < rate:
            yield f"only {good.mean():.1%} of the {part} range is usable"
    if keep.sum() < 2:
        return
    spread = float(np.subtract(*np.percentile(y[keep], [75, 25])))
    if spread <= 1e-9 * float(np.abs(y[keep]).max()):
        yield "the target is constant"
        return
    yield from _idle_variables(problem, X[keep], y[keep], spread * influence, rng)
    yield from _idle_singularities(problem, X, share)


def _idle_variables(
    problem: Problem, X: np.ndarray, y: np.ndarray, least: float, rng: np.random.Generator
) -> Iterator[str]:
    for j, name in enumerate(problem.variables):
        shuffled = X.copy()
        shuffled[:, j] = rng.permutation(X[:, j])
        change = np.abs(target(problem)(shuffled) - y)
        if not np.nanmedian(change) >= least:
            yield f"{name} hardly matters"


def _idle_singularities(problem: Problem, X: np.ndarray, share: float) -> Iterator[str]:
    for text in problem.singular:
        negative = float(np.mean(formula(text, problem.variables)(X) < 0))
        if not share <= negative <= 1 - share:
            yield f"{text} hardly changes sign: negative on {negative:.1%} of the training range"
