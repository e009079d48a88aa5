"""How frequency, damping and amplitude of a mode depend on the conditions: laws, and how far they can be believed.

The law of each number is chosen as the one of a centre frequency is, by how well it predicts a condition it was not
fitted to. The interval of a prediction has three parts: the scatter of the conditions about their laws, relative to the
size of each number and pooled over the modes, as there are few conditions and many modes; the leverage of the place;
and how far the laws that were nearly as good disagree there.
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

LEVEL = 0.95  # of an interval
_RIVALS = 3.0  # laws whose error of prediction is at most this many times the best one's are rivals
_CAUTION = 0.5  # with one condition to spare, a curved law must predict better than a straight one by this share
_LEAST = 1e-6  # relative: no law is known more closely


@dataclass(frozen=True, eq=False)
class Law:
    """One number of a mode over the conditions: a constant and coefficients of basis functions.

    `spread` is the relative scatter of conditions about laws of this kind and `freedom` its degrees of freedom; zero
    where there are too few conditions to say.
    """

    functions: tuple[laws.Function, ...]
    coefficients: np.ndarray
    rivals: tuple[np.ndarray, ...]
    conditions: np.ndarray  # those it was fitted to
    size: float
    spread: float
    freedom: int

    @property
    def used(self) -> tuple[int, ...]:
        return tuple(int(k) for k in np.flatnonzero(self.coefficients[1:]))

    def at(self, conditions: np.ndarray) -> np.ndarray:
        return self._of(self.coefficients, np.atleast_2d(conditions))

    def interval(self, conditions: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Where 95 % of further conditions are expected; None where there are too few to say."""
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
    """Per number of a mode its laws, from the conditions given."""
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
    """Per place of a condition what is known there; what is flagged as no resonance does not count."""
    return {
        place: getattr(track.estimates[condition], name)
        for place, condition in enumerate(conditions)
        if condition in track.estimates and np.isfinite(getattr(track.estimates[condition], name).value)
    }


def _law(functions: tuple[laws.Function, ...], everywhere: np.ndarray, values: dict[int, Combined]) -> Law:
    rows = everywhere[list(values)]
    numbers = np.array([own.value for own in values.values()])
    columns = columns_of(functions, rows)
    spare = max(len(numbers) - 2, 1)  # conditions that a law with one coefficient leaves
    price = np.maximum(laws.prices(functions), [1.0 if f.kind == "id" else 1.0 + _CAUTION / spare for f in functions])
    law = laws.choose(columns, numbers, price) if len(functions) else ()
    size = max(float(np.mean(np.abs(numbers))), np.finfo(float).tiny)
    return Law(functions, laws.coefficients(columns, numbers, law), (), rows, size, 0.0, 0)


def _rivals(law: Law, numbers: np.ndarray, spread: float) -> tuple[np.ndarray, ...]:
    """Laws with as many coefficients or one fewer that predict nearly as well, or fit within the scatter of all."""
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
    """The scatter about the laws, pooled over the sound modes, and that of a mode alone where it is larger."""
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
