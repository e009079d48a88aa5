"""A complete modal analysis: fits every repetition, follows modes over conditions, and finds laws and predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from ceql.errors import InputError
from ceql.frf.measurements import Measurements
from ceql.frf.modal.dependence import Law, ModeLaws, laws_of
from ceql.frf.modal.matching import Portrait, assigned, portrait
from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.prediction import Predictor, deviations_of
from ceql.frf.modal.repetitions import Combined, ConditionModes, modes_of_condition
from ceql.frf.modal.response import RESIDUALS, pole_of, synthesised
from ceql.frf.modal.sets import Survey
from ceql.frf.modal.tracks import Estimate, ModeTrack, tracks_of
from ceql.frf.peak_tracks import Peak, Window, find_windows, peak_in, scatter
from ceql.frf.splits import Split
from ceql.templates.resonance.fit_curves import r_squared

_FINE = 8  # the grid for predicted peaks is this many times as dense as the measured one
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class ModalSettings:
    """What to hold out and where to look. Without a `split`, nothing is held out."""

    split: Split | None = None
    leave_out: float | None = None
    windows: tuple[Window, ...] = ()
    residuals: str = "both"
    policy: ModalPolicy = field(default_factory=ModalPolicy)


@dataclass(frozen=True)
class Forecast:
    """What the law of a mode predicts at a left-out level, and what was measured there."""

    mode: int
    quantity: str
    condition: tuple[float, ...]
    predicted: float
    low: float | None
    high: float | None
    measured: float
    measured_error: float

    @property
    def contains(self) -> bool | None:
        """Whether the interval contains the measured value; None without an interval."""
        return None if self.low is None or self.high is None else self.low <= self.measured <= self.high


@dataclass(frozen=True, eq=False)
class ModalAnalysis:
    """Modes over conditions, their laws, and how well they describe the measurements.

    `r2_fits` is the median R² of the modes fitted to each single measurement. `r2_train`, `r2_test` and `r2_left_out`
    judge the laws: they compare predicted and measured mean magnitudes.
    """

    survey: Survey
    train: Survey
    settings: ModalSettings
    found: tuple[ConditionModes, ...]
    tracks: tuple[ModeTrack, ...]
    laws: dict[int, ModeLaws]
    predictor: Predictor
    r2_fits: float
    r2_train: float | None
    r2_test: float | None
    r2_ceiling: float | None
    r2_left_out: float | None
    forecasts: tuple[Forecast, ...]
    peaks: tuple[Peak, ...]
    notes: tuple[str, ...]

    @property
    def sound(self) -> tuple[ModeTrack, ...]:
        return tuple(track for track in self.tracks if track.is_sound)


def analyse_modes(survey: Survey, settings: ModalSettings, progress: Progress | None = None) -> ModalAnalysis:
    if settings.residuals not in RESIDUALS:
        raise InputError(f"Residual terms are {', '.join(RESIDUALS)}, not {settings.residuals!r}.")
    tell = progress or (lambda stage, fraction: None)
    kept, left_out = _without_level(survey, settings.leave_out)
    train, test = _split(kept, settings.split)
    with threadpool_limits(limits=1, user_api="blas"):  # small problems: threads would only wait
        found = _of_conditions(train, settings, tell)
        away = _of_conditions(left_out, settings, tell) if left_out is not None else []
        return _judged(survey, train, test, left_out, found, away, settings)


def _judged(
    survey: Survey,
    train: Survey,
    test: Survey | None,
    left_out: Survey | None,
    found: list[ConditionModes],
    away: list[ConditionModes],
    settings: ModalSettings,
) -> ModalAnalysis:
    grids = [train.under(own.condition)[0].frequency for own in found]
    tracks = tuple(tracks_of(found, settings.policy, grids))
    if not tracks:
        raise InputError(_nothing(train))
    laws = laws_of(tracks, [own.condition for own in found])
    everywhere = tuple(t for t in tracks if len(t.estimates) * 2 >= len(found))  # few conditions make no reliable law
    rest = np.mean([own.rest for own in found], axis=0)
    kind, residuals = train.kind, settings.residuals
    predictor = Predictor(everywhere, laws, rest, kind, residuals, deviations_of(everywhere, found))
    return ModalAnalysis(
        survey=survey, train=train, settings=settings, found=tuple(found), tracks=tracks, laws=laws,
        predictor=predictor, r2_fits=_r2_of_fits(found),
        r2_train=_r2_of_means(predictor, train), r2_test=_r2_of_means(predictor, test),
        r2_ceiling=_ceiling(train, test), r2_left_out=_r2_of_means(predictor, left_out),
        forecasts=tuple(_forecasts(tracks, laws, away, settings.policy)),
        peaks=tuple(_peaks(survey, predictor, laws, settings)), notes=tuple(_notes(train, tracks, found)),
    )  # fmt: skip


def _without_level(survey: Survey, level: float | None) -> tuple[Survey, Survey | None]:
    if level is None:
        return survey, None
    known = sorted({one.condition[0] for one in survey.sets if one.condition})
    chosen = [one for one in survey.sets if one.condition and np.isclose(one.condition[0], level, rtol=1e-9)]
    others = [one for one in survey.sets if one not in chosen]
    if not chosen:
        words = ", ".join(f"{value:g}" for value in known) or "none, as there is a single condition"
        raise InputError(f"No curve was measured at the level {level:g}. Known levels: {words}.")
    if not others:
        raise InputError(f"{level:g} is the only level, so nothing is left to train on without it.")
    return survey.only(others), survey.only(chosen)


def _split(survey: Survey, rule: Split | None) -> tuple[Survey, Survey | None]:
    if rule is None:
        return survey, None
    out = rule.held_out(np.array([one.repetition for one in survey.sets]))
    parts = [[one for one, away in zip(survey.sets, out, strict=True) if away == side] for side in (False, True)]
    for side, part in zip(("train on", "hold out"), parts, strict=True):
        missing = set(survey.conditions) - {one.condition for one in part}
        if missing:
            where = survey.describe(sorted(missing)[0])
            raise InputError(f"The split {rule} leaves nothing to {side} for {where}: choose another split.")
    return survey.only(parts[0]), survey.only(parts[1])


def _of_conditions(survey: Survey, settings: ModalSettings, tell: Progress) -> list[ConditionModes]:
    found = []
    for k, condition in enumerate(survey.conditions):
        tell(f"modes, {survey.describe(condition)}", k / len(survey.conditions))
        own = survey.under(condition)
        found.append(modes_of_condition(own, survey.kind, settings.residuals, settings.policy))
    return found


def _r2_of_fits(found: list[ConditionModes]) -> float:
    scores = []
    for own in found:
        for fit in own.fits:
            scores.append(r_squared(fit.response.curves, synthesised(fit.response, fit.poles, fit.part)))
    return float(np.median(scores))


def mean_magnitudes(survey: Survey, condition: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The mean magnitudes (p, n) over the repetitions of a condition, on the grid of the first one, and that grid."""
    sets = survey.under(condition)
    grid = sets[0].frequency
    total = np.zeros(sets[0].curves.shape)
    for one in sets:
        total += np.array([np.interp(grid, one.frequency, np.abs(curve)) for curve in one.curves])
    return grid, total / len(sets)


def _r2_of_means(predictor: Predictor, survey: Survey | None) -> float | None:
    if survey is None:
        return None
    measured, predicted = [], []
    for condition in survey.conditions:
        grid, mean = mean_magnitudes(survey, condition)
        measured.append(mean.ravel())
        predicted.append(predictor.mean_magnitude(grid, condition).ravel())
    return r_squared(np.concatenate(measured), np.concatenate(predicted))


def _ceiling(train: Survey, test: Survey | None) -> float | None:
    """The R² that the training means themselves reach on the held-out means."""
    if test is None or test.conditions != train.conditions:
        return None
    pairs = [(mean_magnitudes(test, c)[1], mean_magnitudes(train, c)[1]) for c in test.conditions]
    if any(a.shape != b.shape for a, b in pairs):
        return None
    return r_squared(*(np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1)))


def _forecasts(
    tracks: tuple[ModeTrack, ...], laws: dict[int, ModeLaws], away: list[ConditionModes], policy: ModalPolicy
) -> list[Forecast]:
    rows = []
    for own in away:
        (grid,) = (own.fits[0].response.frequency,)
        measured = tracks_of([own], policy, [grid])
        here = np.array([own.condition])
        expected = [laws[track.number].frequency.at(here)[0] for track in tracks]
        damping = [max(laws[track.number].damping.at(here)[0], 1e-5) for track in tracks]
        shapes = np.array([t.shape * max(laws[t.number].amplitude.at(here)[0], 1e-300) for t in tracks])
        one = portrait(pole_of(np.array(expected), np.array(damping)), shapes)
        for k, j in assigned(one, _portrait_of(measured), policy.moves):
            estimate = next(iter(measured[j].estimates.values()))
            for quantity in ("frequency", "damping", "amplitude"):
                law: Law = getattr(laws[tracks[k].number], quantity)
                rows.append(_forecast(tracks[k].number, quantity, own.condition, law, getattr(estimate, quantity)))
    return rows


def _portrait_of(tracks: list[ModeTrack]) -> Portrait:
    estimates: list[Estimate] = [next(iter(track.estimates.values())) for track in tracks]
    poles = pole_of(
        np.array([own.frequency.value for own in estimates]), np.array([own.damping.value for own in estimates])
    )
    return portrait(poles, np.array([own.residues for own in estimates]))


def _forecast(mode: int, quantity: str, condition: tuple[float, ...], law: Law, measured: Combined) -> Forecast:
    here = np.array([condition])
    interval = law.interval(here)
    low, high = (None, None) if interval is None else (float(interval[0][0]), float(interval[1][0]))
    return Forecast(mode, quantity, condition, float(law.at(here)[0]), low, high, measured.value, measured.error)


def _peaks(survey: Survey, predictor: Predictor, laws: dict[int, ModeLaws], settings: ModalSettings) -> list[Peak]:
    """The measured and predicted maxima of the mean magnitude over points and repetitions, for each window."""
    data = survey.magnitudes()
    means = data.mean()
    try:
        windows = settings.windows or tuple(find_windows(means))
    except InputError:  # no peak stands out: there is nothing to compare
        return []
    if not settings.windows:  # a window without a mode contains only noise
        sound = [own.frequency.value for t in predictor.tracks if t.is_sound for own in t.estimates.values()]
        windows = tuple(w for w in windows if any(w[0] <= frequency <= w[1] for frequency in sound))
    rows = []
    for window in windows:
        inside = (means.frequency >= window[0]) & (means.frequency <= window[1])
        dense = np.linspace(window[0], window[1], _FINE * max(3, int(inside.sum())) + 1)
        for level, curve in zip(means.conditions, means.curves, strict=True):
            condition = tuple(map(float, level)) if survey.names else ()
            model = np.sqrt(np.mean(predictor.mean_magnitude(dense, condition) ** 2, axis=0))
            rows.append(_peak(window, level, means.frequency, curve, dense, model, data, laws, predictor, settings))
    return rows


def _peak(
    window: Window,
    level: np.ndarray,
    grid: np.ndarray,
    curve: np.ndarray,
    dense: np.ndarray,
    model: np.ndarray,
    data: Measurements,
    laws: dict[int, ModeLaws],
    predictor: Predictor,
    settings: ModalSettings,
) -> Peak:
    """One peak, with the interval of the nearest mode centred on it."""
    measured, _ = peak_in(grid, curve, window)
    expected, at_edge = peak_in(dense, model, window)
    left_out = settings.leave_out is not None and bool(np.isclose(level[0], settings.leave_out))
    centres = {t.number: float(laws[t.number].frequency.at(level[None])[0]) for t in predictor.tracks}
    nearest = min(centres, key=lambda number: abs(centres[number] - expected))
    interval = laws[nearest].frequency.interval(level[None])
    low, high = (None, None) if interval is None else (
        expected + float(interval[0][0]) - centres[nearest], expected + float(interval[1][0]) - centres[nearest]
    )  # fmt: skip
    spread = scatter(data, level, window)
    return Peak(tuple(map(float, level)), window, measured, expected, spread, left_out, at_edge, low, high)


def _notes(train: Survey, tracks: tuple[ModeTrack, ...], found: list[ConditionModes]) -> list[str]:
    notes = []
    if len(train.conditions) == 1:
        notes.append("There is a single condition, so frequency, damping and amplitude are constants.")
    elif len(train.conditions) == 2:
        notes.append("With two conditions every law is a straight line, and no interval can be given.")
    repeated = max(len(train.under(condition)) for condition in train.conditions)
    if repeated > 1:
        notes.append(
            f"Each of up to {repeated} repetitions was fitted by itself; numbers are means over them (damping ratios "
            "medians), ± is their standard error and scatter the standard deviation of a single repetition."
        )
    scattered = [scatter for own in found for fit in own.fits for scatter in fit.scattered]
    if scattered:
        largest = max(scattered, key=lambda scatter: scatter.relative)
        notes.append(
            f"Frequencies differ from point to point, at {abs(largest.pole):.4g} Hz by {100 * largest.relative:.2g} "
            "%, as they do when a sensor is moved: the mean over the points is given."
        )
    flagged = sum(not track.is_sound for track in tracks)
    if flagged:
        notes.append(
            f"{flagged} of {len(tracks)} poles carry a flag, a sign that they may not be resonances: see the flags."
        )
    return notes


def _nothing(survey: Survey) -> str:
    low = min(one.frequency[0] for one in survey.sets)
    high = max(one.frequency[-1] for one in survey.sets)
    return (
        f"No mode was found between {low:g} and {high:g} Hz. Check the band (--band), the kind of response (--kind) "
        "and the phase of the files."
    )
