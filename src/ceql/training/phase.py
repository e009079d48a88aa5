"""Phases of training with fixed settings, and recipes, which are lists of phases. The loop itself has no schedule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ceql.network import Network
from ceql.network.recording import DomainPenalty


class Loss(Enum):
    """How the misfits of samples are weighted."""

    MSE = "mse"
    PIVOTED = "pr-mse"  # relative to max(|y|, pivot), so that points near a pole do not drown the others


@dataclass(frozen=True)
class Plateau:
    """Multiply the rate by `factor` after `patience` epochs without a relative improvement of `threshold`."""

    patience: int
    factor: float
    minimum_rate: float
    threshold: float


@dataclass(frozen=True)
class ImpactPruning:
    """Every `interval` epochs, remove the `fraction` of edges whose removal raises the loss least.

    With `at_once` all removals are judged on the current network and made together. Otherwise losses are computed again
    after each removal.
    """

    interval: int
    fraction: float
    minimum_edges: int
    at_once: bool = False


@dataclass(frozen=True)
class Phase:
    name: str
    epochs: int
    rate: float
    imaginary: float  # factor of the sum of Im(w)^2
    sparsity: float  # factor of the sum of |w|
    argument: float  # factor of the penalty on arguments of logs and roots that are not positive, mean over these units
    plateau: Plateau | None = None
    pruning: ImpactPruning | None = None
    final_threshold: float = 0.0  # at the end of the phase, edges with |w| below this are removed
    beta1: float = 0.9  # decay of Adam's first moment
    keep_best: bool = True  # continue from the best weights since the last cut instead of the latest ones
    normalise_every: int = 0  # every so many epochs, divide the weights of each quotient by the largest; 0 = never


@dataclass(frozen=True)
class Recipe:
    """Everything needed to train a network besides the data and a seed."""

    name: str
    layers: tuple[dict[str, int], ...]
    phases: tuple[Phase, ...]
    loss: Loss = Loss.PIVOTED
    pivot: float = 1.0  # pivot of the pivoted loss, in the unit of y
    skip: str = "inputs"
    initial_range: float = 0.5  # real parts start uniformly distributed between minus and plus this
    initial_imaginary: float = 0.5  # the same for imaginary parts
    complex_weights: bool = True
    passes_complex: bool = False  # log and sqrt pass complex values to complex readout weights, as in the paper's text
    domain_penalty: DomainPenalty = DomainPenalty.SHORTFALL
    starts: int = 1  # independent initialisations; the one with the smallest training error is reported
    negligible: float = 0.0  # edges with a smaller real weight are removed before the formula is extracted

    def network(self, n_inputs: int) -> Network:
        return Network(n_inputs, self.layers, skip=self.skip, complex_readout=self.passes_complex)  # type: ignore[arg-type]

    @property
    def epochs(self) -> int:
        """The number of epochs of one start."""
        return sum(phase.epochs for phase in self.phases)
