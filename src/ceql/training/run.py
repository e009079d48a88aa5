"""Runs a recipe on a network: phases of Adam in the core, cuts in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ceql.engine import fit
from ceql.engine.pruning import drop_least_important, drop_small
from ceql.network import Network, clean_up
from ceql.network.recording import network_tape
from ceql.training.phase import Loss, Phase, Recipe

Progress = Callable[[int, int, float], None]  # epochs done, edges alive, misfit


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network: its live edges and the parameters, imaginary parts included."""

    network: Network
    edges: np.ndarray
    params: np.ndarray
    misfit: float
    stopped: bool = False

    @property
    def imaginary_residue(self) -> float:
        """The largest imaginary part still there, relative to the largest weight: what dropping it neglects."""
        weights = self.network.complex_weights(self.params)[self.edges]
        return float(np.max(np.abs(np.imag(weights)), initial=0.0) / max(np.max(np.abs(weights), initial=0.0), 1e-300))

    def on_real_axis(self) -> Trained:
        return replace(self, params=np.where(self.network.is_imaginary, 0.0, self.params))


def loss_weights(loss: Loss, y: np.ndarray) -> np.ndarray:
    """The sample weights that turn the core's mean square into the named loss."""
    if loss is Loss.MSE:
        return np.ones_like(y)
    pivot = np.median(np.abs(y))
    if pivot == 0.0:
        pivot = np.max(np.abs(y), initial=0.0) or 1.0
    return 1.0 / (y**2 + pivot**2)


def train(
    x: np.ndarray,
    y: np.ndarray,
    recipe: Recipe,
    seed: int,
    *,
    sample_weight: np.ndarray | None = None,
    stop: fit.StopFlag | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Trains one network from one seed. Setting `stop` ends it early with what it has."""
    network = recipe.network(x.shape[1])
    weight = loss_weights(recipe.loss, y)
    samples = fit.Samples.of(x, y, weight if sample_weight is None else weight * sample_weight)
    rng = np.random.default_rng(seed)
    params = rng.uniform(-recipe.initial_range, recipe.initial_range, network.n_params)
    edges = clean_up(network, np.ones(network.n_edges, bool))
    run = _Run(network, samples, recipe, edges, params, stop or fit.StopFlag(), progress)
    for phase in recipe.phases:
        run.phase(phase)
    run.measure()
    return Trained(network, run.edges, run.params, run.misfit, run.stop.is_set())


class _Run:
    """The state that the phases of one training hand on."""

    def __init__(self, network, samples, recipe, edges, params, stop, progress) -> None:
        self.network: Network = network
        self.tape = network_tape(network, recipe.domain_penalty, recipe.passes_complex)
        self.samples: fit.Samples = samples
        self.recipe: Recipe = recipe
        self.edges: np.ndarray = edges
        self.params: np.ndarray = params
        self.stop: fit.StopFlag = stop
        self.progress: Progress | None = progress
        self.misfit = np.inf
        self.epochs_done = 0

    def mask(self, edges: np.ndarray) -> np.ndarray:
        return self.network.parameter_mask(edges, imaginary=self.recipe.complex_weights)

    def phase(self, phase: Phase) -> None:
        penalties = fit.Penalties(
            ridge=np.where(self.network.is_imaginary, phase.imaginary, 0.0),
            lasso=phase.sparsity,
            aux=phase.argument,
        )
        piece = phase.pruning.interval if phase.pruning else max(1, phase.epochs)
        state = None
        for begin in range(0, phase.epochs, piece):
            if self.stop.is_set():
                return
            state = self._descend(phase, min(piece, phase.epochs - begin), penalties, state)
            if phase.pruning:
                self._prune(phase.pruning, penalties)
        if phase.final_threshold:
            weights = self.network.complex_weights(self.params)
            self._cut_to(drop_small(self.network, self.edges, weights, phase.final_threshold))

    def measure(self) -> None:
        """The misfit as it is now: a cut may have come after the last step."""
        self.misfit = float(fit.objective(self.tape, self.samples, self.params, self.mask(self.edges)).misfit[0])

    def _descend(self, phase: Phase, steps: int, penalties: fit.Penalties, state: fit.Fits | None) -> fit.Fits:
        plateau = phase.plateau
        options = fit.Adam(steps, phase.rate, keep_best=True)
        if plateau:
            options = replace(
                options,
                patience=plateau.patience,
                factor=plateau.factor,
                minimum_rate=plateau.minimum_rate,
                threshold=plateau.threshold,
            )
        fits = fit.adam(
            self.tape,
            self.samples,
            self.params,
            self.mask(self.edges),
            options,
            penalties,
            resume=state,
            stop=self.stop,
        )
        self.params, self.misfit = fits.params[0], float(fits.misfit[0])
        self.epochs_done += steps
        if self.progress:
            self.progress(self.epochs_done, int(self.edges.sum()), self.misfit)
        return fits

    def _prune(self, pruning, penalties: fit.Penalties) -> None:
        def loss_without(candidates: np.ndarray) -> np.ndarray:
            params = np.repeat(self.params[None], len(candidates), axis=0)
            return fit.objective(self.tape, self.samples, params, self.mask(candidates), penalties).misfit

        self._cut_to(
            drop_least_important(self.network, self.edges, loss_without, pruning.fraction, pruning.minimum_edges)
        )

    def _cut_to(self, edges: np.ndarray) -> None:
        self.edges = edges
        self.params = np.where(self.mask(edges), self.params, 0.0)
