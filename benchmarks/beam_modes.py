"""Modal analysis of the measured beam: damping compared with fits of single peaks, and left-out levels.

    python benchmarks/beam_modes.py DATA [--repetitions 70] [--parts damping,levels]

DATA is the folder of the beam's measurements (docs/resonances.md says where to get them). For comparison, each peak of
each file is fitted with a single mode, a constant and a slope, by least squares on the complex values within 6 % of the
middle of a window.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from ceql.frf.modal.analysis import ModalAnalysis, ModalSettings, analyse_modes
from ceql.frf.modal.sets import Survey
from ceql.frf.readers import Source, read_survey

WINDOWS = ((100.0, 200.0), (330.0, 450.0), (690.0, 810.0), (1080.0, 1280.0))
MIDDLES = (140.0, 385.0, 748.0, 1165.0)
REACH = 0.06
LEVELS = (0.0, 2.96, 5.92, 8.87)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--repetitions", type=int, default=70)
    parser.add_argument("--parts", default="damping,levels")
    given = parser.parse_args()
    if not (given.data / "Beam_healthy").is_dir():
        print(f"Skipped: {given.data} does not hold the beam's measurements (no folder Beam_healthy).")
        return
    survey = read_survey([given.data], Source(band=(50.0, 2000.0), numbers="repetitions")).survey
    survey = survey.only([one for one in survey.sets if one.repetition <= given.repetitions])
    if "damping" in given.parts:
        show_damping(survey)
    if "levels" in given.parts:
        show_levels(survey)


def show_damping(survey: Survey) -> None:
    begin = time.perf_counter()
    analysis = analyse_modes(survey, ModalSettings(windows=WINDOWS))
    print(f"{len(survey.sets)} files, {time.perf_counter() - begin:.0f} s; R2 of single files by their modes", end=" ")
    print(f"{analysis.r2_fits:.3f} (median), of the mean magnitudes by the laws {analysis.r2_train:.3f}")
    errors = np.array([abs(peak.error_hz) for peak in analysis.peaks])
    print(f"peaks of the mean magnitude: mean error {errors.mean():.2f} Hz, largest {errors.max():.2f} Hz")
    print("| d | frequency Hz | damping | ± | fits of single peaks: median | mean | beside the median % |")
    print("|---|---|---|---|---|---|---|")
    for condition in survey.conditions:
        sets = survey.under(condition)
        beside = np.array([[single_peak(one.frequency, one.curves[0], m) for m in MIDDLES] for one in sets])
        for k, (low, high) in enumerate(WINDOWS):
            own = strongest_in(analysis, condition, low, high)
            middle, mean = np.median(beside[:, k, 1]), np.mean(beside[:, k, 1])
            print(
                f"| {condition[0]:g} | {own.frequency.value:.2f} | {own.damping.value:.5f} | {own.damping.error:.5f} | "
                f"{middle:.5f} | {mean:.5f} | {100 * (own.damping.value / middle - 1):+.0f} |",
                flush=True,
            )


def strongest_in(analysis: ModalAnalysis, condition: tuple[float, ...], low: float, high: float):
    inside = [
        track.estimates[condition]
        for track in analysis.tracks
        if condition in track.estimates and low < track.estimates[condition].frequency.value < high
    ]
    return max(inside, key=lambda own: own.amplitude.value / own.damping.value)


def single_peak(frequency: np.ndarray, curve: np.ndarray, middle: float) -> np.ndarray:
    """Frequency and damping ratio of one mode with a constant and a slope, near the middle of a window."""
    inside = np.abs(frequency - middle) < REACH * middle
    f, h = frequency[inside], curve[inside]

    def left(x: np.ndarray) -> np.ndarray:
        mode = f**2 / (x[0] ** 2 - f**2 + 2j * x[1] * x[0] * f)
        columns = np.column_stack([mode, np.ones_like(f), (f - middle) / middle])
        rest = h - columns @ np.linalg.lstsq(columns, h, rcond=None)[0]
        return np.concatenate([np.real(rest), np.imag(rest)])

    found = least_squares(left, [f[np.argmax(np.abs(h))], 0.007], x_scale=[1.0, 1e-3]).x
    return np.array([found[0], abs(found[1])])


def show_levels(survey: Survey) -> None:
    print("| left out | peak Hz | predicted | error | from | to | within | R2 |\n|---|---|---|---|---|---|---|---|")
    for level in LEVELS:
        analysis = analyse_modes(survey, ModalSettings(leave_out=level, windows=WINDOWS))
        for peak in (peak for peak in analysis.peaks if peak.left_out):
            low, high = peak.low_hz or np.nan, peak.high_hz or np.nan
            within = "yes" if low <= peak.measured_hz <= high else "no"
            print(
                f"| {level:g} | {peak.measured_hz:.1f} | {peak.predicted_hz:.1f} | {peak.error_hz:+.2f} | {low:.1f} | "
                f"{high:.1f} | {within} | {analysis.r2_left_out:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
