"""The paper's measured beam as published: its printed formula, its definition of a peak, and its model as a recipe.

The model is a w + b + sum of A_i / ((w - h_i(d))^2 + g_i), where each h_i is a network of two layers over the damage d.
The numbers of the schedule are those of the authors' code (config/frf_config.py, src/ResonatorCEQL.py of ComplexEQL).
There A, g, a and b are complex too, without a penalty, and a prediction is the real part of the whole model, while the
printed formula contains only their real parts. `Trained.predict` gives the former and `Trained.formula` the latter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import sympy

from ceql.engine import fit
from ceql.network import Network, clean_up
from ceql.network.extract import extract
from ceql.network.recording import embed
from ceql.operators.tape import Tape, TapeBuilder
from ceql.training.phase import ImpactPruning, Phase, Plateau

# The formula of the paper's appendix, frequency w in kHz, mass loss d in per cent.
PRINTED = """5.21654*w - 0.3154
    + 0.08445/((-0.0007*d**4 + 0.00217*d**3 - 0.00386*d + w - 0.89)**2 - 0.01625)
    + 0.0577/((0.05572*d**2 - 0.25854*d + w - 1.26425)**2 - 0.1399)
    + 0.47169/((0.03456*d**2 - 0.37289*d + w + 0.17194)**2 - 0.36363)
    + 2.42351/((-0.02541*d**2 + 0.061*d + w - 0.23462)**2 - 0.0339)
    - 0.76141/((-0.03146*d**2 + 0.08937*d + w - 0.50138)**2 + 0.04658)
    - 0.26376/((-0.20983*d + w - 0.76732)**2 + 0.00551)
    + 0.48817/((-0.27162*d + w - 0.20312)**2 + 0.31504)
    + 0.08136/((-0.52067*d + w - 0.76341)**2 - 0.14816)
    + 0.29455/((w - 0.69792)**2 + 0.06101)"""
PEAKS = (0.75, 1.18)  # kHz, where the paper looks for its two peaks
WINDOW = 0.1  # kHz on each side


def peaks(frequency: np.ndarray, curves: np.ndarray) -> np.ndarray:
    """The paper's peaks: where each curve is largest within a fixed window, (curves, 2), in the unit of `frequency`.

    The paper's figure shows the mean of these over the repetitions of a level; the peak of the mean curve is different.
    """
    inside = [np.abs(frequency - centre) <= WINDOW for centre in PEAKS]
    return np.array([frequency[mask][np.atleast_2d(curves)[:, mask].argmax(axis=1)] for mask in inside]).T


_LAYER = {"id": 1, "const": 1, "square": 1, "mul": 1}


@dataclass(frozen=True)
class ResonatorRecipe:
    """The initial number of resonances, the network for each h, and the schedule."""

    resonators: int = 20
    layers: tuple[dict[str, int], ...] = (_LAYER, _LAYER)
    phases: tuple[Phase, ...] = (
        Phase("explore", 20_000, 1e-3, imaginary=1e-1, sparsity=1e-10, argument=0.0),
        Phase("prune", 100_000, 1e-3, 1e3, 1e-2, 0.0, pruning=ImpactPruning(5_000, 0.2, 50, at_once=True)),
        Phase("refine", 20_000, 1e-3, 1e3, 1e-10, 0.0, plateau=Plateau(2000, 0.1, 1e-5, 1e-4)),
    )

    def shortened(self, factor: int) -> ResonatorRecipe:
        """The recipe with all epochs divided by this factor, for a quick look."""

        def less(phase: Phase) -> Phase:
            cut = phase.pruning and replace(phase.pruning, interval=max(1, phase.pruning.interval // factor))
            return replace(phase, epochs=phase.epochs // factor, pruning=cut)

        return replace(self, phases=tuple(less(phase) for phase in self.phases))


class _Layout:
    """The order of the model's numbers: the edges of all h, then five numbers per resonance, then the line."""

    def __init__(self, recipe: ResonatorRecipe) -> None:
        self.network = Network(1, recipe.layers, skip="inputs")
        self.count, self.edges = recipe.resonators, self.network.n_edges
        names = ("h_imaginary", "g", "g_imaginary", "amplitude", "amplitude_imaginary")
        first = self.count * self.edges
        self.of_resonance = {name: first + k * self.count + np.arange(self.count) for k, name in enumerate(names)}
        self.slope, self.offset = first + len(names) * self.count + np.arange(2)
        self.n_params = int(self.offset) + 1

    def mask(self, edges: np.ndarray) -> np.ndarray:
        """A mask over parameters from masks over edges, (..., resonances, edges); those without edges are dropped."""
        alive = np.repeat(np.expand_dims(np.any(edges, axis=-1), -2), len(self.of_resonance), axis=-2)
        flat = [edges.reshape(*edges.shape[:-2], -1), alive.reshape(*edges.shape[:-2], -1)]
        return np.concatenate([*flat, np.ones((*edges.shape[:-2], 2), bool)], axis=-1)

    def tape(self) -> Tape:
        """The tape of the model's real part over the frequency (input 0) and the damage (input 1)."""
        tape = TapeBuilder(2)
        for _ in range(self.n_params):
            tape.parameter()
        terms = [(0, int(self.slope), 1.0), (tape.one, int(self.offset), 1.0)]
        for k in range(self.count):
            own = {name: int(numbers[k]) for name, numbers in self.of_resonance.items()}
            centre = embed(self.network, tape, [1], k * self.edges, self.n_params)
            away = tape.linear([(0, -1, 1.0), (centre, -1, -1.0)])
            width = tape.operator("square", tape.linear([(tape.one, own["h_imaginary"], 1.0)]))
            squared = tape.operator("square", away)
            real = tape.linear([(squared, -1, 1.0), (width, -1, -1.0), (tape.one, own["g"], 1.0)])
            imaginary = tape.linear([(away, own["h_imaginary"], -2.0), (tape.one, own["g_imaginary"], 1.0)])
            # Re(A/z) = Re(A) Re(1/z) - Im(A) Im(1/z), and -Im(1/z) is the real part of 1/(Im z + i Re z).
            terms.append((tape.operator("div", tape.one, real, imaginary), own["amplitude"], 1.0))
            terms.append((tape.operator("div", tape.one, imaginary, real), own["amplitude_imaginary"], 1.0))
        return tape.finish(tape.linear(terms))

    def start(self, seed: int) -> np.ndarray:
        """Random start: weights of h within 0.5 of zero, their imaginary parts within 0.05, others from 0 to 1."""
        rng = np.random.default_rng(seed)
        params = rng.uniform(0.0, 1.0, self.n_params)
        params[: self.count * self.edges] -= 0.5
        own = self.of_resonance["h_imaginary"]
        params[own] = 0.1 * params[own] - 0.05
        return params


@dataclass(frozen=True, eq=False)
class Trained:
    """The trained model: its live edges, (resonances, edges), and all its numbers."""

    layout: _Layout
    edges: np.ndarray
    params: np.ndarray

    def predict(self, frequency: np.ndarray, damage: np.ndarray) -> np.ndarray:
        """The predictions (damages, frequencies): the real part of the complex model."""
        x = np.column_stack([np.tile(frequency, len(damage)), np.repeat(damage, len(frequency))])
        samples = fit.Samples.of(x, np.zeros(len(x)))
        value = fit.values(self.layout.tape(), samples, self.params, self.layout.mask(self.edges))[0]
        return value.reshape(len(damage), len(frequency))

    def formula(self) -> sympy.Expr:
        """The formula as the paper prints it: only real parts, in w and d."""
        w, d = sympy.symbols("w d")
        layout = self.layout
        total = self.params[layout.slope] * w + self.params[layout.offset]
        for k in np.flatnonzero(self.edges.any(axis=1)):
            own = self.params[k * layout.edges : (k + 1) * layout.edges]
            centre = extract(layout.network, self.edges[k], own, [d])
            amplitude, g = (self.params[layout.of_resonance[name][k]] for name in ("amplitude", "g"))
            total += amplitude / ((w - sympy.expand(centre)) ** 2 + g)
        return total


def train(frequency: np.ndarray, damage: np.ndarray, curves: np.ndarray, recipe: ResonatorRecipe, seed: int) -> Trained:
    """Runs the published training on one curve per damage level, (damages, frequencies).

    Two things differ from the authors' code: it uses every repetition, while this uses the given curves, and its
    penalty on sizes leaves out the readouts, A, g and the line, while this one applies to all numbers.
    """
    layout = _Layout(recipe)
    x = np.column_stack([np.tile(frequency, len(damage)), np.repeat(damage, len(frequency))])
    samples, tape = fit.Samples.of(x, curves.ravel()), layout.tape()
    params = layout.start(seed)
    edges = np.tile(clean_up(layout.network, np.ones(layout.edges, bool)), (layout.count, 1))
    ridge = np.zeros(layout.n_params)
    for phase in recipe.phases:
        ridge[layout.of_resonance["h_imaginary"]] = phase.imaginary
        penalties = fit.Penalties(ridge=ridge, lasso=phase.sparsity)
        piece = phase.pruning.interval if phase.pruning else max(1, phase.epochs)
        for begin in range(0, phase.epochs, piece):
            options = _adam(phase, min(piece, phase.epochs - begin))
            params = fit.adam(tape, samples, params, layout.mask(edges), options, penalties).params[0]
            if phase.pruning:
                edges = _pruned(layout, tape, samples, params, edges, phase.pruning)
    return Trained(layout, edges, params)


def _adam(phase: Phase, steps: int) -> fit.Adam:
    options = fit.Adam(steps, phase.rate, keep_best=True)
    if phase.plateau is None:
        return options
    plateau = phase.plateau
    return replace(
        options,
        patience=plateau.patience,
        factor=plateau.factor,
        minimum_rate=plateau.minimum_rate,
        threshold=plateau.threshold,
    )


def _pruned(
    layout: _Layout, tape: Tape, samples: fit.Samples, params: np.ndarray, edges: np.ndarray, pruning: ImpactPruning
) -> np.ndarray:
    """The edges without those whose removal raises the loss least, all removed at once, and without what depended on
    them.
    """
    live = np.argwhere(edges)
    count = min(int(pruning.fraction * len(live)), len(live) - pruning.minimum_edges)
    if count <= 0:
        return edges
    losses = []
    for resonance, edge in live:
        fewer = edges.copy()
        fewer[resonance, edge] = False
        fewer[resonance] = clean_up(layout.network, fewer[resonance])
        losses.append(float(fit.objective(tape, samples, params, layout.mask(fewer)).misfit[0]))
    order = np.argsort(np.where(np.isfinite(losses), losses, np.inf), kind="stable")
    kept = edges.copy()
    kept[tuple(live[order[:count]].T)] = False
    kept = np.array([clean_up(layout.network, row) if row.any() else row for row in kept])
    return kept if kept.any() else edges
