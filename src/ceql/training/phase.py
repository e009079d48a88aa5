"""A stretch of training with fixed settings. A recipe is a list of them; no schedule hides in the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ceql.network import Network
from ceql.network.recording import DomainPenalty


class Loss(Enum):
    """How misfits are weighed against each other."""

    MSE = "mse"
    PIVOTED = "pr-mse"  # relative to the larger of |y| and a pivot, so that points near a pole do not drown the others


@dataclass(frozen=True)
class Plateau:
    """Multiply the rate by `factor` after `patience` epochs without a relative improvement of `threshold`."""

    patience: int
    factor: float
    minimum_rate: float
    threshold: float


@dataclass(frozen=True)
class ImpactPruning:
    """Every `interval` epochs remove the `fraction` of edges whose loss raises the loss least.

    With `at_once` all of them are judged on the network as it is and go together. Without it each removal is judged
    anew after the one before.
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
    imaginary: float  # times the sum of Im(w)^2
    sparsity: float  # times the sum of |w|
    argument: float  # times the penalty on what goes into a log or a root and is not positive, mean over these units
    plateau: Plateau | None = None
    pruning: ImpactPruning | None = None
    final_threshold: float = 0.0  # at its end, edges with |w| below this go
    beta1: float = 0.9  # the decay of Adam's first moment
    keep_best: bool = True  # go on from the best weights between two cuts, not from the last ones
    normalise_every: int = 0  # epochs between two divisions of every quotient's weights by their largest; 0 = never


@dataclass(frozen=True)
class Recipe:
    """Everything that training one network needs besides the data and a seed."""

    name: str
    layers: tuple[dict[str, int], ...]
    phases: tuple[Phase, ...]
    loss: Loss = Loss.PIVOTED
    pivot: float = 1.0  # of the pivoted loss, in the unit of y
    skip: str = "inputs"
    initial_range: float = 0.5  # real parts start uniform within plus and minus this
    initial_imaginary: float = 0.5  # and imaginary parts within plus and minus this
    complex_weights: bool = True
    passes_complex: bool = False  # log and sqrt hand on a complex value to complex readout weights, as the paper's text
    domain_penalty: DomainPenalty = DomainPenalty.SHORTFALL
    starts: int = 1  # independent initialisations, of which the one with the least training error is reported
    negligible: float = 0.0  # edges whose real weight is smaller than this are dropped before the formula is read off

    def network(self, n_inputs: int) -> Network:
        return Network(n_inputs, self.layers, skip=self.skip, complex_readout=self.passes_complex)  # type: ignore[arg-type]

    @property
    def epochs(self) -> int:
        """Of one start."""
        return sum(phase.epochs for phase in self.phases)
