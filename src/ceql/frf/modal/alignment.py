"""Modes whose frequency differs between points, as when a roving sensor adds its mass in a different place each time.

Common poles then describe one mode by two or three close poles. Two models of the surrounding curves are compared:
several common poles, or one pole for each point, which has hardly fewer parameters. If the latter explains more, the
mode is moved at each point to the average pole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.refinement import Refined, refined
from ceql.frf.modal.response import LinearPart, Response, linear_part, synthesised
from ceql.frf.modal.windows import inside_of, window_of

_FEWEST_POINTS = 3
_FARTHEST = 3.0  # half widths by which the pole of a point may differ from the common one


@dataclass(frozen=True)
class Scatter:
    """A mode whose poles differ between points: the common pole and the relative scatter of the frequencies.

    Further, the standard errors of the common frequency in Hz and of the logarithm of the common decay rate.
    """

    pole: complex
    relative: float
    frequency_error: float
    log_rate_error: float


def aligned(
    response: Response, poles: np.ndarray, part: LinearPart, policy: ModalPolicy
) -> tuple[Response, tuple[Scatter, ...]]:
    """The response with such modes moved to their common poles, and these modes; unchanged if there are none."""
    found = []
    curves = response.curves
    if len(curves) >= _FEWEST_POINTS:
        for group in _close(poles):
            own = _poles_of_points(response, poles, part, group, policy)
            if own is not None:
                scatter, correction = own
                found.append(scatter)
                curves = curves - correction
    return replace(response, curves=curves), tuple(found)


def _close(poles: np.ndarray) -> list[np.ndarray]:
    """Groups of poles that lie within each other's widths."""
    order = np.argsort(np.imag(poles))
    rate = -np.real(poles)[order]
    near = np.diff(np.imag(poles)[order]) < rate[1:] + rate[:-1]
    return [group for group in np.split(order, np.flatnonzero(~near) + 1) if len(group) > 1]


def _poles_of_points(
    response: Response, poles: np.ndarray, part: LinearPart, group: np.ndarray, policy: ModalPolicy
) -> tuple[Scatter, np.ndarray] | None:
    inside = inside_of(response, poles[group], policy)
    window = window_of(response, poles, part, group, inside)
    together = refined(window, poles[group], policy.steps)
    middle = _weighted(poles[group], np.linalg.norm(part.residues[group] / response.noise, axis=1) ** 2)
    single = [refined(_of_point(window, k), np.array([middle]), policy.steps) for k in range(len(window.curves))]
    if not _explain_more(single, together, policy):
        return None
    residues = np.array(
        [linear_part(_of_point(window, k), fit.poles, fit.coefficients).residues[0, 0] for k, fit in enumerate(single)]
    )
    own = np.array([fit.poles[0] for fit in single])
    weight = np.abs(residues / response.noise / np.real(own)) ** 2
    common = _weighted(own, weight)
    near = np.abs(own - common) < _FARTHEST * -common.real
    common = _weighted(own[near], weight[near])
    correction = np.zeros_like(response.curves)
    for k in map(int, np.flatnonzero(near)):
        one = _of_point(response, k)
        rest = np.zeros((one.residual_columns().shape[1], 1))
        both = [synthesised(one, np.array([p]), LinearPart(residues[[[k]]], rest)) for p in (own[k], common)]
        correction[k] = (both[0] - both[1])[0]
    return _scatter(common, own[near], weight[near]), correction


def _of_point(response: Response, k: int) -> Response:
    return replace(response, curves=response.curves[[k]], noise=response.noise[[k]])


def _explain_more(single: list[Refined], together: Refined, policy: ModalPolicy) -> bool:
    """Whether one pole per point is the better model, given the number of parameters of both."""
    points, m = len(single), len(together.poles)
    further = 2 * m + 2 * m * points - 4 * points
    count = together.residual.size
    squares = max(sum(fit.squares for fit in single), np.finfo(float).tiny)
    loss = np.log(squares) - np.log(max(together.squares, np.finfo(float).tiny))
    return bool(count * loss < policy.price * further * np.log(count))


def _weighted(poles: np.ndarray, weight: np.ndarray) -> complex:
    rate = np.exp(np.average(np.log(-np.real(poles)), weights=weight))
    return complex(-rate, np.average(np.imag(poles), weights=weight))


def _scatter(common: complex, own: np.ndarray, weight: np.ndarray) -> Scatter:
    effective = max(float(weight.sum() ** 2 / np.sum(weight**2)), 1.0)
    of_frequency = np.sqrt(np.average((np.imag(own) - common.imag) ** 2, weights=weight))
    of_rate = np.sqrt(np.average(np.log(np.real(own) / common.real) ** 2, weights=weight))
    root = np.sqrt(effective)
    return Scatter(common, float(of_frequency / abs(common)), float(of_frequency / root), float(of_rate / root))
