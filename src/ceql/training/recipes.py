"""Recipes as data: the paper's, and the two that its authors' public code runs.

Numbers are taken from the table in the paper's appendix, or, where the table gives none, from the authors' code
(github.com/seregagarmaev/ComplexEQL). Deviations from that code are listed here with their reasons.
"""

from __future__ import annotations

from dataclasses import replace

from ceql.network.libraries import PAPER_LAYERS
from ceql.training.phase import ImpactPruning, Phase, Plateau, Recipe

# The rate is reduced if the loss has not fallen by this fraction: PyTorch's default, which the authors keep. Their code
# has no "convergence threshold 1e-7" as in the table.
_IMPROVEMENT = 1e-4
_STARTS = 5  # "the run with the lowest training MSE across five independent initializations" (the paper's appendix D)
_NEGLIGIBLE = 5e-6  # the authors round weights to five decimals when they extract a formula; zeros are dropped


def paper() -> Recipe:
    """Return the Complex Equation Learner as published: one dense network, three phases, 350,000 epochs, best of five.

    Taken from the authors' code, since the paper does not say: the loss is relative to max(|y|, 1); no threshold ends
    the first phase; the penalty on arguments is the square of their distance below zero, averaged over the logs and
    roots; Adam restarts after every cut; weights below 5e-6 are dropped before the formula is extracted.

    Different from their code, for reasons independent of any result: at a cut, which removes a tenth of the edges, each
    edge is judged after the previous one is removed, since of two edges that can replace each other both look
    dispensable; training continues from the best weights since the last cut, since at a fixed rate of 1e-2 the latest
    ones may be in the middle of a jump; quotients are not rescaled, since that changes no value; the plateau refers to
    the whole loss, as in the core, not to its data term; numbers have 64 bits. `authors` follows their code exactly.
    """
    phases = (
        Phase("explore", epochs=100_000, rate=1e-2, imaginary=1e-10, sparsity=1e-10, argument=1e-10),
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
            plateau=Plateau(patience=2000, factor=0.1, minimum_rate=1e-5, threshold=_IMPROVEMENT),
        ),
    )
    return Recipe(name="paper", layers=PAPER_LAYERS, phases=phases, starts=_STARTS, negligible=_NEGLIGIBLE)


def authors() -> Recipe:
    """Return the paper's schedule as its authors' code runs it on the ten expressions, with a single start.

    A tenth of the edges is removed at once, training continues from the latest weights, and in the third phase the
    weights of every quotient are divided by the largest: in their code after every epoch, here after every hundred,
    which changes no value.
    """
    return replace(paper(), name="authors", phases=_to_the_letter(paper().phases), starts=1)


def authors_ablation() -> Recipe:
    """Return the recipe of the authors' ablation: another library, a longer schedule, smaller imaginary start values.

    In its first phase Adam's first moment decays by 0.999; after the first cut theirs uses 0.9 again.
    """
    layer = {"id": 3, "const": 2, "square": 2, "div": 2}
    explore, prune, refine = _to_the_letter(paper().phases)
    phases = (
        replace(explore, beta1=0.999),
        replace(prune, epochs=250_000, sparsity=1e-9, pruning=replace(_pruning(prune), minimum_edges=20)),
        replace(refine, epochs=100_000, imaginary=1e-3, sparsity=0.0),
    )
    return replace(authors(), name="authors-ablation", layers=(layer, layer), phases=phases, initial_imaginary=0.05)


def _to_the_letter(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    explore, prune, refine = (replace(phase, keep_best=False) for phase in phases)
    return explore, replace(prune, pruning=replace(_pruning(prune), at_once=True)), replace(refine, normalise_every=100)


def _pruning(phase: Phase) -> ImpactPruning:
    assert phase.pruning is not None
    return phase.pruning


RECIPES = {"paper": paper, "authors": authors}
