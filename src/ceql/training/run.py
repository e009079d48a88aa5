"""Runs a recipe on a network: phases of Adam in the core, with cuts in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ceql.engine import fit
from ceql.engine.pruning import drop_least_at_once, drop_least_important, drop_small
from ceql.network import Network, clean_up
from ceql.network.recording import network_tape
from ceql.training.phase import ImpactPruning, Loss, Phase, Recipe
from ceql.training.quotients import normalised

Progress = Callable[[int, int, float], None]  # epochs done, edges alive, misfit


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network: its live edges and parameters, including imaginary parts."""

    network: Network
    edges: np.ndarray
    params: np.ndarray
    misfit: float
    stopped: bool = False

    @property
    def imaginary_residue(self) -> float:
        """The largest remaining imaginary part relative to the largest weight: what is neglected by dropping it."""
        weights = self.network.complex_weights(self.params)[self.edges]
        return float(np.max(np.abs(np.imag(weights)), initial=0.0) / max(np.max(np.abs(weights), initial=0.0), 1e-300))

    def on_real_axis(self) -> Trained:
        return replace(self, params=np.where(self.network.is_imaginary, 0.0, self.params))


def loss_weights(recipe: Recipe, y: np.ndarray) -> np.ndarray:
    """Return the sample weights that turn the core's mean square into the recipe's loss."""
    if recipe.loss is Loss.MSE:
        return np.ones_like(y)
    return 1.0 / np.maximum(np.abs(y), recipe.pivot) ** 2


def initial_params(network: Network, recipe: Recipe, seed: int | tuple[int, ...]) -> np.ndarray:
    """Return uniformly distributed weights; imaginary parts have their own range."""
    size = np.where(network.is_imaginary, recipe.initial_imaginary, recipe.initial_range)
    return size * np.random.default_rng(seed).uniform(-1.0, 1.0, network.n_params)


def train(
    x: np.ndarray,
    y: np.ndarray,
    recipe: Recipe,
    seed: int | tuple[int, ...],
    *,
    sample_weight: np.ndarray | None = None,
    stop: fit.StopFlag | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train one network from one seed. Setting `stop` ends the training early with the current state."""
    network = recipe.network(x.shape[1])
    weight = loss_weights(recipe, y)
    samples = fit.Samples.of(x, y, weight if sample_weight is None else weight * sample_weight)
    params = initial_params(network, recipe, seed)
    edges = clean_up(network, np.ones(network.n_edges, bool))
    run = _Run(network, samples, recipe, edges, params, stop or fit.StopFlag(), progress)
    for phase in recipe.phases:
        run.phase(phase)
    run.measure()
    return Trained(network, run.edges, run.params, run.misfit, run.stop.is_set())


class _Run:
    """The state that is passed from phase to phase of a training."""

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
        piece = phase.pruning.interval if phase.pruning else max(1, phase.epochs)
        for begin in range(0, phase.epochs, piece):
            if self.stop.is_set():
                return
            self._descend(phase, min(piece, phase.epochs - begin))
            if phase.pruning:
                self._prune(phase.pruning)
        if phase.final_threshold:
            weights = self.network.complex_weights(self.params)
            self._cut_to(drop_small(self.network, self.edges, weights, phase.final_threshold))

    def measure(self) -> None:
        """Update the misfit, since there may have been a cut after the last step."""
        self.misfit = float(fit.objective(self.tape, self.samples, self.params, self.mask(self.edges)).misfit[0])

    def penalties(self, phase: Phase) -> fit.Penalties:
        """Return the penalties of a phase; the core sums over units with penalised arguments, the recipe averages."""
        confined = [u for u, operator in enumerate(self.network.units) if operator.domain.is_half_line]
        live = sum(self.edges[s.first : s.last].any() for s in self.network.sums if s.unit in confined)
        return fit.Penalties(
            ridge=np.where(self.network.is_imaginary, phase.imaginary, 0.0),
            lasso=phase.sparsity,
            aux=phase.argument / max(1, int(live)),
        )

    def _descend(self, phase: Phase, steps: int) -> None:
        """Run Adam from the current weights, with new moments: after a cut the old ones belong to another network."""
        penalties, state = self.penalties(phase), None
        whole = not phase.normalise_every
        options = fit.Adam(steps, phase.rate, beta1=phase.beta1, keep_best=phase.keep_best and whole)
        if plateau := phase.plateau:
            options = replace(
                options,
                patience=plateau.patience,
                factor=plateau.factor,
                minimum_rate=plateau.minimum_rate,
                threshold=plateau.threshold,
            )
        piece = steps if whole else phase.normalise_every
        best, kept = np.inf, (self.params, self.misfit)
        for begin in range(0, steps, piece):
            start = self.params if whole else normalised(self.network, self.edges, self.params)
            options = replace(options, steps=min(piece, steps - begin))
            state = fit.adam(
                self.tape, self.samples, start, self.mask(self.edges), options, penalties, resume=state, stop=self.stop
            )
            self.params, self.misfit = state.params[0], float(state.misfit[0])
            if state.objective[0] < best:
                best, kept = float(state.objective[0]), (self.params, self.misfit)
            if self.stop.is_set():
                break
        if phase.keep_best and np.isfinite(best):
            self.params, self.misfit = kept
        self.epochs_done += steps
        if self.progress:
            self.progress(self.epochs_done, int(self.edges.sum()), self.misfit)

    def _prune(self, pruning: ImpactPruning) -> None:
        def loss_without(candidates: np.ndarray) -> np.ndarray:
            params = np.repeat(self.params[None], len(candidates), axis=0)
            return fit.objective(self.tape, self.samples, params, self.mask(candidates)).misfit

        drop = drop_least_at_once if pruning.at_once else drop_least_important
        self._cut_to(drop(self.network, self.edges, loss_without, pruning.fraction, pruning.minimum_edges))

    def _cut_to(self, edges: np.ndarray) -> None:
        self.edges = edges
        self.params = np.where(self.mask(edges), self.params, 0.0)
