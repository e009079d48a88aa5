"""Mode shapes: their similarity, how nearly real they are, and their normalisation."""

from __future__ import annotations

import numpy as np


def mac(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The modal assurance criterion between the rows of two sets of shapes (m, p): 1 for the same shape."""
    one, other = np.atleast_2d(one), np.atleast_2d(other)
    across = np.abs(one.conj() @ other.T) ** 2
    sizes = np.outer(np.sum(np.abs(one) ** 2, axis=1), np.sum(np.abs(other) ** 2, axis=1))
    return np.where(sizes > 0, across / np.where(sizes > 0, sizes, 1.0), 0.0)


def collinearity(shape: np.ndarray) -> float:
    """The modal phase collinearity: 1 if all points move in phase or antiphase, 0 if phases are scattered."""
    x, y = np.real(shape), np.imag(shape)
    xx, yy, xy = x @ x, y @ y, x @ y
    total = xx + yy
    return float(((xx - yy) ** 2 + 4.0 * xy**2) / total**2) if total > 0 else 0.0


def normalised(shape: np.ndarray) -> np.ndarray:
    """The shape scaled so that its largest entry is one."""
    largest = shape[np.argmax(np.abs(shape))] if shape.size else 1.0
    return shape / largest if largest != 0 else shape


def contribution(shape: np.ndarray, reference: np.ndarray) -> complex:
    """The factor q for which q times the reference is closest to the shape."""
    size = np.vdot(reference, reference).real
    return complex(np.vdot(reference, shape) / size) if size > 0 else 0j
