"""The figures of an analysis. Colours are safe for colour-blind readers, and markers and dashes differ as well."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np

from ceql.frf.analysis import Analysis, r_squared
from ceql.frf.modes import Flag
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY

_MOST_PANELS = 9
_KILOHERTZ = 1e3
_TITLE = 48  # characters in a line above a panel
_MEASURED = {"color": BLACK, "lw": 1.4, "label": "measured, mean"}
_FORMULA = {"color": ORANGE, "lw": 1.6, "ls": (0, (5, 1.5)), "label": "formula"}
_LEVEL_LOOKS = tuple(zip((BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK), "osD^vPX", strict=True))


def all_figures(analysis: Analysis) -> Iterator[tuple[str, Any]]:
    """Names and figures; the Bode plot exists only for complex fits."""
    yield "overlay", overlay(analysis)
    yield "peaks", peak_comparison(analysis)
    if analysis.settings.fit_complex:
        yield "bode", bode(analysis)
    if len(analysis.fit.poles_over_starts):
        yield "poles", recurring_poles(analysis)


def overlay(analysis: Analysis) -> Any:
    """Measured and predicted magnitude with marked peaks, one panel per condition."""
    means = analysis.measurements.mean()
    shown = _shown_levels(means.conditions)
    figure, axes = _panels(len(shown), 5.6, 2.7)
    x = means.frequency / analysis.hertz
    predicted = np.abs(analysis.predict(means.frequency, means.conditions))
    magnitude = np.abs(means.curves)
    top = 1.08 * float(max(magnitude.max(), predicted.max()))
    for place, k in zip(axes, shown, strict=False):
        level, data = means.conditions[k], analysis.measurements
        own = np.abs(data.curves[(data.conditions == level).all(axis=1)])
        if len(own) > 2:
            low, high = np.quantile(own, (0.1, 0.9), axis=0)
            place.fill_between(x, low, high, color="0.85", lw=0, label="10 to 90 % of the repetitions")
        place.plot(x, magnitude[k], **_MEASURED)
        place.plot(x, predicted[k], **_FORMULA)
        _mark_peaks(place, analysis, level, x, magnitude[k], predicted[k])
        score = r_squared(magnitude[k], predicted[k])
        place.set_title(f"{_title(analysis, level)}: R² {score:.3f}", fontsize=10)
        place.set(
            xlim=(x[0], x[-1]), ylim=(0, top), xlabel=f"frequency w, {analysis.unit}", ylabel=_magnitude(analysis)
        )
    _legend(figure, axes)
    return figure


def peak_comparison(analysis: Analysis) -> Any:
    """Predicted against measured peak frequency, one panel per window, one mark per condition."""
    windows = list(dict.fromkeys(peak.window for peak in analysis.peaks))
    levels = list(dict.fromkeys(peak.condition for peak in analysis.peaks))
    unit, hertz = (analysis.unit, analysis.hertz) if analysis.hertz > _KILOHERTZ else ("Hz", 1.0)
    named = len(levels) <= len(_LEVEL_LOOKS)
    figure, axes = _panels(len(windows), 3.6, 3.6)
    for place, window in zip(axes, windows, strict=False):
        own = [peak for peak in analysis.peaks if peak.window == window]
        for peak in own:
            colour, marker = _LEVEL_LOOKS[levels.index(peak.condition)] if named else (BLUE, "o")
            hollow = {"mfc": "white", "mew": 2.0} if peak.left_out else {}
            label = _words(analysis, np.array(peak.condition)) + ", left out" * peak.left_out if named else None
            place.errorbar(
                peak.measured_hz / hertz, peak.predicted_hz / hertz,
                xerr=None if peak.scatter_hz is None else peak.scatter_hz / hertz,
                fmt=marker, color=colour, ms=8 if named else 4, capsize=3, lw=1.2, label=label, **hollow,
            )  # fmt: skip
        ends = [value / hertz for peak in own for value in (peak.measured_hz, peak.predicted_hz)]
        ends += [(p.measured_hz + sign * (p.scatter_hz or 0.0)) / hertz for p in own for sign in (-1, 1)]
        margin = 0.1 * max(max(ends) - min(ends), 0.01 * max(ends))
        limits = (min(ends) - margin, max(ends) + margin)
        place.plot(limits, limits, color=GREY, lw=1, ls="--", zorder=0, label="equal")
        place.set_title(f"{window[0] / hertz:.5g} to {window[1] / hertz:.5g} {unit}", fontsize=10)
        place.set(xlim=limits, ylim=limits, xlabel=f"measured peak, {unit}", ylabel=f"predicted peak, {unit}")
        place.set_box_aspect(1)
        place.locator_params(nbins=4)
        place.ticklabel_format(useOffset=False)
    _legend(figure, axes)
    return figure


def bode(analysis: Analysis) -> Any:
    """Magnitude in dB over phase, one column per condition."""
    means = analysis.measurements.mean()
    shown = _shown_levels(means.conditions, most=4)
    figure = new_figure(3.4 * len(shown) + 0.8, 5.2)
    axes = figure.subplots(2, len(shown), sharex=True, sharey="row", squeeze=False, height_ratios=(1.5, 1))
    x = means.frequency / analysis.hertz
    predicted = analysis.predict(means.frequency, means.conditions)
    for column, k in enumerate(shown):
        upper, lower = axes[:, column]
        for curve, style in ((means.curves[k], _MEASURED), (predicted[k], _FORMULA)):
            upper.plot(x, 20.0 * np.log10(np.maximum(np.abs(curve), np.finfo(float).tiny)), **style)
            phase = np.degrees(np.angle(curve))
            jumps = np.abs(np.diff(phase, append=phase[-1])) > 180.0  # no line crosses the panel
            lower.plot(x, np.where(jumps, np.nan, phase), **style)
        upper.set_title(_title(analysis, means.conditions[k]), fontsize=10)
        lower.set(xlabel=f"frequency w, {analysis.unit}", ylim=(-190, 190), yticks=[-180, -90, 0, 90, 180])
    axes[0, 0].set_ylabel(f"{analysis.measurements.kind.value}, dB")
    axes[1, 0].set_ylabel("phase, degrees")
    _legend(figure, axes.ravel())
    return figure


def recurring_poles(analysis: Analysis) -> Any:
    """The centre frequencies found by each start, over the measured curve, like a stabilisation diagram."""
    means = analysis.measurements.mean()
    figure = new_figure(9, 4.6)
    place = figure.subplots()
    curve = place.twinx()
    x = means.frequency / analysis.hertz
    curve.plot(x, np.abs(means.curves).mean(axis=0), color=GREY, lw=1)
    curve.set_ylabel(f"{_magnitude(analysis)}, mean (grey line)")
    curve.set_ylim(bottom=0)
    poles = [np.asarray(found, dtype=float).ravel() for found in analysis.fit.poles_over_starts]
    starts = np.concatenate([np.full(found.size, k + 1) for k, found in enumerate(poles)])
    place.scatter(np.concatenate(poles), starts, s=14, marker="x", color=BLUE, lw=1, label="pole of a start")
    for sound, colour, dashes, label in (
        (True, GREEN, "-", "pole of the formula (band: all conditions)"),
        (False, RED, ":", "pole with a flag"),
    ):
        for number, term in enumerate(t for t in _term_spans(analysis) if t[2] == sound):
            place.axvspan(term[0], term[1], color=colour, alpha=0.3, lw=0)
            middle = (term[0] + term[1]) / 2
            place.axvline(middle, color=colour, ls=dashes, lw=1.4, label=label if number == 0 else None)
    place.set(xlim=(x[0], x[-1]), ylim=(0, len(poles) + 1), xlabel=f"frequency w, {analysis.unit}")
    place.set_ylabel("start")
    place.set_zorder(curve.get_zorder() + 1)  # the poles lie above the curve
    place.patch.set_visible(False)
    _legend(figure, [place])
    return figure


def _term_spans(analysis: Analysis) -> list[tuple[float, float, bool]]:
    """For each term, the lowest and highest centre over the conditions, and whether it is free of flags other than
    faint."""
    spans = []
    for number in range(1, len(analysis.fit.terms) + 1):
        own = [mode for mode in analysis.modes if mode.term == number]
        ends = [mode.frequency_hz / analysis.hertz for mode in own]
        sound = not any(set(mode.flags) - {Flag.FAINT} for mode in own)
        spans.append((min(ends), max(ends), sound))
    return spans


def _mark_peaks(
    place: Any, analysis: Analysis, level: np.ndarray, x: np.ndarray, magnitude: np.ndarray, predicted: np.ndarray
) -> None:
    own = [peak for peak in analysis.peaks if peak.condition == tuple(map(float, level))]
    measured = [peak.measured_hz / analysis.hertz for peak in own]
    expected = [peak.predicted_hz / analysis.hertz for peak in own]
    for k, where in enumerate(measured):
        place.axvline(where, color=GREY, lw=0.8, ls="--", label="measured peak" if k == 0 else None)
    place.plot(measured, np.interp(measured, x, magnitude), "o", color=BLACK, ms=4, ls="none")
    place.plot(
        expected, np.interp(expected, x, predicted), "v", color=BLUE, ms=6, mec="white", mew=0.6, ls="none",
        label="predicted peak",
    )  # fmt: skip


def _shown_levels(levels: np.ndarray, most: int = _MOST_PANELS) -> list[int]:
    """The places of all conditions, or of some evenly spread ones if there are many."""
    return sorted({round(k) for k in np.linspace(0, len(levels) - 1, min(most, len(levels)))})


def _panels(count: int, width: float, height: float) -> tuple[Any, np.ndarray]:
    columns = min(count, 2 if width > 5 else 4)
    rows = math.ceil(count / columns)
    figure = new_figure(max(width * columns, 5.0), height * rows + 0.5)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for place in axes[count:]:
        place.set_visible(False)
    return figure, axes


def _legend(figure: Any, axes: Any) -> None:
    """One legend for all panels, each label once."""
    by_label: dict[str, Any] = {}
    for place in axes:
        handles, labels = place.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            by_label.setdefault(label, handle)
    columns = min(len(by_label), max(2, int(figure.get_size_inches()[0] // 2)))
    figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=columns, frameon=False)


def _words(analysis: Analysis, level: np.ndarray) -> str:
    """The condition in words, wrapped to fit above a panel."""
    return textwrap.fill(analysis.measurements.describe(level), _TITLE)


def _title(analysis: Analysis, level: np.ndarray) -> str:
    chosen = analysis.settings.leave_out
    is_left_out = chosen is not None and bool(np.isclose(level[0], chosen))
    return _words(analysis, level) + " (left out)" * is_left_out


def _magnitude(analysis: Analysis) -> str:
    data = analysis.measurements
    return f"{data.kind.value}, {data.unit}" if data.unit else f"{data.kind.value}, magnitude"
