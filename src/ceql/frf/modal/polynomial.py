"""Poles from common denominators of increasing order: least squares in the complex frequency domain.

The band is mapped onto an arc of the unit circle, where numerator and denominator are polynomials with complex
coefficients. Numerators are eliminated, so that one small matrix for the denominator serves all orders. Its lowest
coefficient is fixed at one, since poles that only follow noise then grow in time, by which they are recognised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.response import Response, frequency_and_damping, pole_of


@dataclass(frozen=True, eq=False)
class Diagram:
    """A stabilisation diagram: for each pole its order, frequency in Hz, damping ratio, and whether it is stable.

    A pole is stable if the previous order has one with nearly the same frequency and damping.
    """

    order: np.ndarray
    frequency: np.ndarray
    damping: np.ndarray
    stable: np.ndarray

    @property
    def orders(self) -> np.ndarray:
        return np.unique(self.order)

    def recurrence(self, frequency: float, policy: ModalPolicy) -> float:
        """The share of the upper half of the orders that have a pole at this frequency."""
        orders = self.orders[len(self.orders) // 2 :]
        near = np.abs(self.frequency - frequency) < policy.same_frequency * frequency
        return float(np.isin(orders, self.order[near]).mean()) if len(orders) else 0.0

    def recurring(self, policy: ModalPolicy) -> np.ndarray:
        """The stable poles that recur in the upper half of the orders, the most frequent ones first."""
        upper = self.stable & (self.order >= np.median(self.orders)) if len(self.order) else np.zeros(0, bool)
        place = np.argsort(self.frequency[upper], kind="stable")
        frequency, damping, order = (own[upper][place] for own in (self.frequency, self.damping, self.order))
        if not len(frequency):
            return np.zeros(0, dtype=complex)
        cuts = np.flatnonzero(np.diff(frequency) > policy.same_cluster * frequency[1:]) + 1
        groups = np.split(np.arange(len(frequency)), cuts)
        wanted = policy.recurs * len(self.orders) / 2.0
        often = sorted((g for g in groups if len(set(order[g])) >= wanted), key=lambda g: -len(set(order[g])))
        poles = [pole_of(np.median(frequency[g]), np.median(damping[g])) for g in often]
        return np.array(poles, dtype=complex)


def stabilisation(response: Response, policy: ModalPolicy) -> Diagram:
    """The poles of every order that decay and lie in or near the band."""
    matrix, step, low = _denominator_matrix(_principal(response, policy), policy)
    rows: list[tuple[int, float, float, bool]] = []
    before = np.zeros((2, 0))
    for order in range(1, len(matrix)):
        found = _poles(matrix[: order + 1, : order + 1], step, low)
        natural, damping = frequency_and_damping(found)
        band = response.frequency[-1] - response.frequency[0]
        beyond = policy.beyond_band * band
        inside = (np.imag(found) > response.frequency[0] - beyond) & (np.imag(found) < response.frequency[-1] + beyond)
        kept = inside & (damping > 0) & (damping < policy.highest_damping) & (np.imag(found) > 0)
        now = np.array([natural[kept], damping[kept]])
        rows += [(order, f, z, _is_stable(f, z, before, policy)) for f, z in now.T]
        before = now
    table = np.array(rows, dtype=float).reshape(-1, 4)
    return Diagram(table[:, 0].astype(int), table[:, 1], table[:, 2], table[:, 3] > 0)


def _is_stable(frequency: float, damping: float, before: np.ndarray, policy: ModalPolicy) -> bool:
    close = np.abs(before[0] - frequency) < policy.same_frequency * frequency
    alike = np.abs(before[1] - damping) < policy.same_damping * damping
    return bool((close & alike).any())


def _principal(response: Response, policy: ModalPolicy) -> Response:
    """The response at fewer frequencies, with a few combinations of points in place of many, and the same poles."""
    few = response.thinned(policy.search_points)
    if len(few.curves) <= policy.components:
        return few
    scaled = few.curves / few.noise[:, None]
    left, _, _ = np.linalg.svd(scaled * few.root_weight, full_matrices=False)
    mixed = left[:, : policy.components].conj().T @ scaled
    return Response(few.frequency, mixed, few.weight, np.ones(len(mixed)), few.kind, few.residuals)


def _denominator_matrix(response: Response, policy: ModalPolicy) -> tuple[np.ndarray, float, float]:
    """The quadratic form of the denominator's coefficients, the angle of the arc per Hz, and where the arc begins."""
    n = len(response.frequency)
    order = int(min(policy.highest_order, max(2, n / policy.rows_per_order / 2)))
    low, high = response.frequency[0], response.frequency[-1]
    step = policy.arc / (high - low)
    z = np.exp(1j * step * (response.frequency - low))
    powers = z[:, None] ** np.arange(order + 1)
    basis, _ = np.linalg.qr(powers * response.root_weight[:, None])
    matrix = np.zeros((order + 1, order + 1), dtype=complex)
    for curve, noise in zip(response.curves, response.noise, strict=True):
        rows = powers * (curve / noise * response.root_weight)[:, None]
        rows -= basis @ (basis.conj().T @ rows)
        matrix += rows.conj().T @ rows
    return matrix, step, low


def _poles(matrix: np.ndarray, step: float, low: float) -> np.ndarray:
    """The roots, as poles in Hz, of the best denominator whose lowest coefficient is one."""
    rest = np.linalg.lstsq(matrix[1:, 1:], -matrix[1:, 0], rcond=None)[0]
    roots = np.roots(np.concatenate([rest[::-1], [1.0]]))
    roots = roots[np.abs(roots) > 0]
    turn = np.angle(roots) % (2.0 * np.pi)
    turn = np.where(turn > np.pi + np.pi / 2.0, turn - 2.0 * np.pi, turn)
    return np.log(np.abs(roots)) / step + 1j * (turn / step + low)
