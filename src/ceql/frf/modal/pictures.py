"""The figures of a modal analysis: stabilisation diagram, fits in dB and phase, shapes, MAC, and laws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ceql.frf.modal.analysis import ModalAnalysis
from ceql.frf.modal.repetitions import ConditionModes
from ceql.frf.modal.response import synthesised
from ceql.frf.modal.shapes import mac
from ceql.frf.modal.summary import unit_of_analysis
from ceql.frf.modal.tracks import height
from ceql.output.plots.canvas import new_figure, plain
from ceql.output.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, RED

_MOST_PANELS = 4
_MOST_SHAPES = 9
_MOST_MODES = 6


def all_figures(analysis: ModalAnalysis) -> Iterator[tuple[str, Any]]:
    """Names and figures; shapes need at least three points, laws at least two conditions."""
    yield "stabilisation", stabilisation_diagram(analysis)
    yield "fit", fits(analysis)
    if len(analysis.survey.points) > 2:
        yield "shapes", shapes(analysis)
        yield "mac", mac_matrix(analysis)
    if len(analysis.train.conditions) > 1:
        yield "laws", laws(analysis)


def decibels(values: np.ndarray) -> np.ndarray:
    magnitude = np.abs(values)
    return 20.0 * np.log10(np.maximum(magnitude, 1e-9 * max(float(magnitude.max()), np.finfo(float).tiny)))


def stabilisation_diagram(analysis: ModalAnalysis) -> Any:
    """Poles of all model orders over the mean level of all points; green lines are the modes that were kept."""
    own = _shown(analysis)[0]
    unit, hertz = unit_of_analysis(analysis)
    figure = new_figure(9.5, 5.0)
    place = figure.subplots()
    level = place.twinx()
    response = next((fit for fit in own.fits if fit.diagram is own.diagram), own.fits[0]).response
    mean = np.sqrt(np.mean(np.abs(response.curves) ** 2, axis=0))
    level.plot(response.frequency / hertz, decibels(mean), color=GREY, lw=1.2)
    level.set_ylabel(f"{analysis.survey.kind.value}, root mean square of the points, dB (grey line)")
    d = own.diagram
    if d is not None and len(d.order):
        for stable, look in (
            (False, {"marker": "x", "color": ORANGE, "s": 12, "lw": 0.8, "label": "pole that decays, not stable"}),
            (True, {"marker": "o", "color": BLUE, "s": 13, "lw": 0, "label": "stable in frequency and damping"}),
        ):
            chosen = d.stable == stable
            place.scatter(d.frequency[chosen] / hertz, d.order[chosen], zorder=3, **look)
        place.set_ylim(0, d.order.max() + 1)
    for sound, colour, dashes, label in ((True, GREEN, "-", "mode"), (False, RED, ":", "pole with a flag")):
        mine = [t for t in analysis.tracks if own.condition in t.estimates and t.is_sound == sound]
        for k, track in enumerate(mine):
            where = track.estimates[own.condition].frequency.value / hertz
            place.axvline(where, color=colour, ls=dashes, lw=1.1, alpha=0.8, label=label if k == 0 else None)
    place.set_xlim(response.frequency[0] / hertz, response.frequency[-1] / hertz)
    place.set(xlabel=f"frequency, {unit}", ylabel="model order")
    place.set_zorder(level.get_zorder() + 1)
    place.patch.set_visible(False)
    _title(place, analysis, own)
    figure.legend(*place.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def fits(analysis: ModalAnalysis) -> Any:
    """Measured and fitted level and phase of some points, or for some conditions if there is a single point."""
    unit, hertz = unit_of_analysis(analysis)
    points = _spread(len(analysis.survey.points))
    columns = [(analysis.found[0], k) for k in points] if len(points) > 1 else [(own, 0) for own in _shown(analysis)]
    figure = new_figure(3.6 * len(columns) + 0.8, 5.4)
    axes = figure.subplots(2, len(columns), sharex=True, sharey="row", squeeze=False, height_ratios=(1.6, 1))
    for column, (own, point) in enumerate(columns):
        upper, lower = axes[:, column]
        one = own.fits[0]
        model = synthesised(one.response, one.poles, one.part)
        x = one.response.frequency / hertz
        for curve, look in (
            (one.response.curves[point], {"color": BLACK, "lw": 1.3, "label": "measured"}),
            (model[point], {"color": ORANGE, "lw": 1.5, "ls": (0, (5, 1.5)), "label": "modes"}),
        ):
            upper.plot(x, decibels(curve), **look)
            phase = np.degrees(np.angle(curve))
            jumps = np.abs(np.diff(phase, append=phase[-1])) > 180.0  # no line crosses the panel
            lower.plot(x, np.where(jumps, np.nan, phase), **look)
        name = f"point {analysis.survey.points[point]}" if len(points) > 1 else analysis.survey.describe(own.condition)
        upper.set_title(plain(name), fontsize=10)
        lower.set(xlabel=f"frequency, {unit}", ylim=(-190, 190), yticks=[-180, -90, 0, 90, 180])
    axes[0, 0].set_ylabel(f"{analysis.survey.kind.value}, dB")
    axes[1, 0].set_ylabel("phase, degrees")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def shapes(analysis: ModalAnalysis) -> Any:
    """Each mode over the points in their order: the parts in phase and in quadrature with its largest entry."""
    chosen = (analysis.sound or analysis.tracks)[:_MOST_SHAPES]
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = new_figure(3.6 * columns + 0.4, 2.1 * rows + 0.6)
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    x = np.arange(len(analysis.survey.points))
    for place, track in zip(axes, chosen, strict=False):
        turned = track.shape * np.exp(-1j * np.angle(track.shape[track.strongest]))
        place.axhline(0, color=GREY, lw=0.8)
        place.plot(x, turned.real, "o-", color=BLUE, ms=5, lw=1.4, label="in phase")
        place.plot(x, turned.imag, "s:", color=ORANGE, ms=3.5, lw=1.0, label="in quadrature")
        own = next(iter(track.estimates.values()))
        place.set_title(
            f"mode {track.number}: {own.frequency.value:.5g} Hz, {100 * own.damping.value:.3g} %", fontsize=10
        )
    step = max(1, len(x) // 10)
    for place in axes:
        place.set_xticks(x[::step], [plain(name, 8) for name in analysis.survey.points[::step]])
        place.set_ylim(-1.15, 1.15)
    for place in axes[len(chosen) :]:
        place.set_visible(False)
    for place in axes[max(0, len(chosen) - columns) : len(chosen)]:
        place.set_xlabel("point")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def mac_matrix(analysis: ModalAnalysis) -> Any:
    """The similarity of shapes: dark cells off the diagonal mean that the points cannot distinguish two modes."""
    tracks = analysis.sound or analysis.tracks
    all_shapes = np.array([track.shape for track in tracks])
    values = mac(all_shapes, all_shapes)
    size = 1.6 + 0.5 * len(tracks)
    figure = new_figure(size + 0.9, size)
    place = figure.subplots()
    image = place.imshow(values, vmin=0, vmax=1, cmap="Blues")
    if len(tracks) <= 12:
        for (i, j), value in np.ndenumerate(values):
            place.text(
                j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color="white" if value > 0.6 else BLACK
            )
    numbers = [str(track.number) for track in tracks]
    place.set_xticks(range(len(tracks)), numbers)
    place.set_yticks(range(len(tracks)), numbers)
    place.set(xlabel="mode", ylabel="mode")
    figure.colorbar(image, ax=place, label="MAC", shrink=0.85)
    return figure


def laws(analysis: ModalAnalysis) -> Any:
    """Frequency, damping and amplitude of the strongest modes over the first condition, with intervals of the laws."""
    tracks = _strongest(analysis)
    figure = new_figure(3.3 * len(tracks) + 0.6, 6.6)
    axes = figure.subplots(3, len(tracks), squeeze=False, sharex=True)
    measured = np.array(analysis.train.conditions)
    first = measured[:, 0]
    margin = 0.05 * max(float(np.ptp(first)), 1e-12)
    line = np.linspace(first.min() - (margin if first.min() > margin else 0.0), first.max() + margin, 80)
    if analysis.settings.leave_out is not None:
        line = np.union1d(
            line, np.linspace(min(line[0], analysis.settings.leave_out), max(line[-1], analysis.settings.leave_out), 80)
        )
    along = np.tile(np.median(measured, axis=0), (len(line), 1))
    along[:, 0] = line
    for column, track in enumerate(tracks):
        for row, name in enumerate(("frequency", "damping", "amplitude")):
            _law_panel(axes[row, column], analysis, track, name, along)
        axes[0, column].set_title(f"mode {track.number}", fontsize=10)
        axes[2, column].set_xlabel(analysis.survey.names[0])
    for row, label in enumerate(("frequency, Hz", "damping ratio, %", "amplitude |R|")):
        axes[row, 0].set_ylabel(label)
    by_label: dict[str, Any] = {}
    for place in axes.ravel():
        by_label |= dict(zip(*reversed(place.get_legend_handles_labels()), strict=True))
    columns = 4 if len(tracks) > 2 else 2
    figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=columns, frameon=False)
    return figure


def _law_panel(place: Any, analysis: ModalAnalysis, track: Any, name: str, along: np.ndarray) -> None:
    factor = 100.0 if name == "damping" else 1.0
    law = getattr(analysis.laws[track.number], name)
    x = along[:, 0]
    interval = law.interval(along)
    if interval is not None:
        place.fill_between(
            x, factor * interval[0], factor * interval[1], color="0.87", lw=0, label="95 % interval of the law"
        )
    place.plot(x, factor * law.at(along), color=BLUE, lw=1.4, label="law")
    own = [(condition[0], getattr(estimate, name)) for condition, estimate in track.estimates.items()]
    scatter = [factor * (number.scatter if number.scatter is not None else 0.0) for _, number in own]
    place.errorbar([c for c, _ in own], [factor * n.value for _, n in own], yerr=scatter, fmt="o", color=BLACK, ms=5,
                   capsize=3, lw=1.1, label="measured; bars are the scatter")  # fmt: skip
    away = [row for row in analysis.forecasts if row.mode == track.number and row.quantity == name]
    if away:
        x, y = [row.condition[0] for row in away], [factor * row.measured for row in away]
        place.plot(x, y, "D", color=RED, mfc="white", mew=1.8, ms=7, label="left out, measured")
    if name != "frequency":
        place.set_ylim(bottom=max(0.0, place.get_ylim()[0]))
    place.ticklabel_format(axis="y", useOffset=False)


def _strongest(analysis: ModalAnalysis) -> list[Any]:
    """The highest of the modes found in every condition, ordered by frequency."""
    tracks = [t for t in (analysis.sound or analysis.tracks) if len(t.estimates) == len(analysis.train.conditions)]
    tracks = tracks or list(analysis.tracks)

    power = analysis.found[0].fits[0].response.power
    weights = {track.number: max(height(own, power) for own in track.estimates.values()) for track in tracks}
    chosen = sorted(tracks, key=lambda track: -weights[track.number])[:_MOST_MODES]
    return sorted(chosen, key=lambda track: track.frequency)


def _spread(count: int) -> list[int]:
    return sorted({round(k) for k in np.linspace(0, count - 1, min(_MOST_PANELS, count))})


def _shown(analysis: ModalAnalysis) -> list[ConditionModes]:
    return [analysis.found[k] for k in _spread(len(analysis.found))]


def _title(place: Any, analysis: ModalAnalysis, own: ConditionModes) -> None:
    if len(analysis.train.conditions) > 1 or len(own.repetitions) > 1:
        words = analysis.survey.describe(own.condition)
        place.set_title(plain(f"{words}, one of {len(own.repetitions)} measurements", 80), fontsize=10)
