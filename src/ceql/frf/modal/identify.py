"""Identifies the modes of the curves of several points: adds poles while they pay, refining all of them each time.

Candidate poles come from the polynomials of all orders, from the places with the largest residuals, and from the
current poles, each of which may stand for two close ones. The price of a mode is that of its pole and of a residue for
each point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ceql.frf.modal.alignment import Scatter, aligned
from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.polynomial import Diagram, stabilisation
from ceql.frf.modal.refinement import Refined, refined, solved
from ceql.frf.modal.response import LinearPart, Response, design, linear_part, pole_of
from ceql.frf.modal.shapes import mac
from ceql.frf.modal.windows import Uncertainty, inside_of, leaves_noise, likeness, refined_in_windows, window_of

_OFFERS_PER_BAND = 400  # the band is divided into this many cells, in which candidate poles count as equal
_TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Identified:
    """The modes of one set of curves, ordered by frequency."""

    response: Response
    poles: np.ndarray
    part: LinearPart
    errors: Uncertainty
    diagram: Diagram | None = None
    scattered: tuple[Scatter, ...] = ()  # modes whose frequency differs from point to point

    @property
    def shapes(self) -> np.ndarray:
        """The residues (m, p)."""
        return self.part.residues


def identify(response: Response, policy: ModalPolicy) -> Identified:
    """The modes that the curves support, after aligning those whose poles differ between points."""
    found = _supported(response, policy)
    known: tuple[Scatter, ...] = ()
    for _ in range(policy.alignments):
        curves, scattered = aligned(found.response, found.poles, found.part, policy)
        if not scattered:
            break
        known = (*known, *scattered)
        found = _supported(curves, policy)
    if not known:
        return found
    return replace(found, response=response, errors=_with_scatter(found, known), scattered=known)


def _with_scatter(found: Identified, known: tuple[Scatter, ...]) -> Uncertainty:
    """The standard errors, increased for aligned modes by the scatter between points."""
    frequency, log_rate = found.errors.frequency.copy(), found.errors.log_rate.copy()
    for scatter in known:
        k = int(np.argmin(np.abs(found.poles - scatter.pole)))
        frequency[k] = np.hypot(frequency[k], scatter.frequency_error)
        log_rate[k] = np.hypot(log_rate[k], scatter.log_rate_error)
    return Uncertainty(frequency, log_rate)


def _supported(response: Response, policy: ModalPolicy) -> Identified:
    diagram = stabilisation(response, policy)
    few = response.thinned(policy.search_points)
    begun = diagram.recurring(policy)[: policy.most_modes]
    here = _separated(few, refined(few, begun, policy.steps), policy)
    while len(here.poles) < policy.most_modes:
        added = _with_another(few, here, diagram, policy)
        if added is None:
            break
        here = added
    here = _without_idle(few, refined(few, here.poles, policy.steps), policy)
    return finished(response, here.poles, diagram, policy)


def finished(response: Response, poles: np.ndarray, diagram: Diagram | None, policy: ModalPolicy) -> Identified:
    """The poles refined on the whole band and then each in its own window, sorted, with their residues.

    If thinned curves are described down to their noise, all frequencies are used; otherwise the windows decide.
    """
    few = response.thinned(policy.search_points)
    whole = refined(few, poles, policy.steps)
    ordered = whole.poles[np.argsort(np.abs(whole.poles))]
    if len(few.frequency) < len(response.frequency) and leaves_noise(few, whole, policy):
        ordered = refined(response, ordered, policy.last_steps).poles
    poles, part, errors = refined_in_windows(response, solved(response, ordered), policy)
    order = np.argsort(np.abs(poles))
    errors = Uncertainty(errors.frequency[order], errors.log_rate[order])
    return Identified(response, poles[order], LinearPart(part.residues[order], part.rest), errors, diagram)


def pays(larger: Refined, smaller: Refined, independent: float, policy: ModalPolicy) -> bool:
    """Whether the larger fit explains enough for its additional parameters, given this number of independent values."""
    further = 2 * (len(larger.poles) - len(smaller.poles)) + larger.coefficients.size - smaller.coefficients.size
    gain = np.log(max(smaller.squares, _TINY)) - np.log(max(larger.squares, _TINY))
    return bool(independent * gain > policy.price * further * np.log(independent))


def _with_another(response: Response, here: Refined, diagram: Diagram, policy: ModalPolicy) -> Refined | None:
    """The fit with the best additional pole, or None if none pays."""
    offers = _offers(response, here, diagram)
    gains = _gains(response, here, offers)
    part = linear_part(response, here.poles, here.coefficients)
    for offer in offers[np.argsort(-gains, kind="stable")[: policy.tried]]:
        start = _settled_nearby(response, here.poles, part, offer, policy)
        tried = refined(response, start, policy.trial_steps)
        # permissive, since the number of independent values is uncertain while modes are missing
        enough = tried.squares < (1.0 - policy.least_gain) * here.squares
        if enough and pays(tried, here, tried.residual.size, policy) and _is_sound(response, tried, policy):
            return tried
    return None


def _settled_nearby(
    response: Response, poles: np.ndarray, part: LinearPart, offer: complex, policy: ModalPolicy
) -> np.ndarray:
    """The poles with an additional one, after it and its neighbours were refined in a window, which costs little.

    Wide poles converge from farther away, so the best of several widths is taken.
    """
    together = np.append(poles, offer)
    residues = np.concatenate([part.residues, np.zeros((1, part.residues.shape[1]))])
    near = np.abs(np.imag(together) - offer.imag) < policy.reach * -offer.real
    group = np.flatnonzero(near)
    fits = []
    for factor in policy.widening:
        together[-1] = complex(factor * offer.real, offer.imag)
        inside = inside_of(response, together[group], policy)
        window = window_of(response, together, LinearPart(residues, part.rest), group, inside)
        fits.append(refined(window, together[group], policy.steps))
    together[group] = min(fits, key=lambda fit: fit.squares / fit.residual.size).poles
    return together


def _is_sound(response: Response, fit: Refined, policy: ModalPolicy) -> bool:
    """Whether all poles are near the band and none is doubled."""
    low, high = response.frequency[0], response.frequency[-1]
    reach = policy.beyond_band * (high - low)
    inside = (np.imag(fit.poles) > low - reach) & (np.imag(fit.poles) < high + reach)
    return bool(inside.all()) and not doubled(fit, policy).any()


def doubled(fit: Refined, policy: ModalPolicy) -> np.ndarray:
    """Pairs (m, m) of poles within each other's width that have similar shapes, and so describe the same mode.

    With a single point all shapes are equal, so two modes must be farther apart than their widths.
    """
    m = len(fit.poles)
    pairs = fit.coefficients[: 2 * m].reshape(m, 2, -1)
    shapes = pairs[:, 0] + 1j * pairs[:, 1]
    rate = -np.real(fit.poles)
    near = np.abs(np.imag(fit.poles)[:, None] - np.imag(fit.poles)) < rate[:, None] + rate
    return np.triu(near & (mac(shapes, shapes) > policy.same_shape), 1)


def _separated(response: Response, here: Refined, policy: ModalPolicy) -> Refined:
    """The fit after removing the weaker of two poles that describe the same mode."""
    while len(here.poles) > 1:
        pairs = np.argwhere(doubled(here, policy))
        if not len(pairs):
            break
        fits = [solved(response, np.delete(here.poles, k)) for k in pairs[0]]
        here = refined(response, min(fits, key=lambda fit: fit.squares).poles, policy.steps)
    return here


def _offers(response: Response, here: Refined, diagram: Diagram) -> np.ndarray:
    """Candidate poles, without near duplicates."""
    low, high = response.frequency[0], response.frequency[-1]
    step = float(np.median(np.diff(response.frequency)))
    split = [pole + sign * 1j * pole.real for pole in here.poles for sign in (-1.0, 1.0)]
    narrow = [complex(pole.real / 3.0, pole.imag) for pole in here.poles]
    largest = response.frequency[_largest_places(here.residual, len(response.frequency))]
    width = np.maximum(0.005 * largest, step)
    pool = np.concatenate([pole_of(diagram.frequency, diagram.damping), split, narrow, -width + 1j * largest])
    pool = pool[(np.imag(pool) > 0) & (np.real(pool) < 0)]
    cell = (high - low) / _OFFERS_PER_BAND
    keys = np.stack(
        [np.round(np.imag(pool) / np.maximum(-np.real(pool), cell)), np.round(2.0 * np.log(-np.real(pool)))], axis=1
    )
    _, first = np.unique(keys, axis=0, return_index=True)
    return pool[np.sort(first)]


def _largest_places(residual: np.ndarray, n: int, count: int = 5) -> np.ndarray:
    power = np.sum(residual[:n] ** 2 + residual[n:] ** 2, axis=1)
    peaks = np.flatnonzero((power[1:-1] >= power[:-2]) & (power[1:-1] > power[2:])) + 1
    return peaks[np.argsort(-power[peaks], kind="stable")[:count]]


def _gains(response: Response, here: Refined, offers: np.ndarray) -> np.ndarray:
    """How much each pole alone would reduce the sum of squares with the other poles fixed."""
    rest = response.residual_columns().shape[1] * 2
    columns = design(response, offers)
    columns = columns[:, : columns.shape[1] - rest] if rest else columns
    columns = columns - here.basis @ (here.basis.T @ columns)
    gains = np.zeros(len(offers))
    for k in range(len(offers)):
        own, _ = np.linalg.qr(columns[:, 2 * k : 2 * k + 2])
        gains[k] = np.sum((own.T @ here.residual) ** 2)
    return gains


def _without_idle(response: Response, here: Refined, policy: ModalPolicy) -> Refined:
    """The fit without poles whose removal costs less than their price.

    Each is judged within its own window, since misfit elsewhere is not due to it.
    """
    while len(here.poles) > 1:
        fewer = [solved(response, np.delete(here.poles, k)) for k in range(len(here.poles))]
        margins = [_margin(response, here, fewer[k], k, policy) for k in range(len(fewer))]
        weakest = int(np.argmin(margins))
        if margins[weakest] > 0.0:
            break
        without = refined(response, fewer[weakest].poles, policy.steps)
        if _margin(response, here, without, weakest, policy) > 0.0:
            break
        here = without
    return here


def _margin(response: Response, here: Refined, without: Refined, pole: int, policy: ModalPolicy) -> float:
    """What a pole explains within its window, minus its price."""
    inside = np.tile(inside_of(response, here.poles[[pole]], policy), 2)
    own, other = here.residual[inside], without.residual[inside]
    independent = max(own.size / likeness(own, len(own) // 2), 8.0)
    gain = np.log(max(float(np.sum(other**2)), _TINY)) - np.log(max(float(np.sum(own**2)), _TINY))
    further = 2 + 2 * own.shape[1]
    return float(independent * gain - policy.price * further * np.log(independent))
