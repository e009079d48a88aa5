"""Laws for how frequency, damping and amplitude of a mode depend on the conditions, with prediction intervals.

Each law is chosen like that of a centre frequency, by how well it predicts conditions that it was not fitted to. A
prediction interval has three parts: the relative scatter of conditions about their laws, pooled over the modes, since
there are few conditions and many modes; the leverage of the place; and the disagreement there of laws that were nearly
as good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.stats import t as student

from ceql.frf.modal.repetitions import Combined
from ceql.frf.modal.tracks import ModeTrack
from ceql.templates.resonance import laws

LEVEL = 0.95  # coverage of an interval
_RIVALS = 3.0  # laws with a prediction error of up to this many times the best one's are rivals
_CAUTION = 0.5  # with one spare condition, a curved law must predict better than a straight one by this share
_LEAST = 1e-6  # least relative scatter of a law


@dataclass(frozen=True, eq=False)
class Law:
    """The law of one quantity of a mode over the conditions: a constant and coefficients of basis functions.

    `spread` is the relative scatter of conditions about laws of this quantity and `freedom` its degrees of freedom;
    both are zero if there are too few conditions.
    """

    functions: tuple[laws.Function, ...]
    coefficients: np.ndarray
    rivals: tuple[np.ndarray, ...]
    conditions: np.ndarray  # conditions that it was fitted to
    size: float
    spread: float
    freedom: int

    @property
    def used(self) -> tuple[int, ...]:
        return tuple(int(k) for k in np.flatnonzero(self.coefficients[1:]))

    def at(self, conditions: np.ndarray) -> np.ndarray:
        return self._of(self.coefficients, np.atleast_2d(conditions))

    def interval(self, conditions: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The interval in which 95 % of further conditions are expected; None if there are too few conditions."""
        if self.freedom < 1:
            return None
        conditions = np.atleast_2d(conditions)
        middle = self.at(conditions)
        other = [(self._of(rival, conditions) - middle) ** 2 for rival in self.rivals] or [np.zeros(len(conditions))]
        variance = (self.spread * self.size) ** 2 * (1.0 + self._leverage(conditions)) + np.mean(other, axis=0)
        half = float(student.ppf(0.5 + LEVEL / 2.0, self.freedom)) * np.sqrt(variance)
        return middle - half, middle + half

    def _of(self, coefficients: np.ndarray, conditions: np.ndarray) -> np.ndarray:
        return coefficients[0] + columns_of(self.functions, conditions) @ coefficients[1:]

    def _leverage(self, conditions: np.ndarray) -> np.ndarray:
        chosen = list(self.used)
        rows = [
            np.column_stack([np.ones(len(c)), columns_of(self.functions, c)[:, chosen]])
            for c in (self.conditions, conditions)
        ]
        inverse = np.linalg.pinv(rows[0].T @ rows[0])
        return np.sum((rows[1] @ inverse) * rows[1], axis=1)


@dataclass(frozen=True, eq=False)
class ModeLaws:
    """The laws of one mode."""

    frequency: Law
    damping: Law
    amplitude: Law


def columns_of(functions: Sequence[laws.Function], conditions: np.ndarray) -> np.ndarray:
    return np.column_stack([np.zeros((len(conditions), 0)), *(f.values(conditions) for f in functions)])


def laws_of(tracks: Sequence[ModeTrack], conditions: Sequence[tuple[float, ...]]) -> dict[int, ModeLaws]:
    """The laws of each mode by its number, fitted to these conditions."""
    everywhere = np.array(conditions, dtype=float).reshape(len(conditions), -1)
    functions = laws.basis(everywhere, logarithms=True) if len(conditions) > 1 else ()
    found: dict[str, dict[int, Law]] = {}
    for name in ("frequency", "damping", "amplitude"):
        own = {track.number: _values(track, conditions, name) for track in tracks}
        fitted = {number: _law(functions, everywhere, values) for number, values in own.items() if len(values)}
        found[name] = _with_spread(fitted, own, everywhere, {track.number for track in tracks if track.is_sound})
    return {
        number: ModeLaws(found["frequency"][number], found["damping"][number], found["amplitude"][number])
        for number in found["frequency"]
    }


def _values(track: ModeTrack, conditions: Sequence[tuple[float, ...]], name: str) -> dict[int, Combined]:
    """The known values by the place of their condition."""
    return {
        place: getattr(track.estimates[condition], name)
        for place, condition in enumerate(conditions)
        if condition in track.estimates and np.isfinite(getattr(track.estimates[condition], name).value)
    }


def _law(functions: tuple[laws.Function, ...], everywhere: np.ndarray, values: dict[int, Combined]) -> Law:
    rows = everywhere[list(values)]
    numbers = np.array([own.value for own in values.values()])
    columns = columns_of(functions, rows)
    spare = max(len(numbers) - 2, 1)  # degrees of freedom left by a law with one coefficient
    price = np.maximum(laws.prices(functions), [1.0 if f.kind == "id" else 1.0 + _CAUTION / spare for f in functions])
    law = laws.choose(columns, numbers, price) if len(functions) else ()
    size = max(float(np.mean(np.abs(numbers))), np.finfo(float).tiny)
    return Law(functions, laws.coefficients(columns, numbers, law), (), rows, size, 0.0, 0)


def _rivals(law: Law, numbers: np.ndarray, spread: float) -> tuple[np.ndarray, ...]:
    """Laws with as many coefficients or one fewer that predict nearly as well, or fit within the pooled scatter."""
    columns = columns_of(law.functions, law.conditions)
    if len(numbers) < 3 or not columns.shape[1]:
        return ()
    best = laws.prediction_error(columns, numbers, law.used)
    found = []
    for size in {len(law.used), max(len(law.used) - 1, 0)}:
        for candidate in combinations(range(columns.shape[1]), size):
            if candidate == law.used:
                continue
            coefficients = laws.coefficients(columns, numbers, candidate)
            left = numbers - coefficients[0] - columns @ coefficients[1:]
            within = np.sqrt(np.sum(left**2) / max(len(numbers) - 1 - size, 1)) <= _RIVALS * spread * law.size
            if within or laws.prediction_error(columns, numbers, candidate) <= _RIVALS * best:
                found.append(coefficients)
    return tuple(found)


def _with_spread(
    fitted: dict[int, Law], values: dict[int, dict[int, Combined]], everywhere: np.ndarray, sound: set[int]
) -> dict[int, Law]:
    """The laws with their scatter: pooled over the sound modes, or that of the single mode if it is larger."""
    squares, freedom, errors = {}, {}, {}
    for number, law in fitted.items():
        own = values[number]
        numbers = np.array([one.value for one in own.values()])
        squares[number] = float(np.sum(((numbers - law.at(everywhere[list(own)])) / law.size) ** 2))
        freedom[number] = len(numbers) - 1 - len(law.used)
        known = [one.error / law.size for one in own.values() if np.isfinite(one.error)]
        errors[number] = float(np.sqrt(np.mean(np.square(known)))) if known else 0.0
    pool = [number for number in fitted if number in sound] or list(fitted)
    total = sum(freedom[number] for number in pool)
    pooled = np.sqrt(sum(squares[number] for number in pool) / total) if total > 0 else 0.0
    found = {}
    for number, law in fitted.items():
        alone = np.sqrt(squares[number] / freedom[number]) if freedom[number] > 0 else 0.0
        spread = float(max(pooled, alone, errors[number], _LEAST))
        numbers = np.array([one.value for one in values[number].values()])
        rivals = _rivals(law, numbers, spread)
        found[number] = replace(law, spread=spread, freedom=max(total, 0), rivals=rivals)
    return found
