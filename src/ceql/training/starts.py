"""Several initialisations of one recipe. The paper reports the run with the smallest training error of five."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ceql.engine import fit
from ceql.training.phase import Recipe
from ceql.training.run import Progress, Trained, train


def trainings(
    x: np.ndarray,
    y: np.ndarray,
    recipe: Recipe,
    seed: int,
    *,
    sample_weight: np.ndarray | None = None,
    stop: fit.StopFlag | None = None,
    progress: Progress | None = None,
) -> Iterator[Trained]:
    """Yield the trained network of each start; start k depends on the seed and k only.

    Setting `stop` ends the current start and skips the remaining ones.
    """
    for start in range(recipe.starts):

        def follow(epochs: int, edges: int, misfit: float, start: int = start) -> None:
            if progress is not None:
                progress(start * recipe.epochs + epochs, edges, misfit)

        trained = train(x, y, recipe, (seed, start), sample_weight=sample_weight, stop=stop, progress=follow)
        yield trained
        if trained.stopped:
            return
