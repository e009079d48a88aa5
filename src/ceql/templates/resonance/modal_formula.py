"""Writes a sum of modes as one SymPy expression, with frequency, damping and amplitude as laws of the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from ceql.templates.resonance.laws import Function


@dataclass(frozen=True, eq=False)
class ModalTerm:
    """One mode at one point: coefficients of its laws, the constant first, and the phase factor of its residue."""

    frequency: np.ndarray
    damping: np.ndarray
    amplitude: np.ndarray
    direction: complex


def law_in_symbols(coefficients: np.ndarray, functions: Sequence[Function], names: Sequence[str]) -> sympy.Expr:
    symbols = [sympy.Symbol(name, real=True) for name in names]
    parts = [
        sympy.Float(c) * function.symbolic(symbols)
        for c, function in zip(coefficients[1:], functions, strict=True)
        if c != 0
    ]
    return sympy.Add(sympy.Float(coefficients[0]), *parts)


def modal_formula(
    terms: Sequence[ModalTerm],
    rest: Sequence[tuple[complex, int]],
    power: int,
    functions: Sequence[Function],
    names: Sequence[str],
) -> sympy.Expr:
    """Return the response over w and conditions. `rest` holds factors and powers of s = i w for additional terms; all
    modes have the factor s**power."""
    w = sympy.Symbol("w", real=True)
    s = sympy.I * w
    total = sympy.Integer(0)
    for term in terms:
        h, z, a = (law_in_symbols(c, functions, names) for c in (term.frequency, term.damping, term.amplitude))
        real, imaginary = sympy.Float(term.direction.real), sympy.Float(term.direction.imag)
        numerator = real + imaginary * (s + z * h) / (h * sympy.sqrt(1 - z**2))
        total += s**power * a * numerator / (h**2 - w**2 + 2 * sympy.I * z * h * w)
    for factor, exponent in rest:
        total += (sympy.Float(factor.real) + sympy.I * sympy.Float(factor.imag)) * s**exponent
    return total
