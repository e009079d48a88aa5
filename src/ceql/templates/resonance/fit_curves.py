"""The public function that fits resonances: checks its input, sets up a model and returns a formula with its terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import sympy

from ceql.engine import fit
from ceql.engine.deadline import Stopwatch
from ceql.errors import InputError, unknown_name
from ceql.templates.resonance import laws
from ceql.templates.resonance.fitting import Options, Outcome, fit_model
from ceql.templates.resonance.forms import FORMS
from ceql.templates.resonance.model import Mode, ResonanceModel, State
from ceql.templates.resonance.peaks import Curves

WEIGHTINGS = ("linear", "db")
_FLOOR = 0.03  # share of the median magnitude below which errors are no longer weighted as relative ones
_STARTS = 40
_MOST_SAMPLES = 60_000  # samples used for standard errors
_SHARE = 0.9  # share of the time limit after which stages are cut short


@dataclass(frozen=True, eq=False)
class Term:
    """One resonance. `width` is g in the paper's form and the damping ratio in the modal one."""

    amplitude: complex | float
    centre: Any  # a SymPy expression in the conditions
    width: float
    centre_at: Callable[[np.ndarray], np.ndarray] = field(repr=False)
    amplitude_error: float = float("nan")
    width_error: float = float("nan")
    centre_error: float = float("nan")  # standard error of the constant in `centre`
    is_clear: bool = True  # whether it belongs to a clear peak of the data


@dataclass(frozen=True, eq=False)
class ResonanceFit:
    """One formula for all curves: its terms, how well it fits (`r2`), and the poles that the starts found."""

    form: str
    expression: Any
    terms: tuple[Term, ...]
    background: tuple[float, float]
    n_parameters: int
    r2: float
    poles_over_starts: list[np.ndarray]
    seconds: float
    starts: int
    names: tuple[str, ...]
    message: str
    model: ResonanceModel = field(repr=False)
    state: State = field(repr=False)

    def predict(self, frequency: Any, conditions: Any) -> np.ndarray:
        """Return the curves at these frequencies and conditions, (n_conditions, n); complex for complex data."""
        conditions = np.asarray(conditions, float)
        conditions = conditions.reshape(-1, len(self.names)) if conditions.ndim < 2 else conditions
        return self.model.values(self.state, np.asarray(frequency, float), conditions)


def fit_resonances(
    frequency: Any,
    curves: Any,
    conditions: Any,
    *,
    names: Sequence[str] = ("d",),
    form: str = "paper",
    max_terms: int = 6,
    max_parameters: int | None = None,
    weighting: str = "linear",
    seed: int = 0,
    time_limit: float = 60.0,
    complex_weights: bool = True,
    threads: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> ResonanceFit:
    """Fit one formula to curves over frequency, measured under several conditions.

    `curves` is (n_conditions, n): magnitudes, or complex values for form="modal". `conditions` is (n_conditions, k),
    with the k `names` that become symbols of the formula. No peak positions are needed. weighting="db" minimises
    relative errors, so that small peaks matter as much as large ones. `progress` is called with a stage and a fraction.
    """
    watch = Stopwatch()
    names = tuple(names)
    data = _checked(frequency, curves, conditions, names, weighting)
    if form not in FORMS:
        raise unknown_name("form of resonances", form, FORMS)
    if not 1 <= max_terms <= 60:
        raise InputError(f"max_terms must be 1 to 60, not {max_terms!r}.")
    if not time_limit > 0:
        raise InputError(f"time_limit must be a positive number of seconds, not {time_limit!r}.")
    functions = laws.basis(data.conditions)
    sizes = np.array([np.max(np.abs(function.values(data.conditions))) for function in functions])
    magnitude, is_complex = float(np.sqrt(np.mean(data.magnitudes**2))), bool(np.iscomplexobj(data.values))
    model = ResonanceModel(form, max_terms, functions, float(data.frequency.max()), magnitude, sizes, is_complex)
    options = Options(
        _STARTS,
        seed,
        watch.until(_SHARE * time_limit),
        complex_weights,
        threads or fit.default_threads(),
        max_parameters,
        progress,
    )
    found = fit_model(model, data, options)
    few = data.thinned(max(200, _MOST_SAMPLES // len(data.values)))
    errors = model.standard_errors(found.state, model.samples(few), found.state.misfit, found.n_independent)
    symbols = [sympy.Symbol(name, real=True) for name in names]
    return ResonanceFit(
        form=form,
        expression=formula_of(model, found.state, symbols),
        terms=tuple(_terms(found, model, symbols, errors, data)),
        background=model.background_of(found.state),
        n_parameters=model.n_parameters(found.state),
        r2=r_squared(data.values, model.values(found.state, data.frequency, data.conditions)),
        poles_over_starts=found.centres_of_starts,
        seconds=watch.seconds,
        starts=found.n_starts,
        names=names,
        message=_message(data, found),
        model=model,
        state=found.state,
    )


def r_squared(measured: np.ndarray, predicted: np.ndarray) -> float:
    """Return the share of the variance explained; for complex values, of real and imaginary parts together."""
    spread = np.sum(np.abs(measured - measured.mean()) ** 2)
    return float(1.0 - np.sum(np.abs(measured - predicted) ** 2) / spread) if spread > 0 else float("nan")


def _terms(
    found: Outcome, model: ResonanceModel, symbols: list[sympy.Symbol], errors: np.ndarray, data: Curves
) -> list[Term]:
    """Return the terms, ordered by their centres."""
    terms = []
    for place in model.live_terms(found.state):
        mode = model.mode(found.state, place)
        terms.append(
            Term(
                mode.amplitude if mode.amplitude.imag else mode.amplitude.real,
                law_expression(mode, model.functions, symbols),
                mode.width**2 if model.form == "paper" else mode.width,
                partial(_centre_at, model, mode),
                *model.errors_of(place, errors),
                place in found.clear,
            )
        )
    return sorted(terms, key=lambda term: float(np.median(term.centre_at(data.conditions))))


def _centre_at(model: ResonanceModel, mode: Mode, conditions: np.ndarray) -> np.ndarray:
    return mode.centre(model.columns(np.atleast_2d(np.asarray(conditions, float))))


def law_expression(mode: Mode, functions: tuple[laws.Function, ...], symbols: list[sympy.Symbol]) -> sympy.Expr:
    parts = [sympy.Float(mode.coefficients[1 + k]) * functions[k].symbolic(symbols) for k in mode.law]
    return sympy.Add(sympy.Float(mode.coefficients[0]), *parts)


def formula_of(model: ResonanceModel, state: State, symbols: list[sympy.Symbol]) -> sympy.Expr:
    """Return the fit as one expression in w and the conditions; magnitudes of modes as the absolute value of a sum."""
    w = sympy.Symbol("w", real=True)
    if model.form == "paper":
        basis = [function.symbolic(symbols) for function in model.functions] or [sympy.Integer(0)]
        return model.assembly.in_units(state.edges, state.params, [w, *basis], model.assembly.scaling)
    total = sympy.Integer(0)
    for mode in model.modes(state):
        h = law_expression(mode, model.functions, symbols)
        residue = sympy.Float(mode.amplitude.real) + sympy.I * sympy.Float(mode.amplitude.imag)
        total += w**2 * residue / (h**2 - w**2 + 2 * sympy.I * sympy.Float(mode.width) * h * w)
    return total if model.complex_values else sympy.Abs(total)


def _message(data: Curves, found: Outcome) -> str:
    parts = []
    if len(data.conditions) == 1 or not np.ptp(data.conditions, axis=0).any():
        parts.append("There is a single condition, so every centre is a constant.")
    if not found.clear:
        parts.append("No clear resonance was found: no peak stands 10 dB above its surroundings.")
    return " ".join(parts)


def _checked(frequency: Any, curves: Any, conditions: Any, names: tuple[str, ...], weighting: str) -> Curves:
    frequency = np.asarray(frequency, float)
    values = np.asarray(curves)
    conditions = np.asarray(conditions, float)
    conditions = conditions.reshape(-1, 1) if conditions.ndim == 1 else conditions
    if frequency.ndim != 1 or len(frequency) < 20:
        raise InputError("frequency must be one row of at least 20 numbers.")
    if not (np.diff(frequency) > 0).all():
        raise InputError("frequency must rise from one point to the next: sort the points and remove repeated ones.")
    if values.ndim != 2 or values.shape[1] != len(frequency):
        raise InputError(f"curves must have the shape (conditions, {len(frequency)}), not {values.shape}.")
    if conditions.shape != (len(values), len(names)):
        raise InputError(
            f"conditions must have one row per curve and one column per name, ({len(values)}, {len(names)}), "
            f"not {conditions.shape}."
        )
    if "w" in names or len(set(names)) < len(names):
        raise InputError("names of the conditions must differ from each other and from w, the frequency.")
    if not (np.isfinite(frequency).all() and np.isfinite(values).all() and np.isfinite(conditions).all()):
        raise InputError("frequency, curves and conditions must be finite numbers: drop the points that are not.")
    if not np.iscomplexobj(values):
        values = values.astype(float)
        if (values < 0).any():
            raise InputError("curves has negative values: give magnitudes on a linear scale, not decibels.")
    if np.abs(values).max() == 0:
        raise InputError("curves is zero everywhere: there is nothing to fit.")
    if weighting not in WEIGHTINGS:
        raise unknown_name("weighting", weighting, WEIGHTINGS)
    return Curves(frequency, values, conditions, _weights(np.abs(values), weighting))


def _weights(magnitude: np.ndarray, weighting: str) -> np.ndarray:
    """Return weights of mean one; "db" means relative errors, since small errors in dB are relative errors."""
    if weighting == "linear":
        return np.ones(magnitude.shape)
    weight = 1.0 / (magnitude**2 + (_FLOOR * np.median(magnitude)) ** 2)
    return weight / weight.mean()
