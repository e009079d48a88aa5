"""EQL with division (Sahoo, Lampert and Martius, 2018) as the paper configures it, on our own layers and engine.

The network is ordinary: layers of `id` and `mul`, real weights, one division at the end. Three things make it EQL÷:

    the division    h(a, b) = a/b where b > theta, else 0: only the positive branch of the pole exists
    its penalty     the mean of max(theta - b, 0) pushes denominators above theta
    its schedule    theta = 1/sqrt(1 + epoch/k) decreases; plain gradient descent without, then with, then again
                    without the absolute penalty; in the last part small weights are kept at zero

The engine gives values and derivatives of numerator and denominator; everything else is written here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ceql.bench.errors import MethodError
from ceql.bench.methods import Adapter, Found
from ceql.engine import fit
from ceql.network import Network
from ceql.network.recording import network_tape
from ceql.operators.tape import OPCODES, Tape


@dataclass(frozen=True)
class EqlDiv(Adapter):
    """EQL÷ with the settings in the paper's table.

    Where the table is not specific: `k` is taken as the pace of the threshold; weights start as in the original, normal
    with variance 1/(inputs + outputs) of their layer; at every validation, weights below the pruning threshold are left
    out and the state with the least training error is kept, so that a diverging run still has a formula.
    """

    rate: float = 1e-2
    epochs: int = 10_000
    batch: int = 64
    layers: int = 2
    units: int = 3
    sparsity: float = 1e-3
    sparsity_from: int = 500
    sparsity_until: int = 9_500
    validate_every: int = 100
    k: float = 50.0
    prune_below: float = 1e-2

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        begin = time.perf_counter()
        rng = np.random.default_rng(seed)
        model = Model.of(X.shape[1], self.layers, self.units)
        weights = model.initial(rng)
        best, best_error, epochs = weights, np.inf, 0
        # An overflow of a diverging run is a possible outcome, not an error.
        with np.errstate(all="ignore"):
            for epochs in range(1, self.epochs + 1):
                weights = self._epoch(model, weights, X, y, epochs, rng)
                if not np.isfinite(weights).all():
                    break
                if epochs % self.validate_every == 0:
                    sparse = np.where(np.abs(weights) < self.prune_below, 0.0, weights)
                    error = model.error(sparse, X, y, self.threshold(epochs))
                    if error <= best_error:
                        best, best_error = sparse, error
                    if time.perf_counter() - begin > time_limit:
                        break
        if not np.isfinite(best_error):
            raise MethodError("EQL with division diverged before the first validation.")
        return Found(model.formula(best, names), extra={"epochs": epochs, "loss": best_error})

    def threshold(self, epoch: int) -> float:
        return float(1.0 / np.sqrt(1.0 + epoch / self.k))

    def _epoch(self, model: Model, weights: np.ndarray, X, y, epoch: int, rng: np.random.Generator) -> np.ndarray:
        theta = self.threshold(epoch)
        sparsity = self.sparsity if self.sparsity_from < epoch <= self.sparsity_until else 0.0
        held = np.abs(weights) >= self.prune_below if epoch > self.sparsity_until else np.ones_like(weights, bool)
        order = rng.permutation(len(y))
        for start in range(0, len(y), self.batch):
            rows = order[start : start + self.batch]
            slope = model.gradient(weights, X[rows], y[rows], theta) + sparsity * np.sign(weights) * model.is_weight
            weights = weights - self.rate * slope
        return np.where(held, weights, 0.0)


@dataclass(frozen=True, eq=False)
class Model:
    """A network that ends in one division; its numerator and denominator are available as tapes."""

    network: Network

    @classmethod
    def of(cls, n_inputs: int, layers: int, units: int) -> Model:
        hidden = ({"id": units, "mul": units},) * layers
        return cls(Network(n_inputs, (*hidden, {"div": 1}), skip="none", bias=True))

    @cached_property
    def is_free(self) -> np.ndarray:
        """Whether each parameter is trained: real, and not in the readout, which only passes the quotient on."""
        free = ~self.network.is_imaginary
        free[self.network.sums[-1].first : self.network.sums[-1].last] = False
        return free

    @cached_property
    def is_weight(self) -> np.ndarray:
        """Which of the trained parameters are weights rather than biases; only weights are penalised."""
        of_edge = self.network.edge_source != self.network.one
        padded = np.concatenate([of_edge, np.zeros(self.network.n_params - self.network.n_edges, bool)])
        return padded[self.is_free]

    @cached_property
    def parts(self) -> tuple[Tape, Tape]:
        """The tapes of the numerator and of the denominator."""
        tape = network_tape(self.network)
        (division,) = [node for node in tape.nodes if node[0] == OPCODES["div"]]
        return replace(tape, output=int(division[1])), replace(tape, output=int(division[2]))

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        free = np.flatnonzero(self.is_free)
        fan_in = np.array([s.last - s.first for s in self.network.sums])
        layer_of_sum = [int(self.network.layer_of_unit[s.unit]) for s in self.network.sums[:-1]]
        fan_out = np.bincount(layer_of_sum)
        of_edge = self.network.edge_sum[free]
        spread = 1.0 / np.sqrt(fan_in[of_edge] + fan_out[np.array(layer_of_sum)[of_edge]])
        return np.where(self.is_weight, rng.standard_normal(len(free)) * spread, 0.0)

    def error(self, weights: np.ndarray, X: np.ndarray, y: np.ndarray, theta: float) -> float:
        samples = fit.Samples.of(X, y)
        top, bottom = (fit.values(part, samples, self._params(weights), self.is_free)[0] for part in self.parts)
        error = float(np.mean((_quotient(top, bottom, theta) - y) ** 2))
        return error if np.isfinite(error) else np.inf

    def gradient(self, weights: np.ndarray, X: np.ndarray, y: np.ndarray, theta: float) -> np.ndarray:
        """The gradient of the mean squared error plus the penalty on denominators below the threshold."""
        samples, params = fit.Samples.of(X, y), self._params(weights)
        (top, d_top), (bottom, d_bottom) = (fit.jacobian(part, samples, params, self.is_free) for part in self.parts)
        value = _quotient(top, bottom, theta)
        through = np.where(bottom > theta, 2.0 * (value - y) / bottom, 0.0)
        short = (bottom < theta).astype(float)
        slope = through @ d_top - (through * value + short) @ d_bottom
        return slope[self.is_free] / len(y)

    def formula(self, weights: np.ndarray, names: tuple[str, ...]):
        """The formula: numerator over denominator, both expanded."""
        import sympy

        from ceql.bench.points import columns
        from ceql.network.extract import extract

        params = self._params(weights)
        top, bottom = sympy.fraction(extract(self.network, params[: self.network.n_edges] != 0, params, columns(names)))
        return sympy.expand(top) / sympy.expand(bottom)

    def _params(self, weights: np.ndarray) -> np.ndarray:
        params = np.zeros(self.network.n_params)
        params[self.is_free] = weights
        params[self.network.sums[-1].last - 1] = 1.0  # the quotient itself
        return params


def _quotient(top: np.ndarray, bottom: np.ndarray, theta: float) -> np.ndarray:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > theta)
