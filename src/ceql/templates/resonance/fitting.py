"""Fits resonances: many starts at once, laws chosen by prediction error, and removal of terms that are not worth it.

Stage 1 fits all starts to thinned curves, first with imaginary parts in the denominators, which shrink under a growing
penalty. Stage 2 fits the centres curve by curve and chooses the law of each term again. Stage 3 fits everything
jointly. Stage 4 removes terms as long as an information criterion falls, and fits to all points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ceql.engine import fit
from ceql.engine.deadline import NEVER, Deadline
from ceql.templates.resonance import laws, starts
from ceql.templates.resonance.model import Mode, ResonanceModel, State
from ceql.templates.resonance.peaks import Curves, Track, find_tracks, spread_of

_POINTS = 1600  # points per curve in the early stages
_COARSE = 200  # points per curve, besides those near peaks, if there are many curves
_REFINED = 6  # number of best starts whose laws are chosen again
_IMAGINARY = (1e-3, 1e-1, 1e1)  # penalties on imaginary parts, relative to their start values
_CANCELLING = 1.5  # terms cancel each other if together they are this many times larger than their sum
_PRICE = 2.0  # price of a parameter in the criterion
_SHIFT = 4.0  # half widths by which the centre in a single curve may differ from the joint one
_TRUSTED = 0.7  # share of curves that must show a centre for a law to be fitted to these centres
_MANY, _REPRESENTATIVES = 12, 4  # with more curves than the first number, the second number is used to find the terms
_EXACT = 1e-12  # relative misfit below which further improvement counts for nothing
_KEPT = 3.0  # half widths of a clear peak within which a term must stay to count as this peak


@dataclass(frozen=True)
class Options:
    n_starts: int = 40
    seed: int = 0
    deadline: Deadline = NEVER
    complex_weights: bool = True
    threads: int = 1
    max_parameters: int | None = None
    progress: Callable[[str, float], None] | None = None

    def tell(self, what: str, fraction: float) -> None:
        if self.progress is not None:
            self.progress(what, fraction)

    def run(self) -> dict:
        return {"threads": self.threads, "time_limit": self.deadline.of_a_fit}


@dataclass(frozen=True, eq=False)
class Outcome:
    state: State
    centres_of_starts: list[np.ndarray]
    n_starts: int
    clear: set[int]  # indices of the terms that belong to a clear peak
    n_independent: float


def fit_model(model: ResonanceModel, curves: Curves, options: Options) -> Outcome:
    """Fit the model to the curves and return the best terms found."""
    columns = model.columns(curves.conditions)
    tracks = find_tracks(curves.frequency, curves.magnitudes, curves.conditions)
    landscape = starts.survey(curves, columns, laws.prices(model.functions), tracks, model.most)
    many = len(curves.values) > _MANY
    few = curves.focused(landscape.clear, _COARSE, 1.5) if many else curves.thinned(_POINTS)
    judge = _Judge(model, landscape, few)
    refined, centres, n_starts = (_explored_by_few if many else _explored)(model, curves, few, judge, options)
    options.tell("pruning", 0.8)
    best = _pruned(model, few, min(refined, key=judge.score), judge, options)
    full = curves.focused(landscape.clear, _COARSE, 3.0) if many else curves
    (last,) = _fitted(model, full, [best], options, 10 if many else 60)
    clear = {term for track in landscape.clear if (term := judge.stands_for(last, track)) is not None}
    return Outcome(last, centres, n_starts, clear, judge.n_independent)


Explored = tuple[list[State], list[np.ndarray], int]


def _explored(model: ResonanceModel, _: Curves, curves: Curves, judge: _Judge, options: Options) -> Explored:
    """Return the best of many starts, before and after choosing their laws again, and the centres of all starts."""
    states = _all_starts(model, curves, judge.landscape, options)
    middle = judge.landscape.columns[_middle(curves.conditions)]
    centres = [np.array([float(mode.centre(middle)) for mode in model.modes(state)]) for state in states]
    best_first = sorted(states, key=judge.score)
    refined = [best_first[0]]
    for k, state in enumerate(best_first[:_REFINED]):
        options.tell("laws", 0.3 + 0.5 * k / _REFINED)
        modes = model.modes(state)
        begun = np.array([mode.centre(judge.landscape.columns) for mode in modes]).T
        refined.append(_with_laws(model, curves, curves, modes, begun, model.background_of(state), options))
        if options.deadline.over:
            break
    return refined, centres, len(states)


def _explored_by_few(model: ResonanceModel, curves: Curves, joint: Curves, judge: _Judge, options: Options) -> Explored:
    """Do the same as `_explored` for many curves: find the terms from a few curves with free centres, and the laws from
    all curves."""
    rows = _spread_out(curves.conditions, _REPRESENTATIVES)
    marks = np.eye(len(rows))[:, 1:]
    functions = tuple(laws.Function("id", (k,)) for k in range(marks.shape[1]))
    free = replace(model, functions=functions, sizes=np.ones(len(functions)))
    sample = replace(curves.only(rows), conditions=marks).thinned(_POINTS)
    here = [replace(t, position=t.position[rows]) for t in (*judge.landscape.clear, *judge.landscape.faint)]
    tracks = [replace(t, seen=float(np.isfinite(t.position).mean())) for t in here if np.isfinite(t.position).any()]
    own = starts.survey(sample, marks, np.ones(marks.shape[1]), tracks, model.most, free=True)
    inner = _Judge(free, own, sample)
    states = _all_starts(free, sample, own, options)
    best = min(states, key=inner.score)
    centres = [np.array([float(mode.centre(marks[0])) for mode in free.modes(state)]) for state in states]
    begun, modes = [], free.modes(best)
    for term, mode in zip(free.live_terms(best), modes, strict=True):
        place = np.full(len(curves.values), float(np.mean(mode.centre(marks))))
        for track in judge.landscape.clear:
            if inner.stands_for(best, replace(track, position=track.position[rows])) == term:
                place = np.where(np.isfinite(track.position), track.position, place)
        begun.append(place)
    options.tell("laws", 0.4)
    single = curves.thinned(2 * _POINTS)
    state = _with_laws(model, joint, single, modes, np.array(begun).T, free.background_of(best), options)
    return [state], centres, len(states)


def _spread_out(conditions: np.ndarray, count: int) -> np.ndarray:
    """Return rows far from each other, beginning in the middle."""
    spread = spread_of(conditions)
    rows = [_middle(conditions)]
    nearest = np.full(len(conditions), np.inf)
    while len(rows) < count:
        nearest = np.minimum(nearest, np.linalg.norm((conditions - conditions[rows[-1]]) / spread, axis=1))
        rows.append(int(np.argmax(nearest)))
    return np.array(rows)


def _middle(conditions: np.ndarray) -> int:
    return int(np.argmin(np.linalg.norm((conditions - conditions.mean(axis=0)) / spread_of(conditions), axis=1)))


def _all_starts(model: ResonanceModel, curves: Curves, landscape: starts.Landscape, options: Options) -> list[State]:
    rng = np.random.default_rng([options.seed, 5])
    drawn = [starts.draw(model, landscape, rng, first=k == 0) for k in range(options.n_starts)]
    options.tell("starts", 0.1)
    begun = [model.state(_with_residues(model, curves, modes)) for modes in drawn]
    if options.complex_weights:
        begun = _through_complex(model, curves, drawn, begun, options)
    return _fitted(model, curves, begun, options, 150)


def _through_complex(
    model: ResonanceModel, curves: Curves, drawn: list[list[Mode]], begun: list[State], options: Options
) -> list[State]:
    """Fit with imaginary parts under a growing penalty: widened peaks are attracted from farther away, then narrow."""
    assembly, samples = model.assembly, model.samples(curves)
    columns = model.columns(curves.conditions)
    parts = np.array([model.smoothing(modes, columns) for modes in drawn])
    masks = assembly.parameter_mask(np.array([state.edges for state in begun]), imaginary=False) | (parts > 0)
    params = np.array([state.params for state in begun]) + parts
    sizes = parts.max(axis=0)
    ridge = np.where(sizes > 0, 1.0 / np.where(sizes > 0, sizes, 1.0) ** 2, 0.0)
    for penalty in _IMAGINARY:
        penalties = fit.Penalties(ridge=penalty * ridge)
        fits = fit.levenberg(assembly.tape(), samples, params, masks, fit.Levenberg(15), penalties, **options.run())
        params = fits.params
    return [replace(state, params=row) for state, row in zip(begun, params, strict=True)]


def _with_residues(model: ResonanceModel, curves: Curves, modes: list[Mode]) -> list[Mode]:
    """Return the modes with the best residues for their poles, by linear least squares if the curves are complex."""
    if not model.complex_values:
        return modes
    w, columns = curves.frequency[None], model.columns(curves.conditions)
    shapes = []
    for mode in modes:
        h = mode.centre(columns)[:, None]
        shapes.append((w**2 / (h**2 - w**2 + 2j * mode.width * h * w)).ravel())
    root = np.sqrt(curves.weight).ravel()
    found = np.linalg.lstsq(np.array(shapes).T * root[:, None], curves.values.ravel() * root, rcond=None)[0]
    return [replace(mode, amplitude=complex(residue)) for mode, residue in zip(modes, found, strict=True)]


def _fitted(model: ResonanceModel, curves: Curves, states: list[State], options: Options, steps: int) -> list[State]:
    """Fit all states by least squares on the real axis."""
    assembly = model.assembly
    edges = np.array([state.edges for state in states])
    params = np.array([state.params for state in states])
    masks = assembly.parameter_mask(edges, imaginary=False)
    fits = fit.levenberg(assembly.tape(), model.samples(curves), params, masks, fit.Levenberg(steps), **options.run())
    misfit = np.where(np.isfinite(fits.misfit), fits.misfit, np.inf)
    return [State(*row) for row in zip(edges, np.where(masks, fits.params, 0.0), misfit.tolist(), strict=True)]


# ---- laws -----------------------------------------------------------------------------------------------------------


def _with_laws(
    model: ResonanceModel,
    joint: Curves,
    single: Curves,
    modes: list[Mode],
    begun: np.ndarray,
    background: tuple[float, float],
    options: Options,
) -> State:
    """Choose for these terms the laws that best predict their centres, and fit all jointly.

    The centres are fitted in each curve of `single`, starting from `begun`, (curves, terms); `joint` holds the same
    curves for the joint fit.
    """
    alone = replace(model, most=len(modes), functions=(), sizes=np.zeros(0))
    own = np.full(begun.shape, np.nan)  # centres fitted to each curve alone; NaN if too far off
    for row, centres in enumerate(begun):
        placed = [replace(mode, coefficients=np.array([c])) for mode, c in zip(modes, centres, strict=True)]
        (fitted,) = _fitted(alone, single.only([row]), [alone.state(placed, background)], options, 40)
        for term, mode in zip(alone.live_terms(fitted), alone.modes(fitted), strict=True):
            if abs(mode.coefficients[0] - centres[term]) <= _SHIFT * model.half_width(modes[term], centres[term]):
                own[row, term] = mode.coefficients[0]
    columns, renewed = model.columns(single.conditions), []
    for mode, values, fallback in zip(modes, own.T, begun.T, strict=True):
        known = values if np.isfinite(values).mean() >= _TRUSTED else fallback
        law = laws.choose(columns, known, laws.prices(model.functions))
        renewed.append(replace(mode, coefficients=laws.coefficients(columns, known, law)))
    return _fitted(model, joint, [model.state(renewed, background)], options, 100 if joint is single else 20)[0]


# ---- which fit is better --------------------------------------------------------------------------------------------


class _Judge:
    """Scores fits: small is good. A clear peak without a term counts more than any misfit."""

    def __init__(self, model: ResonanceModel, landscape: starts.Landscape, curves: Curves) -> None:
        self.model, self.landscape, self.curves = model, landscape, curves
        widths = [track.half_width for track in (*landscape.clear, *landscape.faint)] or [np.inf]
        band = float(np.ptp(curves.frequency))
        # Neighbouring points of a curve are not independent: there is about one independent point per peak width.
        independent = len(curves.values) * band / max(2.0 * float(np.median(widths)), band / len(curves.frequency))
        self.n_independent = max(20.0, independent)

    def score(self, state: State) -> tuple[int, float]:
        if not np.isfinite(state.misfit):
            return 10**6, np.inf
        lost = 0
        if self.model.form == "modal":  # a negative frequency somewhere would mean negative damping
            lost = sum(bool((mode.centre(self.landscape.columns) <= 0).any()) for mode in self.model.modes(state))
        lost += sum(self.stands_for(state, track) is None for track in self.landscape.clear)
        cancelling = max(1.0, self.cancellation(state) / _CANCELLING)
        fit_part = self.n_independent * np.log(max(state.misfit, _EXACT) * cancelling**2)
        return lost, float(fit_part + _PRICE * self.model.n_parameters(state))

    def stands_for(self, state: State, track: Track) -> int | None:
        """Return the term whose centre follows the track; None if there is none."""
        seen = np.isfinite(track.position)
        for term in self.model.live_terms(state):
            mode = self.model.mode(state, term)
            off = np.abs(mode.centre(self.landscape.columns) - track.position)[seen]
            place = float(np.nanmedian(track.position))
            allowed = max(_KEPT * track.half_width, 0.01 * place)
            if np.mean(off <= allowed) >= 0.7 and self.model.half_width(mode, place) <= 6.0 * track.half_width:
                return term
        return None

    def cancellation(self, state: State) -> float:
        """Return how many times larger the terms are than their sum: nearly equal terms of opposite sign cancel."""
        if self.model.form != "paper":
            return 1.0
        w = self.curves.frequency[::4][None]
        terms = []
        for mode in self.model.modes(state):
            h = mode.centre(self.landscape.columns)[:, None]
            terms.append(mode.amplitude.real / ((w - h) ** 2 + mode.width**2))
        total = np.abs(np.sum(terms, axis=0)).mean() if terms else 1.0
        return float(np.sum([np.abs(term).mean() for term in terms]) / max(total, 1e-300))


# ---- how many terms -------------------------------------------------------------------------------------------------


def _pruned(model: ResonanceModel, curves: Curves, state: State, judge: _Judge, options: Options) -> State:
    """Remove terms as long as the criterion falls, or until the number of parameters is within the limit."""
    limit = np.inf if options.max_parameters is None else options.max_parameters
    while len(model.live_terms(state)) > 1:
        without = np.repeat(state.edges[None], len(model.live_terms(state)), axis=0)
        for edges, term in zip(without, model.live_terms(state), strict=True):
            edges[model.assembly.terms[term].gate] = False
        smaller = [replace(state, edges=edges) for edges in model.assembly.cleaned(without)]
        candidates = sorted(_fitted(model, curves, smaller, options, 60), key=judge.score)
        too_many = model.n_parameters(state) > limit
        if not too_many and judge.score(candidates[0]) >= judge.score(state):
            break
        state = candidates[0]
        if options.deadline.over:
            break
    return state
