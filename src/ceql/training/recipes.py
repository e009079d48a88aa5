"""Schedules as data. `paper()` is the table in the paper's appendix; what the table leaves open is said beside it."""

from __future__ import annotations

from ceql.network.libraries import PAPER_LAYERS
from ceql.training.phase import ImpactPruning, Phase, Plateau, Recipe


def paper() -> Recipe:
    """The Complex Equation Learner as published: one dense network, three phases, 350,000 epochs.

    The paper does not define its penalty on the arguments of log and sqrt. The squared angle in the complex plane jumps
    to pi^2 where an argument near zero wavers, which drives training away from exactly the roots and logarithms that
    reach their branch point in the data; the squared distance below zero does not, and is the default.
    """
    return Recipe(
        name="paper",
        layers=PAPER_LAYERS,
        phases=(
            Phase(
                "explore",
                epochs=100_000,
                rate=1e-2,
                imaginary=1e-10,
                sparsity=1e-10,
                argument=1e-10,
                final_threshold=0.1,  # the paper says "a fixed threshold"
            ),
            Phase(
                "prune",
                epochs=200_000,
                rate=1e-2,
                imaginary=1e-3,
                sparsity=1e-7,
                argument=1e3,
                pruning=ImpactPruning(interval=10_000, fraction=0.1, minimum_edges=15),
            ),
            Phase(
                "refine",
                epochs=50_000,
                rate=1e-2,
                imaginary=1e3,
                sparsity=1e-7,
                argument=1e3,
                plateau=Plateau(patience=2000, factor=0.1, minimum_rate=1e-5, threshold=1e-7),
            ),
        ),
    )


RECIPES = {"paper": paper}
