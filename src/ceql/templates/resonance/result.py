"""What a fit of resonances gives back: a formula, its terms, and predictions at any frequency and condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from ceql.templates.resonance.laws import Function
from ceql.templates.resonance.model import Mode, ResonanceModel, State


@dataclass(frozen=True, eq=False)
class Term:
    """One resonance. `width` is g in the paper's form and the damping ratio in the modal one."""

    amplitude: complex | float
    centre: Any  # a SymPy expression in the conditions
    width: float
    centre_at: Callable[[np.ndarray], np.ndarray] = field(repr=False)
    amplitude_error: float = float("nan")
    width_error: float = float("nan")
    centre_error: float = float("nan")  # of its constant
    is_clear: bool = True  # whether a clear peak of the data stands behind it


@dataclass(frozen=True, eq=False)
class ResonanceFit:
    """One formula for all curves: its terms, how well it fits (`r2`), and which poles the starts arrived at."""

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
        """The curves at these frequencies for every row of conditions, (n_conditions, n); complex for complex data."""
        conditions = np.asarray(conditions, float)
        conditions = conditions.reshape(-1, len(self.names)) if conditions.ndim < 2 else conditions
        return self.model.values(self.state, np.asarray(frequency, float), conditions)


def make_terms(
    model: ResonanceModel,
    state: State,
    names: tuple[str, ...],
    errors: np.ndarray,
    clear: set[int],
    conditions: np.ndarray,
) -> tuple[Term, ...]:
    """The terms in the order of their centres."""
    symbols = [sympy.Symbol(name, real=True) for name in names]
    terms = []
    for place in model.live_terms(state):
        mode = model.mode(state, place)
        of = model.errors_of(place, errors)
        paper = model.form == "paper"
        amplitude = mode.amplitude if mode.amplitude.imag else mode.amplitude.real
        width = mode.width**2 if paper else mode.width
        terms.append(
            Term(
                amplitude,
                law_expression(mode, model.functions, symbols),
                width,
                _centre_at(model, mode),
                *of,
                place in clear,
            )
        )
    return tuple(sorted(terms, key=lambda term: float(np.median(term.centre_at(conditions)))))


def _centre_at(model: ResonanceModel, mode: Mode) -> Callable[[np.ndarray], np.ndarray]:
    def centre_at(conditions: np.ndarray) -> np.ndarray:
        return mode.centre(model.columns(np.atleast_2d(np.asarray(conditions, float))))

    return centre_at


def law_expression(mode: Mode, functions: tuple[Function, ...], symbols: list[sympy.Symbol]) -> sympy.Expr:
    parts = [sympy.Float(mode.coefficients[1 + k]) * functions[k].symbolic(symbols) for k in mode.law]
    return sympy.Add(sympy.Float(mode.coefficients[0]), *parts)


def formula_of(model: ResonanceModel, state: State, names: tuple[str, ...]) -> sympy.Expr:
    """The whole as one expression in w and the conditions; the magnitude of modes with bars around their sum."""
    symbols = [sympy.Symbol(name, real=True) for name in names]
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
