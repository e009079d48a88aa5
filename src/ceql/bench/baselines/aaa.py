"""The AAA algorithm of SciPy: rational approximation of one variable from samples."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ceql.bench.errors import MethodError
from ceql.bench.methods import Adapter, Found


@dataclass(frozen=True)
class Aaa(Adapter):
    """AAA with its barycentric form written out as one polynomial over another."""

    requires: ClassVar = (("scipy", "scipy"),)
    relative_tolerance: float = 1e-13
    max_terms: int = 20
    # Coefficients that contribute less than this to their polynomial are the rounding of a lower degree.
    negligible: float = 1e-11

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        if X.shape[1] != 1:
            raise MethodError(f"AAA is made for one variable; this problem has {X.shape[1]} columns.")
        from scipy.interpolate import AAA

        start = time.perf_counter()
        x = X[:, 0]
        with warnings.catch_warnings():
            # It warns when the target is not rational, which the scores will say anyway.
            warnings.simplefilter("ignore", RuntimeWarning)
            fit = AAA(x, y, rtol=self.relative_tolerance, max_terms=self.max_terms)
        numerator, denominator = quotient(fit.support_points, fit.support_values, fit.weights)
        scale = float(np.abs(x).max())
        top, bottom = (trimmed(c, scale, self.negligible) for c in (numerator, denominator))
        text = f"({polynomial(top / bottom[-1], names[0])})/({polynomial(bottom / bottom[-1], names[0])})"
        return Found(text, time.perf_counter() - start, extra={"support_points": len(fit.support_points)})


def quotient(points: np.ndarray, values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The polynomials of a barycentric rational, coefficients from the constant up."""
    bases = [np.polynomial.polynomial.polyfromroots(np.delete(points, j)) for j in range(len(points))]
    terms = np.real(bases) * np.real(weights)[:, None]
    return np.real(values) @ terms, terms.sum(axis=0)


def trimmed(coefficients: np.ndarray, scale: float, negligible: float) -> np.ndarray:
    """The polynomial without the leading coefficients that do not matter up to |x| = scale."""
    sizes = np.abs(coefficients) * scale ** np.arange(len(coefficients))
    keep = np.flatnonzero(sizes > negligible * sizes.max())
    return coefficients[: keep[-1] + 1] if len(keep) else np.zeros(1)


def polynomial(coefficients: np.ndarray, name: str) -> str:
    """A polynomial as text."""
    return " + ".join(f"({float(c)!r})*{name}**{k}" if k else f"({float(c)!r})" for k, c in enumerate(coefficients))
