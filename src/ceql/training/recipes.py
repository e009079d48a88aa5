"""Schedules as data: the paper's, and the two that its authors' public code runs.

Numbers are those of the table in the paper's appendix. Where the table is silent, the authors' code
(github.com/seregagarmaev/ComplexEQL) decides, and what differs from it is said here with the reason.
"""

from __future__ import annotations

from dataclasses import replace

from ceql.network.libraries import PAPER_LAYERS
from ceql.training.phase import ImpactPruning, Phase, Plateau, Recipe

# The rate falls when the loss has not gone down by this fraction; PyTorch's default, which the authors leave. The
# table's "convergence threshold 1e-7" occurs nowhere in their code.
_IMPROVEMENT = 1e-4
_STARTS = 5  # "the run with the lowest training MSE across five independent initializations" (the paper's appendix D)
_NEGLIGIBLE = 5e-6  # the authors' read-off rounds weights to five decimals; what becomes zero is gone


def paper() -> Recipe:
    """The Complex Equation Learner as published: one dense network, three phases, 350,000 epochs; the best of five.

    From the authors' code, where the paper is silent: the loss is relative to max(|y|, 1); no threshold ends the
    first phase; the penalty on arguments is the square of what they lack to zero, mean over the logs and roots; Adam
    begins anew after every cut; weights below 5e-6 are dropped before the formula is read off.

    Different from it, each for a reason that holds before any result: of the tenth of the edges that goes at a cut,
    each is judged after the one before is gone, since of two edges that can stand in for each other both look
    dispensable; training goes on from the best weights since the last cut, since at a fixed rate of 1e-2 the last ones
    may be in the middle of a jump; quotients are not rescaled, since that changes no value; the plateau is one of the
    whole loss, as the core has it, where theirs is one of the data's part; numbers have 64 bits. Their way to the
    letter is `authors`.
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
    """The paper's schedule as its authors' code runs it on the ten expressions, each start by itself.

    A tenth of the edges goes at once, training goes on from the last weights, and in the third phase the weights of
    every quotient are divided by their largest: there after every epoch, here every hundred, which changes no value.
    """
    return replace(paper(), name="authors", phases=_to_the_letter(paper().phases), starts=1)


def authors_ablation() -> Recipe:
    """What the authors' ablation runs: another library, a longer schedule and smaller imaginary parts at the start.

    Its first phase has a first moment with a decay of 0.999; after the first cut theirs is 0.9 again.
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
