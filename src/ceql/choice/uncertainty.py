"""How far a value of a formula may be from what would be measured: noise, constants, and formulas that disagree.

By the law of total variance the variance of a new measurement is that of the noise, plus the mean over the formulas
that compete, by their weights, of the variance that the errors of their constants bring and the square of their
distance from the value that is given. Formulas agree where there are data and part where there are none.

What no formula on the list says is allowed for as well: a straight line in the columns of the formula that could be
in the residuals without these rows showing it. It adds little among the rows and grows beyond them, also for a formula
without any constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ceql.choice.evidence import EVIDENCE, EvidencePolicy
from ceql.data.dataset import Dataset
from ceql.engine.one_thread import one_thread
from ceql.formula import Formula


@dataclass(frozen=True)
class UncertaintyPolicy:
    """The numbers behind an interval."""

    rows: int = 20_000  # rows of a long table used for the errors of constants, which are then scaled to all rows
    # A direction is determined by the rows if its singular value exceeds this share of the largest.
    supported: float = 1e-10
    # If more than this share of a value's derivatives lies in other directions, its error is infinite.
    new: float = 1e-6
    trend: float = 1e-6  # a straight line counts if more than this share of it is not part of the formula itself


UNCERTAINTY = UncertaintyPolicy()
_MANY = 10**9  # degrees of freedom, with which Student's distribution is the normal one


@dataclass(frozen=True, eq=False)
class Uncertain:
    """Values of a formula at some rows with the standard deviation of what would be measured there."""

    value: np.ndarray
    deviation: np.ndarray
    freedom: int  # rows less constants: what the size of the noise is known from

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """The bounds that hold with this probability, by Student's distribution: few rows leave the noise uncertain."""
        from scipy.special import stdtrit

        reach = stdtrit(max(self.freedom, 1), 0.5 + 0.5 * level) * self.deviation
        return self.value - reach, self.value + reach


@one_thread
@np.errstate(all="ignore")
def uncertain(
    formula: Formula,
    formulas: Sequence[Formula],
    weights: Sequence[float],
    data: Dataset,
    x: np.ndarray,
    policy: UncertaintyPolicy = UNCERTAINTY,
    evidence: EvidencePolicy = EVIDENCE,
) -> Uncertain:
    """Of `formula`, beside those that compete with it. Infinite where the rows say nothing about its constants."""
    few = data.thinned(policy.rows)
    own = _Fit(formula, few, len(data.y), policy)
    value, variance = own.at(x)
    total, weight = np.zeros(len(x)), np.zeros(len(x))
    for other, share in zip(formulas, weights, strict=False):
        if other is formula or share < evidence.competes:
            continue
        elsewhere, blur = _Fit(other, few, len(data.y), policy).at(x)
        square = blur + (elsewhere - value) ** 2
        known = np.isfinite(square)  # where a rival has no value it says nothing
        total += np.where(known, share * square, 0.0)
        weight += np.where(known, share, 0.0)
    own_share = np.maximum(1.0 - weight, evidence.competes)
    mixed = (own_share * variance + total) / (own_share + weight)
    return Uncertain(value, np.sqrt(own.noise + mixed), own.freedom)


class _Fit:
    """A formula with what the rows say about its constants."""

    def __init__(self, formula: Formula, data: Dataset, rows: int, policy: UncertaintyPolicy) -> None:
        form = formula.form
        self._program = formula.program
        self._constants = form.values
        self._data, self._policy, self._root = data, policy, np.sqrt(data.weight)
        used = [k for k, symbol in enumerate(formula.symbols) if symbol in formula.expression.free_symbols]
        self._used = [k for k in used if np.ptp(data.x[:, k]) > 0.0]
        value, jacobian = self._linearised(data.x)
        misfit = float(np.sum((self._root * (value - data.y)) ** 2)) * rows / len(data.y)
        self.freedom = rows - len(form.values)
        self.noise = misfit / self.freedom if self.freedom > 0 else np.inf
        if data.noise is not None:  # known as well as that of infinitely many rows
            self.noise, self.freedom = data.noise, _MANY
        self._jacobian = jacobian * self._root[:, None]
        self._known = len(data.y) / rows  # all rows know more than those that are looked at

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and their variances, the noise apart."""
        value, jacobian = self._linearised(x)
        leverage, explained = self._by_constants(jacobian)
        lines, there = self._lines(self._data.x) * self._root[:, None], self._lines(x)
        if len(lines) > len(self._constants) + lines.shape[1]:
            own = explained(lines)
            leverage = leverage + self._by_lines(lines - self._jacobian @ own, there - jacobian @ own, lines)
        return value, self.noise * self._known * leverage if self.noise > 0.0 else np.zeros(len(x))

    def _linearised(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, jacobian = self._program(x, self._constants)
        return np.broadcast_to(value, (len(x),)), np.broadcast_to(jacobian, (len(x), len(self._constants)))

    def _by_constants(self, jacobian: np.ndarray):
        """The leverage of new rows, and what finds the constants that explain a column best."""
        if not self._jacobian.shape[1]:
            return np.zeros(len(jacobian)), lambda columns: np.zeros((0, columns.shape[1]))
        if not np.isfinite(self._jacobian).all():
            return np.full(len(jacobian), np.inf), lambda columns: np.zeros((self._jacobian.shape[1], columns.shape[1]))
        scale = np.linalg.norm(self._jacobian, axis=0)
        scale[scale == 0.0] = 1.0
        u, sigma, vt = np.linalg.svd(self._jacobian / scale, full_matrices=False)
        supported = sigma > self._policy.supported * sigma[0]
        along = (jacobian / scale) @ vt.T
        leverage = np.sum((along[:, supported] / sigma[supported]) ** 2, axis=1)
        size = np.linalg.norm(along, axis=1)
        is_new = np.linalg.norm(along[:, ~supported], axis=1) > self._policy.new * size
        inverse = (vt[supported].T / sigma[supported]) @ u[:, supported].T
        return np.where(is_new, np.inf, leverage), lambda columns: (inverse @ columns) / scale[:, None]

    def _by_lines(self, left: np.ndarray, there: np.ndarray, lines: np.ndarray) -> np.ndarray:
        """The leverage of a straight line in the residuals, as far as the formula itself does not contain it."""
        if not np.isfinite(left).all():
            return np.zeros(len(there))
        _, sigma, vt = np.linalg.svd(left, full_matrices=False)
        counts = sigma > self._policy.trend * np.linalg.norm(lines)
        return np.sum(((there @ vt[counts].T) / sigma[counts]) ** 2, axis=1)

    def _lines(self, x: np.ndarray) -> np.ndarray:
        """One, and the columns of the formula in units of their spread."""
        columns = self._data.x[:, self._used]
        return np.column_stack([np.ones(len(x)), (x[:, self._used] - columns.mean(axis=0)) / columns.std(axis=0)])
