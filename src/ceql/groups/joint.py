"""Least squares over the rows of all groups at once: shared constants and a block of constants for each group.

The Jacobian is an arrow: blocks on the diagonal, beside columns for the shared constants. Each group's block is reduced
to a small triangle by a QR decomposition, which eliminates the constants of that group. The remaining rows of all
groups are solved for the shared constants, and back-substitution yields the others. A step therefore costs as much as
separate fits of all groups, and the condition number is never squared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.catalogue.law import Law
from ceql.catalogue.separable import Rows, evaluated

Array = np.ndarray
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-12, 1e10
_EASED, _RAISED = 0.1, 8.0  # factors of the damping after a step that helped and one that did not
_STANDS_STILL = 1e-9  # relative gain of a step below which the fit has converged
_ROUNDING = 1e-31  # share of the sum of squares below which a misfit is rounding error
_LARGEST = 1e150  # largest derivative that can be computed with
_NOTHING = 1e-13  # of a column of length one: below this, the rows do not determine the constant
_LOOSE = 1e-6  # share of a constant in a direction that no row determines
_KEPT = 0.1  # share of the distance to an open bound that remains after a step across it


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of a law's constants: `above` and `below` are only approached, `low` and `high` may be reached."""

    above: Array
    below: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, law: Law, low: Array | None = None, high: Array | None = None) -> Bounds:
        above = np.array([-np.inf if c.above is None else c.above for c in law.constants])
        below = np.array([np.inf if c.below is None else c.below for c in law.constants])
        open_end = np.full(len(above), np.inf)
        return cls(above, below, -open_end if low is None else low, open_end if high is None else high)

    def within(self, values: Array, step: Array) -> Array:
        """Where a step from these values ends once the bounds are respected."""
        there = values + step
        there = np.where(there <= self.above, self.above + _KEPT * (values - self.above), there)
        there = np.where(there >= self.below, self.below - _KEPT * (self.below - values), there)
        return np.clip(there, self.low, self.high)

    def holds_back(self, values: Array, downhill: Array) -> Array:
        """Which constants lie on a bound that a downhill step would cross."""
        return ((values <= self.low) & (downhill < 0.0)) | ((values >= self.high) & (downhill > 0.0))


@dataclass(frozen=True, eq=False)
class JointFit:
    """The constants of every group, with equal values for shared ones, and the weighted sum of squares."""

    values: Array  # (groups, constants)
    own: tuple[bool, ...]
    misfit: float

    @property
    def count(self) -> int:
        """The number of constants in total."""
        return sum(len(self.values) if own else 1 for own in self.own)


def residuals(law: Law, rows: Rows, values: Array) -> Array:
    fitted, _ = evaluated(law, rows, values, ())
    with np.errstate(all="ignore"):
        return np.where(rows.root_weight > 0.0, (rows.y - fitted) * rows.root_weight, 0.0)


def misfit_of(law: Law, rows: Rows, values: Array) -> float:
    """The weighted sum of squares; infinite if the law is undefined in some row."""
    with np.errstate(all="ignore"):
        total = float(np.sum(residuals(law, rows, values) ** 2))
    return total if np.isfinite(total) else np.inf


@np.errstate(all="ignore")
def fitted(
    law: Law,
    rows: Rows,
    start: Array,
    own: tuple[bool, ...],
    steps: int,
    bounds: Bounds,
    still: float = _STANDS_STILL,
) -> JointFit:
    """Fits a law by Levenberg-Marquardt from `start`, which has one row for each group; the misfit never grows.

    Shared constants begin at the median of their starting values. The fit ends when a step lowers the misfit by no more
    than the share `still`.
    """
    mask = np.array(own, bool)
    values = np.clip(np.where(mask, start, np.median(start, axis=0)), bounds.low, bounds.high)
    best = misfit_of(law, rows, values)
    least = _ROUNDING * float(np.sum((rows.y * rows.root_weight) ** 2))
    damping = _FIRST_DAMPING
    arrow: _Arrow | None = None
    for _ in range(steps):
        if not least < best < np.inf or damping > _MOST_DAMPING:
            break
        arrow = arrow or _Arrow.of(law, rows, values, mask, bounds)
        if arrow is None:
            break
        trial = bounds.within(values, arrow.step(damping))
        misfit = misfit_of(law, rows, trial)
        if not misfit < best:
            damping *= _RAISED
            continue
        is_still = misfit > (1.0 - still) * best
        values, best, arrow = trial, misfit, None
        damping = max(damping * _EASED, _LEAST_DAMPING)
        if is_still:
            break
    return JointFit(values, own, best)


@dataclass(frozen=True, eq=False)
class _Arrow:
    """The Jacobian at given constants, as one triangle per group: per-group columns, shared columns, residual."""

    triangles: Array  # (groups, constants + 1, constants + 1)
    scale: Array  # (groups, constants) by which the columns were divided
    own: Array

    @classmethod
    def of(cls, law: Law, rows: Rows, values: Array, own: Array, bounds: Bounds) -> _Arrow | None:
        count = len(law.constants)
        fixed, slopes = evaluated(law, rows, values, range(count))
        real = rows.root_weight > 0.0
        residual = np.where(real, (rows.y - fixed) * rows.root_weight, 0.0)
        jacobian = np.where(real[..., None], slopes * rows.root_weight[..., None], 0.0)
        if not (np.abs(jacobian) < _LARGEST).all():
            return None
        downhill = np.einsum("gnk,gn->gk", jacobian, residual)
        downhill = np.where(own, downhill, downhill.sum(axis=0))
        jacobian = np.where(bounds.holds_back(values, downhill)[:, None, :], 0.0, jacobian)
        squares = np.sum(jacobian**2, axis=1)
        scale = np.sqrt(np.where(own, squares, squares.sum(axis=0)))
        scale[scale == 0.0] = 1.0
        order = np.concatenate([np.flatnonzero(own), np.flatnonzero(~own)])
        columns = np.concatenate([(jacobian / scale[:, None, :])[:, :, order], residual[..., None]], axis=2)
        triangles = np.asarray(np.linalg.qr(columns, mode="r"))
        short = count + 1 - triangles.shape[1]
        if short > 0:
            triangles = np.concatenate([triangles, np.zeros((len(values), short, count + 1))], axis=1)
        return cls(triangles, scale, own)

    def step(self, damping: float) -> Array:
        """The step that minimises the linearised misfit plus the damped squares of the step, in scaled columns."""
        groups, size = self.triangles.shape[0], self.triangles.shape[2]
        mine = int(self.own.sum())
        shared = size - 1 - mine
        pull = np.zeros((groups, mine, size))
        pull[:, :, :mine] = np.sqrt(damping) * np.eye(mine)
        folded = np.asarray(np.linalg.qr(np.concatenate([self.triangles, pull], axis=1), mode="r"))
        rest = folded[:, mine:, mine:].reshape(-1, shared + 1)
        together = _damped(rest[:, :shared], rest[:, shared], damping)
        top = folded[:, :mine, :mine]
        diagonal = np.einsum("gkk->gk", top)
        loose = np.abs(diagonal) <= _NOTHING
        top = np.where(loose[:, :, None], np.eye(mine), top)
        right = folded[:, :mine, -1] - folded[:, :mine, mine:-1] @ together
        alone = np.linalg.solve(top, np.where(loose, 0.0, right)[:, :, None])[:, :, 0] if mine else right
        step = np.empty((groups, size - 1))
        step[:, self.own], step[:, ~self.own] = alone, together
        return step / self.scale


def _damped(matrix: Array, right: Array, damping: float) -> Array:
    if not matrix.shape[1]:
        return np.zeros(0)
    u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)
    supported = sigma > _NOTHING * max(float(sigma[0]), 1e-300)
    gains = np.where(supported, sigma / np.where(supported, sigma**2 + damping, 1.0), 0.0)
    return vt.T @ (gains * (u.T @ right))


# ---- errors ---------------------------------------------------------------------------------------------------------


@np.errstate(all="ignore")
def covariance(law: Law, rows: Rows, fit: JointFit, noise: float | None = None) -> Array:
    """The covariance of all constants: the shared ones first, then those of one group after another.

    `noise` is the variance of a row of weight one, if known; otherwise it is estimated from the residuals.
    """
    own = np.array(fit.own, bool)
    bounds = Bounds.of(law)
    arrow = _Arrow.of(law, rows, fit.values, own, bounds)
    count = fit.count
    if arrow is None:
        return np.full((count, count), np.inf)
    groups, mine, shared = len(fit.values), int(own.sum()), int((~own).sum())
    matrix = np.zeros((groups, arrow.triangles.shape[1], count))
    matrix[:, :, :shared] = arrow.triangles[:, :, mine:-1] * arrow.scale[:, None, ~own]
    for group in range(groups):
        first = shared + group * mine
        matrix[group, :, first : first + mine] = arrow.triangles[group, :, :mine] * arrow.scale[group, own]
    freedom = int((rows.root_weight > 0.0).sum()) - count
    known = fit.misfit / freedom if noise is None and freedom > 0 else np.inf if noise is None else noise
    return known * _inverse(matrix.reshape(-1, count))


def _inverse(matrix: Array) -> Array:
    """The inverse of the normal matrix; infinite variance for constants in directions that no row determines."""
    scale = np.linalg.norm(matrix, axis=0)
    idle = scale == 0.0
    scale[idle] = 1.0
    _, sigma, vt = np.linalg.svd(matrix / scale, full_matrices=False)
    supported = sigma > _NOTHING * max(float(sigma[0]), 1e-300)
    inverse = (vt[supported].T / sigma[supported] ** 2) @ vt[supported] / np.outer(scale, scale)
    loose = idle | (np.abs(vt[~supported]) > _LOOSE).any(axis=0)
    inverse[loose, :] = inverse[:, loose] = 0.0
    inverse[loose, loose] = np.inf
    return inverse


def errors_of(fit: JointFit, covariances: Array) -> Array:
    """Standard errors, arranged like the values: (groups, constants)."""
    own = np.array(fit.own, bool)
    errors = np.sqrt(np.abs(np.diag(covariances)))
    table = np.empty(fit.values.shape)
    shared = int((~own).sum())
    table[:, ~own] = errors[:shared]
    table[:, own] = errors[shared:].reshape(len(table), -1)
    return table
