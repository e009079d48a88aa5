"""Global least squares of the poles; residues and residual terms are linear and solved for by QR in every step.

Uses variable projection with Kaufman's Jacobian and Levenberg-Marquardt steps. The parameters are the damped frequency
and the logarithm of the decay rate of each pole, so that poles always decay. All points share the same columns, so a
step costs one QR decomposition for any number of points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.frf.modal.response import Response, design, pole_columns

_FIRST_DAMPING = 1e-3  # initial Levenberg-Marquardt damping, relative to the diagonal
_GIVE_UP = 1e8
_SETTLED = 1e-7  # relative decrease of the sum of squares below which a fit has converged
_LARGEST_MOVE = 2.0  # in half widths per step; half of that for the logarithm of the width
_NARROWEST = 0.02  # least half width in frequency steps; narrower poles look undamped
_RANK = 1e-12


@dataclass(frozen=True, eq=False)
class Refined:
    """Poles and their fit: coefficients (columns, p), the sum of squares, the residual (2n, p) and the basis."""

    poles: np.ndarray
    coefficients: np.ndarray
    squares: float
    residual: np.ndarray
    basis: np.ndarray


def solved(response: Response, poles: np.ndarray, target: np.ndarray | None = None) -> Refined:
    """The fit for given poles, with the linear part solved for."""
    target = response.weighted() if target is None else target
    columns = design(response, poles)
    sizes = np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
    basis, upper = np.linalg.qr(columns / sizes)
    along = basis.T @ target
    diagonal = np.abs(np.diag(upper))
    if len(diagonal) and diagonal.min() > _RANK * diagonal.max():
        coefficients = np.linalg.solve(upper, along) / sizes[:, None]
    else:  # two poles coincide
        coefficients = np.linalg.lstsq(columns / sizes, target, rcond=_RANK)[0] / sizes[:, None]
    residual = target - basis @ along
    return Refined(poles, coefficients, float(np.sum(residual**2)), residual, basis)


def refined(response: Response, poles: np.ndarray, steps: int) -> Refined:
    """The fit at the nearest minimum of the sum of squares."""
    target = response.weighted()
    here = solved(response, poles, target)
    damping = _FIRST_DAMPING
    for _ in range(steps if len(poles) else 0):
        curvature, slopes = normal_equations(response, here)
        slope = slopes.sum(axis=1)
        scale = np.sqrt(np.maximum(np.diag(curvature), np.finfo(float).tiny))
        step = np.linalg.solve(curvature + damping * np.diag(scale**2), slope)
        tried = solved(response, _moved(response, here.poles, step), target)
        if tried.squares < here.squares:
            fall = (here.squares - tried.squares) / max(here.squares, np.finfo(float).tiny)
            here, damping = tried, max(damping / 5.0, 1e-12)
            if fall < _SETTLED:
                break
        else:
            damping *= 8.0
            if damping > _GIVE_UP:
                break
    return here


def normal_equations(response: Response, here: Refined) -> tuple[np.ndarray, np.ndarray]:
    """The curvature (2m, 2m), and the contributions of the points to the slopes (2m, p).

    Parameter j changes the two columns of its mode by the derivatives D_j (2n, 2). The projected change of the model is
    P D_j C_j with the coefficients C_j (2, p), so that inner products need only D'PD, for any number of points.
    """
    m = len(here.poles)
    changes = _derivatives(response, here.poles)  # (2n, 2m parameters * 2 columns)
    along = here.basis.T @ changes
    inner = changes.T @ changes - along.T @ along
    owner = np.repeat(np.arange(m), 2)  # mode of each parameter
    pairs = here.coefficients[: 2 * m].reshape(m, 2, -1)[owner]  # (2m, 2, p)
    outer = np.einsum("iap,jbp->iajb", pairs, pairs)
    curvature = np.einsum("iajb,iajb->ij", outer, inner.reshape(2 * m, 2, 2 * m, 2))
    slopes = np.einsum("iap,iap->ip", pairs, (changes.T @ here.residual).reshape(2 * m, 2, -1))
    return curvature, slopes


def _derivatives(response: Response, poles: np.ndarray) -> np.ndarray:
    """Derivatives of the columns by damped frequency and logarithmic decay rate, in units of the decay rate."""
    g, mirrored = pole_columns(response, poles)
    factor = (response.s**response.power)[:, None]
    # the columns are s^k/(s - pole), so the derivative by the pole is their square over s^k
    with np.errstate(divide="ignore", invalid="ignore"):
        square, square_mirrored = g**2 / factor, mirrored**2 / factor
    rate = -np.real(poles)
    parts = []
    for by, by_mirrored in ((1j, -1j), (-1.0, -1.0)):
        one, other = by * square * rate, by_mirrored * square_mirrored * rate
        parts.append(np.stack([one + other, 1j * (one - other)], axis=2))
    columns = np.stack(parts, axis=2).reshape(len(g), -1) * response.root_weight[:, None]
    return np.concatenate([np.real(columns), np.imag(columns)])


def _moved(response: Response, poles: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The poles after a step of limited size; none becomes much narrower than the grid or leaves the band by much."""
    rate = -np.real(poles)
    shift = np.clip(step[0::2], -_LARGEST_MOVE, _LARGEST_MOVE) * rate
    growth = np.clip(step[1::2], -_LARGEST_MOVE / 2.0, _LARGEST_MOVE / 2.0)
    low, high = response.frequency[0], response.frequency[-1]
    spacing = (high - low) / len(response.frequency)
    frequency = np.clip(np.imag(poles) + shift, max(low - (high - low), 0.01 * low), high + (high - low))
    return -np.clip(rate * np.exp(growth), _NARROWEST * spacing, high) + 1j * frequency
