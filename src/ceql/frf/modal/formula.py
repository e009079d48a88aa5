"""The formula of a modal analysis: the response of one point as a function of frequency and conditions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ceql.frf.kinds import Kind
from ceql.frf.modal.analysis import ModalAnalysis
from ceql.frf.modal.response import POWERS
from ceql.templates.resonance.modal_formula import ModalTerm, law_in_symbols, modal_formula


def strongest_point(analysis: ModalAnalysis) -> int:
    """The point where all modes together are largest, whose formula therefore shows most of them."""
    shapes = np.array([np.abs(track.shape) for track in analysis.predictor.tracks])
    return int(np.argmax(shapes.min(axis=0) + 0.1 * shapes.mean(axis=0))) if len(shapes) else 0


def formula_of(analysis: ModalAnalysis, point: int, hertz: float) -> Any:
    """A SymPy expression in w, in units of `hertz`, and the conditions."""
    predictor = analysis.predictor
    power = POWERS[predictor.kind]
    functions = next(iter(analysis.laws.values())).frequency.functions
    terms = []
    for track in predictor.tracks:
        own = analysis.laws[track.number]
        size = hertz ** (power - 2)
        terms.append(
            ModalTerm(
                own.frequency.coefficients / hertz,
                own.damping.coefficients,
                own.amplitude.coefficients * size * abs(track.shape[point]),
                complex(np.exp(1j * np.angle(track.shape[point]))),
            )
        )
    return modal_formula(terms, _rest(analysis, point, hertz), power, functions, analysis.survey.names)


def laws_in_words(analysis: ModalAnalysis, number: int, hertz: float) -> dict[str, str]:
    """The laws of one mode as text, with the frequency in units of `hertz`; numbers have five digits."""
    own = analysis.laws[number]
    power = POWERS[analysis.predictor.kind]
    sizes = {"frequency": 1.0 / hertz, "damping": 1.0, "amplitude": hertz ** (power - 2)}
    return {
        name: str(law_in_symbols(law.coefficients * sizes[name], law.functions, analysis.survey.names).evalf(5))
        for name, law in ((name, getattr(own, name)) for name in sizes)
    }


def _rest(analysis: ModalAnalysis, point: int, hertz: float) -> list[tuple[complex, int]]:
    kind, power = analysis.predictor.kind, POWERS[analysis.predictor.kind]
    both = (0, 1) if kind == Kind.RATIO else (power - 2, power)
    exponents = {"both": both, "lower": both[:1], "upper": both[1:], "none": ()}[analysis.predictor.residuals]
    factors = analysis.predictor.rest[:, point]
    return [(complex(f) * hertz**e, e) for f, e in zip(factors, exponents, strict=True)]
