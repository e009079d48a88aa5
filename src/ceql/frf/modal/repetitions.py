"""The modes of one condition from all its repetitions, which are fitted separately and then combined.

Averaging the curves first would turn scatter of the frequencies into damping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ceql.frf.kinds import Kind
from ceql.frf.modal.identify import Identified, finished, identify
from ceql.frf.modal.matching import Portrait, assigned, clusters, portrait, recurring
from ceql.frf.modal.noise import weighted_response
from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.polynomial import Diagram, stabilisation
from ceql.frf.modal.response import Response, frequency_and_damping, pole_of
from ceql.frf.modal.sets import PointSet

_OUTLIER = 4.0  # robust standard deviations beyond which a repetition is an outlier
_OF_A_MEDIAN = 1.2533  # standard error of a median relative to that of a mean
_ENOUGH = 5  # fewest repetitions for recognising outliers


@dataclass(frozen=True, eq=False)
class ConditionModes:
    """For each repetition (r) and mode (m): frequencies and damping ratios with errors, and residues (r, m, p).

    Values are NaN where a repetition does not show the mode. `share` is the share of explored repetitions that show it.
    """

    condition: tuple[float, ...]
    repetitions: tuple[int, ...]
    frequency: np.ndarray
    damping: np.ndarray
    frequency_error: np.ndarray
    damping_error: np.ndarray
    residues: np.ndarray
    share: np.ndarray
    fits: tuple[Identified, ...]
    diagram: Diagram | None

    @property
    def rest(self) -> np.ndarray:
        """The mean residual terms (r, p)."""
        return np.mean([fit.part.rest for fit in self.fits], axis=0)


def response_of(one: PointSet, kind: Kind, residuals: str, policy: ModalPolicy) -> Response:
    return weighted_response(one.frequency, one.curves, kind, policy, residuals, one.coherence)


def modes_of_condition(sets: Sequence[PointSet], kind: Kind, residuals: str, policy: ModalPolicy) -> ConditionModes:
    responses = [response_of(one, kind, residuals, policy) for one in sets]
    chosen = sorted({round(k) for k in np.linspace(0, len(sets) - 1, min(policy.explored, len(sets)))})
    explored = {k: identify(responses[k], policy) for k in chosen}
    portraits = [portrait(found.poles, found.shapes) for found in explored.values()]
    kept = recurring(clusters(portraits, policy.same_mode), len(portraits), policy)
    typical = _typical(kept, list(explored.values()))
    order = np.argsort(typical.frequency)
    damping = _typical_damping(kept, list(explored.values()))
    typical = Portrait(typical.frequency[order], typical.height[order], typical.shapes[order])
    share = np.array([len(kept[k]) / len(portraits) for k in order])
    poles = pole_of(typical.frequency, damping[order])
    fits = [explored[k] if k in explored else _from_typical(responses[k], poles, policy) for k in range(len(sets))]
    return _table(sets, fits, typical, share, policy, explored[chosen[len(chosen) // 2]].diagram)


def _from_typical(response: Response, poles: np.ndarray, policy: ModalPolicy) -> Identified:
    """A repetition fitted from the poles that the explored ones agree on, shifted to those of its own diagram."""
    own = stabilisation(response, policy).recurring(policy)
    begun = np.array(poles)
    one, other = (Portrait(np.abs(p), np.ones(len(p)), np.ones((len(p), 1))) for p in (poles, own))
    for k, j in assigned(one, other, policy.same_mode):
        begun[k] = own[j]
    return finished(response, begun, None, policy)


def _table(
    sets: Sequence[PointSet],
    fits: Sequence[Identified],
    typical: Portrait,
    share: np.ndarray,
    policy: ModalPolicy,
    diagram: Diagram | None,
) -> ConditionModes:
    r, m, p = len(fits), len(typical.frequency), len(sets[0].curves)
    numbers = np.full((4, r, m), np.nan)
    residues = np.full((r, m, p), np.nan, dtype=complex)
    for row, fit in enumerate(fits):
        natural, damping = frequency_and_damping(fit.poles)
        for k, j in assigned(typical, portrait(fit.poles, fit.shapes), policy.same_mode):
            relative = np.hypot(fit.errors.log_rate[j], fit.errors.frequency[j] / natural[j])
            numbers[:, row, k] = natural[j], damping[j], fit.errors.frequency[j], damping[j] * relative
            residues[row, k] = fit.shapes[j]
    known = tuple(one.repetition for one in sets)
    return ConditionModes(
        sets[0].condition, known, numbers[0], numbers[1], numbers[2], numbers[3], residues, share, tuple(fits), diagram
    )


def _typical(kept: Sequence[dict[int, int]], explored: Sequence[Identified]) -> Portrait:
    portraits = [portrait(found.poles, found.shapes) for found in explored]
    p = explored[0].shapes.shape[1]
    frequency = [np.median([portraits[s].frequency[k] for s, k in one.items()]) for one in kept]
    height = [np.median([portraits[s].height[k] for s, k in one.items()]) for one in kept]
    shapes = [np.mean([portraits[s].shapes[k] for s, k in one.items()], axis=0) for one in kept]
    return Portrait(np.array(frequency), np.array(height), np.array(shapes).reshape(len(kept), p))


def _typical_damping(kept: Sequence[dict[int, int]], explored: Sequence[Identified]) -> np.ndarray:
    dampings = [frequency_and_damping(found.poles)[1] for found in explored]
    return np.array([np.median([dampings[s][k] for s, k in one.items()]) for one in kept])


@dataclass(frozen=True)
class Combined:
    """A quantity over the repetitions: its mean or median, the standard error of that, its scatter, and the count.

    For a single repetition the scatter is None, and the error is that of the fit.
    """

    value: float
    error: float
    scatter: float | None
    count: int


def combined(values: np.ndarray, errors: np.ndarray, skewed: bool = False) -> Combined:
    """The mean over repetitions without outliers, or the median for quantities with skewed scatter, such as damping."""
    known = np.isfinite(values)
    values, errors = values[known], errors[known]
    if not len(values):
        return Combined(float("nan"), float("nan"), None, 0)
    if len(values) == 1:
        return Combined(float(values[0]), float(errors[0]), None, 1)
    if len(values) >= _ENOUGH:
        middle = np.median(values)
        spread = 1.4826 * np.median(np.abs(values - middle))
        near = np.abs(values - middle) <= _OUTLIER * spread if spread > 0 else np.full(len(values), True)
        values, errors = values[near], errors[near]
    scatter = float(np.std(values, ddof=1))
    of_fits = float(np.nanmean(errors)) if np.isfinite(errors).any() else 0.0
    # two or three repetitions may agree by chance; then the errors of the fits count as well
    error = (scatter if len(values) >= _ENOUGH else max(scatter, of_fits)) / np.sqrt(len(values))
    if skewed and len(values) >= _ENOUGH:
        return Combined(float(np.median(values)), float(_OF_A_MEDIAN * error), scatter, len(values))
    return Combined(float(np.mean(values)), float(error), scatter, len(values))
