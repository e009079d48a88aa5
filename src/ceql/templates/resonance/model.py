"""Converts resonances to parameters of a tape and back: start values in, terms in the user's units out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ceql.data.dataset import Scaling
from ceql.engine import fit
from ceql.templates.assembly import WHOLE, Assembly, Number
from ceql.templates.resonance.forms import form_template
from ceql.templates.resonance.laws import Function
from ceql.templates.resonance.peaks import Curves
from ceql.templates.template import Unknown

_ROWS_AT_ONCE = 200_000  # rows evaluated at a time, as a table of many curves and basis functions takes much memory


@dataclass(frozen=True, eq=False)
class Mode:
    """One resonance. `coefficients` belong to its law, the constant first. `width` is the half width (the root of g) in
    the paper's form and the damping ratio in the modal one. `amplitude` is A or the residue R + jI."""

    amplitude: complex
    coefficients: np.ndarray
    width: float

    @property
    def law(self) -> tuple[int, ...]:
        return tuple(int(k) for k in np.flatnonzero(self.coefficients[1:]))

    def centre(self, columns: np.ndarray) -> np.ndarray:
        return self.coefficients[0] + columns @ self.coefficients[1:]


@dataclass(frozen=True, eq=False)
class State:
    """A state of a fit: live edges, parameters, and their weighted mean square misfit."""

    edges: np.ndarray
    params: np.ndarray
    misfit: float = np.inf


@dataclass(frozen=True, eq=False)
class ResonanceModel:
    """A form with at most `most` terms, over frequency and basis functions of the conditions."""

    form: str
    most: int
    functions: tuple[Function, ...]
    frequency: float  # size of the frequencies
    magnitude: float  # size of the curves
    sizes: np.ndarray  # sizes of the basis functions
    complex_values: bool

    @cached_property
    def assembly(self) -> Assembly:
        inputs = tuple(f"q{k}" for k in range(len(self.functions))) or ("q0",)
        law = Unknown(inputs, (), layers=1, about=self.frequency)
        template = form_template(self.form, law, self.most, self.frequency, self.magnitude, self.complex_values)
        part = ("part",) if self.complex_values else ()
        sizes = [self.frequency, *(self.sizes if self.functions else [1.0]), *(1.0 for _ in part)]
        return Assembly(template, ("w", *inputs, *part), Scaling(np.array(sizes, float), self.magnitude))

    @property
    def _units(self) -> np.ndarray:
        """The factors from coefficients of a law to parameters, the constant first."""
        return np.concatenate([[1.0], self.sizes]) / self.frequency

    def half_width(self, mode: Mode, centre: float) -> float:
        return mode.width if self.form == "paper" else mode.width * centre

    def columns(self, conditions: np.ndarray) -> np.ndarray:
        """Return the values of the basis functions at the conditions, (n, K)."""
        return np.column_stack([np.zeros((len(conditions), 0)), *(f.values(conditions) for f in self.functions)])

    def samples(self, curves: Curves) -> fit.Samples:
        """Return all points of all curves as samples; for complex curves, all real parts, then all imaginary parts."""
        x, y, weight = self._inputs(curves.frequency, curves.conditions), curves.values.ravel(), curves.weight.ravel()
        if self.complex_values:
            y, weight = np.concatenate([np.real(y), np.imag(y)]), np.tile(weight, 2)
        return fit.Samples.of(x, y / self.magnitude, weight)

    def _inputs(self, frequency: np.ndarray, conditions: np.ndarray) -> np.ndarray:
        columns = self.columns(conditions) if self.functions else np.zeros((len(conditions), 1))
        rows = np.column_stack([np.tile(frequency, len(conditions)), np.repeat(columns, len(frequency), axis=0)])
        if self.complex_values:
            part = np.repeat([0.0, 1.0], len(rows))
            rows = np.column_stack([np.tile(rows, (2, 1)), part])
        return rows / self.assembly.scaling.x

    def values(self, state: State, frequency: np.ndarray, conditions: np.ndarray) -> np.ndarray:
        """Return the curves of a fit, (n_conditions, n)."""
        at_once = max(1, _ROWS_AT_ONCE // len(frequency))
        mask = self.assembly.parameter_mask(state.edges, imaginary=False)
        curves = []
        for first in range(0, len(conditions), at_once):
            x = self._inputs(frequency, conditions[first : first + at_once])
            y = fit.values(self.assembly.tape(), fit.Samples.of(x, np.zeros(len(x))), state.params, mask)[0]
            y = y * self.magnitude
            if self.complex_values:
                real, imaginary = np.split(y, 2)
                y = real + 1j * imaginary
            curves.append(y.reshape(-1, len(frequency)))
        return np.concatenate(curves)

    @cached_property
    def _places(self) -> list[tuple[dict[str, Number], np.ndarray]]:
        """Per term, its numbers and the edges of its law, the constant first, then the basis functions."""
        places = []
        for term in range(self.most):
            (block,) = (b for b in self.assembly.blocks if b.term == term)
            readout, network = block.network.sums[-1], block.network
            edge_of = {int(network.edge_source[e]): e + block.first for e in range(readout.first, readout.last)}
            edges = [edge_of[k] for k in (network.n_inputs, *range(network.n_inputs))][: 1 + len(self.functions)]
            places.append(({n.name: n for n in self.assembly.numbers if n.term == term}, np.array(edges)))
        return places

    @cached_property
    def background(self) -> dict[str, Number]:
        return {n.name: n for n in self.assembly.numbers if n.term == WHOLE}

    def state(self, modes: list[Mode], background: tuple[float, float] = (0.0, 0.0)) -> State:
        """Return the start of a fit with these terms."""
        assembly = self.assembly
        edges, params = np.zeros(assembly.n_edges, bool), np.zeros(assembly.n_params)
        for number, value in zip(self.background.values(), background, strict=False):
            params[number.index] = number.raw(value)
        for mode, (numbers, law), term in zip(modes, self._places, assembly.terms, strict=False):
            edges[law[[0, *(1 + k for k in mode.law)]]] = True
            params[law] = mode.coefficients * self._units
            edges[term.gate] = True
            if self.form == "paper":
                values = {"A": mode.amplitude.real, "g": mode.width**2}
            else:
                params[term.gate] = 1.0
                values = {"R": mode.amplitude.real, "I": mode.amplitude.imag, "z": mode.width}
            for name, value in values.items():
                params[numbers[name].index] = numbers[name].raw(value)
        return State(edges, params)

    def modes(self, state: State) -> list[Mode]:
        """Return the terms of a fit in order, without those that are switched off."""
        return [self.mode(state, term) for term in self.live_terms(state)]

    def live_terms(self, state: State) -> list[int]:
        return [k for k, term in enumerate(self.assembly.terms) if state.edges[term.gate]]

    def mode(self, state: State, term: int) -> Mode:
        numbers, law = self._places[term]
        value = {name: float(number.value(state.params[number.index])) for name, number in numbers.items()}
        coefficients = np.where(state.edges[law], state.params[law], 0.0) / self._units
        if self.form == "paper":
            return Mode(complex(value["A"]), coefficients, float(np.sqrt(value["g"])))
        return Mode(complex(value["R"], value["I"]), coefficients, value["z"])

    def background_of(self, state: State) -> tuple[float, float]:
        a, b = (
            0.0 if n is None else float(n.value(state.params[n.index]))
            for n in (self.background.get("a"), self.background.get("b"))
        )
        return a, b

    def smoothing(self, modes: list[Mode], columns: np.ndarray) -> np.ndarray:
        """Return start values of the imaginary parts: twice the smallest values of the denominators."""
        assembly = self.assembly
        parts = np.zeros(assembly.n_params)
        first = assembly.n_params - assembly.n_smoothing
        for k, mode in enumerate(modes):
            if self.form == "paper":
                parts[first + k] = 2.0 * mode.width**2
            else:
                centre = float(np.median(mode.centre(columns)))
                parts[first + 2 * k : first + 2 * k + 2] = 2.0 * (2.0 * mode.width * centre**2) ** 2
        return parts

    def n_parameters(self, state: State) -> int:
        """Return the number of parameters in the formula."""
        modes = self.modes(state)
        of_modes = sum((2 if self.form == "paper" else 3) + 1 + len(mode.law) for mode in modes)
        return of_modes + len(self.background)

    def errors_of(self, term: int, errors: np.ndarray) -> tuple[float, float, float]:
        """Return the standard errors of amplitude, width (g or damping ratio) and the constant of the centre."""
        numbers, law = self._places[term]
        names = ("A", "g") if self.form == "paper" else ("R", "z")
        amplitude, width = (errors[numbers[name].index] for name in names)
        return float(amplitude), float(width), float(errors[law[0]] * self.frequency)

    def standard_errors(self, state: State, samples: fit.Samples, misfit: float, independent: float) -> np.ndarray:
        """Return the standard error of every parameter in its own unit, by linear propagation; NaN if it has none.

        Neighbouring points are not independent: the residual variance is spread over `independent` points.
        """
        mask = self.assembly.parameter_mask(state.edges, imaginary=False)
        _, jacobian = fit.jacobian(self.assembly.tape(), samples, state.params, mask)
        errors = np.full(self.assembly.n_params, np.nan)
        live = np.flatnonzero(mask & (np.abs(jacobian).max(axis=0) > 0))
        weighted = jacobian[:, live] * np.sqrt(samples.weight)[:, None]
        scale = np.linalg.norm(weighted, axis=0)
        covariance = np.linalg.pinv((weighted / scale).T @ (weighted / scale)) / np.outer(scale, scale)
        variance = misfit * len(samples.y) * (len(samples.y) / max(independent - len(live), 1.0))
        errors[live] = np.sqrt(np.maximum(np.diag(covariance), 0.0) * variance / len(samples.y))
        for number in self.assembly.numbers:
            errors[number.index] *= abs(number.slope(state.params[number.index]))
        return errors
