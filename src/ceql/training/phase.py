"""A stretch of training with fixed settings. A recipe is a list of them; no schedule hides in the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ceql.network import Network
from ceql.network.recording import DomainPenalty


class Loss(Enum):
    """How misfits are weighed against each other."""

    MSE = "mse"
    PIVOTED = "pr-mse"  # relative to y^2 + median(|y|)^2, so that points near a pole do not drown the others


@dataclass(frozen=True)
class Plateau:
    """Multiply the rate by `factor` after `patience` epochs without a relative improvement of `threshold`."""

    patience: int
    factor: float
    minimum_rate: float
    threshold: float


@dataclass(frozen=True)
class ImpactPruning:
    """Every `interval` epochs remove the `fraction` of edges whose loss raises the loss least."""

    interval: int
    fraction: float
    minimum_edges: int


@dataclass(frozen=True)
class Phase:
    name: str
    epochs: int
    rate: float
    imaginary: float  # times the sum of Im(w)^2
    sparsity: float  # times the sum of |w|
    argument: float  # times the penalty on what goes into a log or a root and is not positive
    plateau: Plateau | None = None
    pruning: ImpactPruning | None = None
    final_threshold: float = 0.0  # at its end, edges with |w| below this go


@dataclass(frozen=True)
class Recipe:
    """Everything that training one network needs besides the data and a seed."""

    name: str
    layers: tuple[dict[str, int], ...]
    phases: tuple[Phase, ...]
    loss: Loss = Loss.PIVOTED
    skip: str = "inputs"
    initial_range: float = 0.5  # weights start uniform within plus and minus this, real and imaginary part alike
    complex_weights: bool = True
    passes_complex: bool = False  # log and sqrt hand on a complex value, as the paper's text has it
    domain_penalty: DomainPenalty = DomainPenalty.SHORTFALL

    def network(self, n_inputs: int) -> Network:
        return Network(n_inputs, self.layers, skip=self.skip)  # type: ignore[arg-type]

    @property
    def epochs(self) -> int:
        return sum(phase.epochs for phase in self.phases)
