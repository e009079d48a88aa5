"""Draws the paper's two figures of its beam: curves of two conditions, and predicted against measured peaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ceql.bench.published_frf import PEAKS, peaks
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, RED

_COLOURS = (BLUE, ORANGE, GREEN, RED)


def draw_curves(
    frequency: np.ndarray, repetitions: Sequence[np.ndarray], predicted: np.ndarray, titles: Sequence[str]
) -> Any:
    """Draws measured and predicted magnitudes over the frequency in kHz; one panel and one array (repetitions, points)
    per condition.
    """
    figure = new_figure(5.6 * len(titles), 4.0)
    axes = figure.subplots(1, len(titles), sharey=True, squeeze=False).ravel()
    for place, curves, curve, title in zip(axes, repetitions, predicted, titles, strict=True):
        for k, one in enumerate(curves):
            place.plot(frequency, one, color=GREY, lw=0.3, alpha=0.35, label="measured" if k == 0 else None)
        place.plot(frequency, curves.mean(axis=0), color=BLACK, lw=1.2, label="mean of the measurements")
        place.plot(frequency, curve, color=BLUE, lw=1.8, label="published model, trained here")
        for k, peak in enumerate(peaks(frequency, curves).mean(axis=0)):
            place.axvline(peak, color=RED, ls="--", lw=1.0, label="mean measured peak" if k == 0 else None)
        top = 1.25 * float(max(curves.mean(axis=0).max(), curve.max()))
        place.set(title=title, xlabel="frequency in kHz", xlim=(0.0, float(frequency.max())), ylim=(-0.05 * top, top))
        place.grid(alpha=0.25)
    axes[0].set_ylabel("magnitude, linear")
    axes[0].legend(fontsize=8, loc="upper right")
    return figure


def draw_peaks(measured: np.ndarray, predicted: np.ndarray, damage: Sequence[float]) -> Any:
    """Draws predicted against measured mean peak frequencies, (levels, peaks), in kHz, with the line of equality."""
    figure = new_figure(9.0, 4.0)
    for k, place in enumerate(figure.subplots(1, measured.shape[1])):
        both = np.concatenate([measured[:, k], predicted[:, k]])
        ends = [float(both.min()) - 0.002, float(both.max()) + 0.002]
        place.plot(ends, ends, color=GREY, ls="--", lw=1.2, label="equal")
        for level, x, y, colour in zip(damage, measured[:, k], predicted[:, k], _COLOURS, strict=False):
            place.plot(x, y, "o", color=colour, mec="black", ms=9, label=f"{level:g} % of the mass removed")
        place.set(xlabel="measured, kHz", ylabel="predicted, kHz", title=f"Peak near {PEAKS[k]:g} kHz", aspect="equal")
        place.grid(alpha=0.25)
        if k == 0:
            place.legend(fontsize=8)
    return figure
