"""Final refinement of each pole in its own window, so that model errors elsewhere do not affect its damping.

The other modes are subtracted, and a constant and a slope represent what remains of them. Modes with overlapping
windows are refined together. For curves that follow the model exactly this changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.refinement import Refined, normal_equations, refined
from ceql.frf.modal.response import LinearPart, Response, linear_part, synthesised

_FARTHEST = 3.0  # half widths that a pole may move within its window
_WIDEST = 4.0  # factor by which its width may change there
_MANY_POINTS = 5  # fewest points for errors from the scatter between points


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Standard errors of the poles: of the damped frequency in Hz, and of the logarithm of the decay rate."""

    frequency: np.ndarray
    log_rate: np.ndarray


def refined_in_windows(
    response: Response, whole: Refined, policy: ModalPolicy
) -> tuple[np.ndarray, LinearPart, Uncertainty]:
    """The refined poles, the linear part of all of them on the whole band, and the standard errors of the poles.

    Where the fit to the whole band leaves only noise, it is better and is kept.
    """
    poles = np.array(whole.poles, dtype=complex)
    errors = standard_errors(response, whole) if len(poles) else np.zeros((2, 0))
    part = linear_part(response, poles, whole.coefficients)
    misfit = _misfit(response, poles, part)
    for _ in range(policy.rounds):
        before, residues = poles.copy(), part.residues.copy()
        for group in groups_of(poles, policy):
            inside = inside_of(response, poles[group], policy)
            if np.mean(misfit[inside]) < policy.noise_like:
                continue
            window = window_of(response, poles, part, group, inside)
            fit = refined(window, poles[group], policy.steps)
            if not _stays(fit.poles, poles[group]):  # the pole of a broad background does not stay in a window
                continue
            poles[group] = fit.poles
            errors[:, group] = standard_errors(window, fit)
            residues[group] = linear_part(window, fit.poles, fit.coefficients).residues
        part = _with_rest(response, poles, residues)
        if np.all(np.abs(poles - before) < policy.settled * -np.real(before)):
            break
    return poles, part, Uncertainty(errors[0], errors[1])


def leaves_noise(response: Response, whole: Refined, policy: ModalPolicy) -> bool:
    """Whether the fit leaves only noise in the window of at least one mode."""
    misfit = _misfit(response, whole.poles, linear_part(response, whole.poles, whole.coefficients))
    windows = [inside_of(response, whole.poles[group], policy) for group in groups_of(whole.poles, policy)]
    return any(np.mean(misfit[inside]) < policy.noise_like for inside in windows)


def _misfit(response: Response, poles: np.ndarray, part: LinearPart) -> np.ndarray:
    """The mean squared residual at each frequency in units of the noise; about one if only noise is left."""
    left = (response.curves - synthesised(response, poles, part)) / response.noise[:, None]
    return np.mean(np.abs(left) ** 2, axis=0) / 2.0


def _stays(now: np.ndarray, before: np.ndarray) -> bool:
    """Whether the poles moved by no more than a few half widths, and their widths changed by no more than a factor."""
    near = np.abs(np.imag(now) - np.imag(before)) < _FARTHEST * np.maximum(-np.real(before), -np.real(now))
    alike = np.abs(np.log(np.real(now) / np.real(before))) < np.log(_WIDEST)
    return bool((near & alike).all())


def groups_of(poles: np.ndarray, policy: ModalPolicy) -> list[np.ndarray]:
    """Groups of modes that are within half of each other's reach."""
    if not len(poles):
        return []
    order = np.argsort(np.imag(poles))
    reach = np.minimum(policy.reach * -np.real(poles), 0.1 * np.abs(poles)) / 2.0
    near = np.diff(np.imag(poles)[order]) < np.maximum(reach[order][1:], reach[order][:-1])
    return np.split(order, np.flatnonzero(~near) + 1)


def standard_errors(response: Response, fit: Refined) -> np.ndarray:
    """Standard errors of frequency (Hz) and logarithmic decay rate for each mode, (2, m).

    With several points they follow from the slopes of the points, which cancel at the solution and show how strongly
    the points disagree; with few points, from the residual and its number of independent values.
    """
    curvature, slopes = normal_equations(response, fit)
    inverse = np.linalg.pinv(curvature, hermitian=True)
    n, p = len(response.frequency), slopes.shape[1]
    freedom = max(2 * n * p - fit.coefficients.size - 2 * len(fit.poles), 1)
    covariance = inverse * fit.squares / freedom * likeness(fit.residual, n)
    if p >= _MANY_POINTS:
        pulled = inverse @ (slopes @ slopes.T) @ inverse * p / (p - 1)
        covariance = np.where(np.diag(pulled) > np.diag(covariance), pulled, covariance)
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0)).reshape(-1, 2)
    return np.array([spread[:, 0] * -np.real(fit.poles), spread[:, 1]])


def likeness(residual: np.ndarray, n: int, lags: int = 60) -> float:
    """The number of neighbouring values that count as one: one plus twice the sum of the autocorrelations."""
    total, size = 1.0, float(np.sum(residual**2))
    for lag in range(1, min(lags, n // 4)):
        parts = sum(float(np.sum(part[lag:] * part[:-lag])) for part in (residual[:n], residual[n:]))
        share = parts / size if size > 0 else 0.0
        if share < 0.05:  # only noise around zero
            break
        total += 2.0 * share
    return total


def inside_of(response: Response, poles: np.ndarray, policy: ModalPolicy) -> np.ndarray:
    """Which frequencies belong to the window of these poles."""
    step = float(np.median(np.diff(response.frequency)))
    half = np.maximum(policy.reach * -np.real(poles), policy.least_window * step)
    low, high = np.min(np.imag(poles) - half), np.max(np.imag(poles) + half)
    inside = (response.frequency >= low) & (response.frequency <= high)
    if inside.sum() < policy.least_window:  # a mode beyond the band: use the nearest frequencies
        distance = np.abs(response.frequency - np.mean(np.imag(poles)))
        inside = distance <= np.sort(distance)[min(policy.least_window, len(distance)) - 1]
    return inside


def window_of(
    response: Response, poles: np.ndarray, part: LinearPart, group: np.ndarray, inside: np.ndarray
) -> Response:
    """The curves in this window, minus the contributions of the other modes."""
    others = np.setdiff1d(np.arange(len(poles)), group)
    nothing = np.zeros_like(part.rest)
    strangers = synthesised(response, poles[others], LinearPart(part.residues[others], nothing))
    return response.within(inside, response.curves - strangers)


def _with_rest(response: Response, poles: np.ndarray, residues: np.ndarray) -> LinearPart:
    """These residues together with the residual terms that fit best."""
    columns = response.residual_columns()
    modes = synthesised(response, poles, LinearPart(residues, np.zeros((columns.shape[1], len(response.curves)))))
    root = response.root_weight[:, None]
    sizes = np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
    found = np.linalg.lstsq(columns / sizes * root, (response.curves - modes).T * root, rcond=None)[0]
    return LinearPart(residues, found / sizes[:, None])
