"""Separable least squares from many starts at once: linear constants are eliminated, the others found by steps.

A law that is not linear in the constants p has the values g(p) + B(p) c with linear constants c. An orthogonal
decomposition of B yields c in each evaluation, so that Levenberg-Marquardt only has to find p. It uses Kaufman's
Jacobian: the derivatives by p at fixed c, without their part in the span of B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.catalogue.law import Law
from ceql.data.dataset import Dataset
from ceql.operators.program import Tangent, run

Array = np.ndarray
_ONE = np.ones(())
_RANK = 1e-13  # share of the largest singular value below which a direction is not determined
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-2, 1e-14, 1e9
_EASED, _RAISED = 0.1, 6.0  # factors of the damping after a step that helped and one that did not
_STANDS_STILL = 1e-10  # relative gain of a step below which a fit has converged
_LARGEST = 1e150  # largest value or derivative that can be computed with
_NO_PROMISE = 1e-9  # a fit has converged if a linearised step would gain less than this share of the misfit
_ROUNDING = 1e-31  # share of the sum of squares below which a misfit is rounding error
_AS_LOW = 1e-9  # misfits with a smaller relative difference count as equal
_RIDGE = 1e-11  # keeps the normal equations of a first look solvable


@dataclass(frozen=True, eq=False)
class Rows:
    """The table as a law sees it: columns in the law's order, the target and the square roots of the weights.

    If each start has its own rows, the first axis of all three arrays counts the starts.
    """

    x: Array  # (1 or starts, columns, rows)
    y: Array  # (rows,) or (starts, rows)
    root_weight: Array

    @classmethod
    def of(cls, data: Dataset, places: Sequence[int]) -> Rows:
        return cls(np.ascontiguousarray(data.x[:, list(places)].T)[None], data.y, np.sqrt(data.weight))


@dataclass(frozen=True, eq=False)
class Ends:
    """The current state of several fits, one row each: all constants in the law's order, and the weighted sum of
    squares."""

    constants: Array
    misfit: Array

    def best(self, most: int) -> Ends:
        """The fits with the lowest misfits; of equal ones only one, since they differ only in the order of equal
        terms."""
        order = np.argsort(self.misfit, kind="stable")
        misfit = self.misfit[order]
        new = np.concatenate([[True], misfit[1:] > (1.0 + _AS_LOW) * misfit[:-1]])
        order = order[new][:most]
        return Ends(self.constants[order], self.misfit[order])


@dataclass(frozen=True, eq=False)
class _Solved:
    """Fits with their linear constants solved for."""

    constants: Array
    residual: Array  # (starts, rows), weighted
    directions: Array  # orthonormal basis of what the linear constants can change
    misfit: Array

    def where(self, mine: Array, other: _Solved) -> _Solved:
        """These fits where the mask is set, the other ones elsewhere."""
        column, cube = mine[:, None], mine[:, None, None]
        return _Solved(
            np.where(column, self.constants, other.constants),
            np.where(column, self.residual, other.residual),
            np.where(cube, self.directions, other.directions),
            np.where(mine, self.misfit, other.misfit),
        )


@np.errstate(all="ignore")
def evaluated(law: Law, rows: Rows, constants: Array, wanted: Sequence[int]) -> tuple[Array, Array]:
    """Values (starts, rows) and derivatives (starts, rows, wanted) by some of the constants."""
    parameters = constants.T[:, :, None]
    tangents: list[Tangent] = []
    values = run(law.program.instructions, rows.x, parameters, tangents, wanted)
    shape = (len(constants), rows.y.shape[-1])
    slopes = np.zeros((*shape, len(wanted)))
    for k, place in enumerate(wanted):
        slopes[:, :, k] = tangents[-1].get(place, 0.0)
    return np.broadcast_to(values, shape), slopes


def _basis(law: Law, rows: Rows, constants: Array) -> tuple[Array, Array, Array]:
    """The weighted target minus the fixed part, the weighted basis, and which starts are defined on every row."""
    fixed, basis = evaluated(law, rows, constants, law.linear)
    target = (rows.y - fixed) * rows.root_weight
    basis = basis * rows.root_weight[..., None]
    defined = np.all(np.abs(target) < _LARGEST, axis=1) & np.all(np.abs(basis) < _LARGEST, axis=(1, 2))
    return np.where(defined[:, None], target, 0.0), np.where(defined[:, None, None], basis, 0.0), defined


def _without_linear(law: Law, nonlinear: Array) -> Array:
    constants = np.zeros((len(nonlinear), len(law.constants)))
    constants[:, law.nonlinear] = nonlinear
    return constants


@np.errstate(all="ignore")
def first_look(law: Law, rows: Rows, nonlinear: Array) -> Ends:
    """Misfits at starting values by the normal equations, which are quick but lose half the digits."""
    constants = _without_linear(law, nonlinear)
    target, basis, defined = _basis(law, rows, constants)
    scale = np.linalg.norm(basis, axis=1, keepdims=True)
    scale[~((scale > 0.0) & np.isfinite(scale))] = 1.0
    basis = basis / scale
    if law.linear:
        turned = np.swapaxes(basis, 1, 2)
        gram = turned @ basis + _RIDGE * np.eye(len(law.linear))
        solved = np.linalg.solve(gram, turned @ target[:, :, None])
        constants[:, law.linear] = (solved / np.swapaxes(scale, 1, 2))[:, :, 0]
        target = target - (basis @ solved)[:, :, 0]
    return Ends(constants, _sums(target, defined))


def _sums(residual: Array, defined: Array) -> Array:
    misfit = np.einsum("sn,sn->s", residual, residual)
    return np.where(defined & np.isfinite(misfit), misfit, np.inf)


def _solve(law: Law, rows: Rows, nonlinear: Array) -> _Solved:
    constants = _without_linear(law, nonlinear)
    target, basis, defined = _basis(law, rows, constants)
    if not law.linear:
        return _Solved(constants, target, basis, _sums(target, defined))
    scale = np.linalg.norm(basis, axis=1, keepdims=True)
    scale[~((scale > 0.0) & np.isfinite(scale))] = 1.0
    q, triangle = np.linalg.qr(basis / scale)
    u, sigma, vt = np.linalg.svd(triangle)
    supported = sigma > _RANK * np.maximum(sigma[:, :1], 1e-300)
    directions = (q @ u) * supported[:, None, :]
    along = np.einsum("snm,sn->sm", directions, target)
    gains = along / np.where(supported, sigma, 1.0)
    constants[:, law.linear] = np.einsum("smk,sm->sk", vt, gains) / scale[:, 0]
    residual = target - np.einsum("snm,sm->sn", directions, along)
    # Project once more, to remove what rounding left behind.
    residual = residual - np.einsum("snm,sm->sn", directions, np.einsum("snm,sn->sm", directions, residual))
    return _Solved(constants, residual, directions, _sums(residual, defined))


# ---- bounds: steps are made in coordinates without bounds -----------------------------------------------------------


def _free(law: Law, values: Array) -> Array:
    columns = []
    for k, place in enumerate(law.nonlinear):
        above, below, value = law.constants[place].above, law.constants[place].below, values[:, k]
        if above is not None and below is not None:
            columns.append(np.log((value - above) / (below - value)))
        elif above is not None:
            columns.append(np.log(value - above))
        else:
            columns.append(value if below is None else -np.log(below - value))
    return np.stack(columns, axis=1)


def _bounded(law: Law, free: Array) -> tuple[Array, Array]:
    """The constants, and their derivatives by the unbounded coordinates."""
    values, slopes = np.empty_like(free), np.empty_like(free)
    for k, place in enumerate(law.nonlinear):
        above, below, u = law.constants[place].above, law.constants[place].below, free[:, k]
        if above is not None and below is not None:
            share = 1.0 / (1.0 + np.exp(-u))
            values[:, k], slopes[:, k] = above + (below - above) * share, (below - above) * share * (1.0 - share)
        elif above is not None:
            values[:, k], slopes[:, k] = above + np.exp(u), np.exp(u)
        elif below is not None:
            values[:, k], slopes[:, k] = below - np.exp(-u), np.exp(-u)
        else:
            values[:, k], slopes[:, k] = u, 1.0
    return values, slopes


# ---- steps ----------------------------------------------------------------------------------------------------------


@np.errstate(all="ignore")
def descend(law: Law, rows: Rows, constants: Array, steps: int) -> Ends:
    """Levenberg-Marquardt from each row of constants; the misfit of each fit never grows."""
    nonlinear = constants[:, law.nonlinear]
    now = _solve(law, rows, nonlinear)
    if not law.nonlinear:
        return Ends(now.constants, now.misfit)
    free = _free(law, nonlinear)
    damping = np.full(len(free), _FIRST_DAMPING)
    least = _ROUNDING * np.sum((rows.y * rows.root_weight) ** 2, axis=-1)
    moving = np.isfinite(now.misfit)
    for _ in range(steps):
        step, promise = _steps(law, rows, now, free, damping)
        moving = moving & (promise > _NO_PROMISE * now.misfit) & (now.misfit > least)
        if not moving.any():
            break
        trial = _solve(law, rows, _bounded(law, free + step)[0])
        helped = moving & (trial.misfit < now.misfit)
        still = helped & (trial.misfit > (1.0 - _STANDS_STILL) * now.misfit)
        now, free = trial.where(helped, now), np.where(helped[:, None], free + step, free)
        damping = np.where(helped, np.maximum(damping * _EASED, _LEAST_DAMPING), damping * _RAISED)
        moving = moving & ~still & (damping < _MOST_DAMPING)
    return Ends(now.constants, now.misfit)


def _steps(law: Law, rows: Rows, now: _Solved, free: Array, damping: Array) -> tuple[Array, Array]:
    """Damped Gauss-Newton steps in the unbounded coordinates, and the gain that the linearised law predicts for each
    fit.

    The step is zero where a derivative is not finite.
    """
    _, slopes = evaluated(law, rows, now.constants, law.nonlinear)
    jacobian = slopes * rows.root_weight[..., None] * _bounded(law, free)[1][:, None, :]
    usable = np.all(np.abs(jacobian) < _LARGEST, axis=(1, 2))
    jacobian = np.where(usable[:, None, None], jacobian, 0.0)
    if law.linear:
        turned = np.swapaxes(now.directions, 1, 2)
        jacobian = jacobian - now.directions @ (turned @ jacobian)
    scale = np.linalg.norm(jacobian, axis=1, keepdims=True)
    scale[~((scale > 0.0) & np.isfinite(scale))] = 1.0
    q, triangle = np.linalg.qr(jacobian / scale)
    u, sigma, vt = np.linalg.svd(triangle)
    supported = sigma > _RANK * np.maximum(sigma[:, :1], 1e-300)
    along = np.einsum("snm,sn->sm", q @ u, now.residual) * supported
    gains = np.where(supported, sigma / np.where(supported, sigma**2 + damping[:, None], 1.0), 0.0) * along
    return np.einsum("smk,sm->sk", vt, gains) / scale[:, 0], np.einsum("sm,sm->s", along, along)


def allowed(law: Law, ends: Ends) -> Ends:
    """The fits, with an infinite misfit where constants are not finite or break the bounds of the law."""
    keeps = [bool(np.isfinite(row).all()) and law.allows(row) for row in ends.constants]
    return replace(ends, misfit=np.where(keeps, ends.misfit, np.inf))
