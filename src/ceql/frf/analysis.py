"""From measurements to an analysis: choose training data, fit the resonance template, and test it on held-out data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.errors import InputError
from ceql.frf.kinds import Kind
from ceql.frf.measurements import Measurements
from ceql.frf.modes import Mode, modes_of
from ceql.frf.peak_tracks import Peak, Window, find_windows, peak_in, scatter
from ceql.frf.splits import Split
from ceql.templates.resonance.fit_curves import r_squared

_UNITS = (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0))
_LEAST_PER_TERM = 3  # least number of parameters of a term: amplitude, centre and width
_FINE = 8  # the grid for predicted peaks is this many times as dense as the measured one
_SPLIT = Split("every", 5)


@dataclass(frozen=True)
class Settings:
    """How to fit and what to hold out. Without a `split`, every fifth repetition is held out if there are enough."""

    form: str = "paper"
    max_terms: int = 6
    max_parameters: int | None = None
    weighting: str = "linear"
    fit_complex: bool = False
    complex_weights: bool = True
    split: Split | None = None
    leave_out: float | None = None
    windows: tuple[Window, ...] = ()
    seed: int = 0
    time_limit: float = 60.0
    threads: int | None = None


@dataclass(frozen=True, eq=False)
class Analysis:
    """The fit and how well it compares. `unit` is the formula's unit of frequency; R² is None if nothing was held out.

    `r2_ceiling` is what the training means themselves reach on the held-out means; no formula can be expected to exceed
    it.
    """

    fit: Any
    unit: str
    hertz: float
    measurements: Measurements
    train: Measurements
    test: Measurements | None
    left_out: Measurements | None
    settings: Settings
    split: Split | None
    r2_train: float
    r2_test: float | None
    r2_ceiling: float | None
    r2_left_out: float | None
    modes: tuple[Mode, ...]
    peaks: tuple[Peak, ...]
    windows: tuple[Window, ...]
    notes: tuple[str, ...]

    def predict(self, frequency_hz: np.ndarray, levels: np.ndarray) -> np.ndarray:
        return np.asarray(self.fit.predict(np.asarray(frequency_hz) / self.hertz, np.atleast_2d(levels)))


def analyse(measurements: Measurements, settings: Settings, progress: Callable[..., None] | None = None) -> Analysis:
    notes: list[str] = []
    everything = _prepared(measurements, settings, notes.append)
    kept, left_out = everything, None
    if settings.leave_out is not None:
        kept, left_out = everything.leave_out(settings.leave_out)
    split = settings.split or _possible_split(kept, notes.append)
    train, test = kept.split(split) if split is not None else (kept, None)
    means = train.mean()
    _check_support(means, settings.max_terms)
    overall = everything.mean()
    windows = settings.windows or tuple(find_windows(overall))
    unit, hertz = unit_of(means.frequency)
    fit = _fitted(means, settings, hertz, progress)
    if fit.message:
        notes.append(fit.message)
    if len(fit.terms) < settings.max_terms:
        notes.append(f"Up to {settings.max_terms} terms were allowed; the data support {len(fit.terms)}.")

    def r2_of(other: Measurements | None) -> float | None:
        if other is None:
            return None
        mean = other.mean()
        return r_squared(mean.curves, np.asarray(fit.predict(mean.frequency / hertz, mean.conditions)))

    repeated = test is not None and np.array_equal(test.levels, means.conditions)
    ceiling = r_squared(test.mean().curves, means.curves) if test is not None and repeated else None
    return Analysis(
        fit=fit, unit=unit, hertz=hertz, measurements=everything, train=means,
        test=None if test is None else test.mean(), left_out=None if left_out is None else left_out.mean(),
        settings=settings, split=split,
        r2_train=r2_of(train) or 0.0, r2_test=r2_of(test if test is not None else left_out),
        r2_ceiling=ceiling, r2_left_out=r2_of(left_out),
        modes=tuple(modes_of(fit, overall.conditions, means.frequency, hertz)),
        peaks=tuple(_peaks(fit, hertz, everything, overall, windows, settings.leave_out)),
        windows=windows, notes=tuple(notes),
    )  # fmt: skip


def unit_of(frequency_hz: np.ndarray) -> tuple[str, float]:
    """The largest unit in which the highest frequency is at least 1, so that numbers in formulas are easy to read."""
    return next((name, size) for name, size in _UNITS if frequency_hz[-1] >= size or size == 1.0)


def explained_scatter(analysis: Analysis) -> list[tuple[Window, float]]:
    """For each window, the share of the variance of the held-out peak frequencies that the formula explains.

    The variance is taken around the mean at each level of the first condition, so it is the scatter over repetitions.
    Only conditions that differ between repetitions, such as positions, can explain it.
    """
    held_out = analysis.test
    if held_out is None:
        return []
    predicted = analysis.predict(held_out.frequency, held_out.conditions)
    first = held_out.conditions[:, 0]
    found = []
    for window in analysis.windows:
        pairs = np.array(
            [
                (peak_in(held_out.frequency, own, window)[0], peak_in(held_out.frequency, model, window)[0])
                for own, model in zip(held_out.curves, predicted, strict=True)
            ]
        )
        centred = np.concatenate([pairs[first == d] - pairs[first == d].mean(axis=0) for d in np.unique(first)])
        spread = float(np.sum(centred[:, 0] ** 2))
        if spread > 0:
            found.append((window, 1.0 - float(np.sum((centred[:, 0] - centred[:, 1]) ** 2)) / spread))
    return found


def _prepared(measurements: Measurements, settings: Settings, note: Callable[[str], None]) -> Measurements:
    """The measurements as complex values or magnitudes, converted to accelerance if the modal form requires it."""
    data = measurements
    if settings.fit_complex and not data.is_complex:
        raise InputError("A complex fit needs phases, and these measurements hold magnitudes only: fit the magnitude.")
    if settings.fit_complex and settings.form == "paper":
        raise InputError("The paper's form describes magnitudes: use --form modal for a complex fit.")
    if settings.form == "modal" and data.kind in (Kind.RECEPTANCE, Kind.MOBILITY):
        note(f"The modal form describes accelerance: the {data.kind.value} was converted.")
        data = data.as_kind(Kind.ACCELERANCE)
    return data if settings.fit_complex else data.magnitudes()


def _possible_split(measurements: Measurements, note: Callable[[str], None]) -> Split | None:
    try:
        measurements.split(_SPLIT)
    except InputError:
        note("There are too few repetitions to hold any out: R² is of the data that were fitted.")
        return None
    note(f"Every fifth repetition is held out (--split {_SPLIT}).")
    return _SPLIT


def _check_support(means: Measurements, max_terms: int) -> None:
    values = means.curves.size
    needed = _LEAST_PER_TERM * max_terms + 2
    if needed > values:
        raise InputError(
            f"{max_terms} terms have at least {needed} parameters, and there are {values} values to fit: more terms "
            f"than the data support. Ask for at most {max(1, (values // 2 - 2) // _LEAST_PER_TERM)}, or measure more "
            "densely."
        )


def _fitted(means: Measurements, settings: Settings, hertz: float, progress: Callable[..., None] | None) -> Any:
    from ceql.templates.resonance import fit_resonances

    passed_on = ("form", "max_terms", "max_parameters", "weighting", "seed", "time_limit", "complex_weights", "threads")
    options = {name: getattr(settings, name) for name in passed_on}
    frequency = means.frequency / hertz
    return fit_resonances(frequency, means.curves, means.conditions, names=means.names, progress=progress, **options)


def _peaks(
    fit: Any,
    hertz: float,
    everything: Measurements,
    overall: Measurements,
    windows: Sequence[Window],
    leave_out: float | None,
) -> list[Peak]:
    """Measured peaks of the mean over all repetitions, and predicted peaks, located on a finer grid."""
    found = []
    for window in windows:
        inside = (overall.frequency >= window[0]) & (overall.frequency <= window[1])
        dense = np.linspace(window[0], window[1], _FINE * max(3, int(inside.sum())) + 1)
        predicted = np.asarray(fit.predict(dense / hertz, overall.conditions))
        for level, curve, model in zip(overall.conditions, overall.curves, predicted, strict=True):
            measured, _ = peak_in(overall.frequency, curve, window)
            expected, at_edge = peak_in(dense, model, window)
            is_left_out = leave_out is not None and bool(np.isclose(level[0], leave_out))
            spread = scatter(everything, level, window)
            condition = tuple(map(float, level))
            found.append(Peak(condition, window, measured, expected, spread, is_left_out, at_edge))
    return found
