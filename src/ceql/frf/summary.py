"""An analysis in words, tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ceql.frf.analysis import Analysis, explained_scatter
from ceql.frf.measurements import describe_level
from ceql.frf.modes import Mode, recurrence, standard_errors
from ceql.frf.peak_tracks import Peak

_MOST_LEVELS = 12  # a table with more conditions goes to a file only


def formula_line(analysis: Analysis) -> str:
    """The formula with its variables and the unit of the frequency."""
    what = "H" if analysis.settings.fit_complex else "|H|"
    variables = ", ".join(("w", *analysis.measurements.names))
    return f"{what}({variables}) = {analysis.fit.expression}"


def in_words(analysis: Analysis) -> str:
    """What the command prints."""
    fit, data = analysis.fit, analysis.measurements
    lines = [
        formula_line(analysis),
        f"w in {analysis.unit}; {data.kind.value} in {data.unit or 'the unit of the files'}",
        "",
        f"{len(fit.terms)} terms, {fit.n_parameters} parameters, {fit.starts:,} starts in {fit.seconds:.1f} s",
        _r2_line(analysis),
    ]
    if len(data.levels) <= _MOST_LEVELS:
        lines += ["", "Modes:", modes_table(analysis).to_string(index=False, na_rep="", float_format=_short)]
        lines += ["", "Peaks:", peaks_table(analysis).to_string(index=False, na_rep="", float_format=_short)]
    lines += ["", *peak_lines(analysis.peaks)]
    if len(data.names) > 1:
        lines += [f"Scatter explained in {_window(w)} Hz: {share:.2f}" for w, share in explained_scatter(analysis)]
    return "\n".join([*lines, "", *analysis.notes]).rstrip()


def peak_lines(peaks: Sequence[Peak]) -> list[str]:
    """How far the formula's peaks are off, and how many it lacks: there its largest value is at a window's edge."""
    errors = np.abs([peak.error_hz for peak in peaks if not peak.at_edge])
    missing = len(peaks) - len(errors)
    lines = []
    if len(errors):
        lines += [f"Error of {len(errors)} peaks: mean {_short(errors.mean())} Hz, largest {_short(errors.max())} Hz"]
    if missing:
        lines += [f"No peak of the formula in {missing} of {len(peaks)} windows (at the edge)"]
    return lines


def modes_table(analysis: Analysis) -> pd.DataFrame:
    """One row per term and condition."""
    names = analysis.measurements.names
    rows = [_mode_row(mode, names) for mode in analysis.modes]
    table = pd.DataFrame(rows)
    unknown = [name for name in table.columns if name.startswith("±") and bool(table[name].isna().to_numpy().all())]
    return table.drop(columns=unknown)


def peaks_table(analysis: Analysis) -> pd.DataFrame:
    """One row per window and condition."""
    return pd.DataFrame([_peak_row(peak, analysis.measurements.names) for peak in analysis.peaks])


def as_json(analysis: Analysis) -> dict[str, Any]:
    """Everything that is known, in plain numbers; what JSON cannot hold (infinity, not a number) is null."""
    fit, data = analysis.fit, analysis.measurements
    return {
        "expression": str(fit.expression),
        "form": fit.form,
        "frequency_unit": analysis.unit,
        "kind": data.kind.value,
        "unit": data.unit,
        "conditions": list(data.names),
        "n_terms": len(fit.terms),
        "n_parameters": int(fit.n_parameters),
        "terms": [_term_json(analysis, k) for k in range(len(fit.terms))],
        "background": [_number(value) for value in fit.background],
        "r2_train": _number(analysis.r2_train),
        "r2_test": _number(analysis.r2_test),
        "r2_ceiling": _number(analysis.r2_ceiling),
        "r2_left_out": _number(analysis.r2_left_out),
        "left_out": analysis.settings.leave_out,
        "split": None if analysis.split is None else str(analysis.split),
        "modes": [_mode_json(mode, data.names) for mode in analysis.modes],
        "peaks": [_peak_json(peak, data.names) for peak in analysis.peaks],
        "scatter_explained": [
            {"window": list(window), "share": _number(share)}
            for window, share in (explained_scatter(analysis) if len(data.names) > 1 else [])
        ],
        "starts": int(fit.starts),
        "seconds": _number(fit.seconds),
        "seed": analysis.settings.seed,
        "notes": list(analysis.notes),
    }


def _r2_line(analysis: Analysis) -> str:
    parts = [f"R² {analysis.r2_train:.4f} on the training means"]
    if analysis.test is not None:
        ceiling = f" (the training means reach {analysis.r2_ceiling:.4f})" if analysis.r2_ceiling is not None else ""
        parts.append(f"{analysis.r2_test:.4f} on held-out repetitions{ceiling}")
    if analysis.r2_left_out is not None:
        parts.append(f"{analysis.r2_left_out:.4f} on the level left out, {analysis.settings.leave_out:g}")
    return "; ".join(parts)


def _mode_row(mode: Mode, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "term": mode.term,
        **dict(zip(names, mode.condition, strict=True)),
        "frequency Hz": mode.frequency_hz,
        "± Hz": mode.frequency_error_hz,
        "damping": mode.damping_ratio,
        "± damping": mode.damping_error,
        "amplitude": mode.amplitude,
        "± amplitude": mode.amplitude_error,
        "Q": mode.q,
        "flags": ", ".join(mode.flags),
    }


def _peak_row(peak: Peak, names: tuple[str, ...]) -> dict[str, Any]:
    remarks = [word for word, holds in (("left out", peak.left_out), ("at the edge", peak.at_edge)) if holds]
    return {
        "window Hz": _window(peak.window),
        **dict(zip(names, peak.condition, strict=True)),
        "measured Hz": peak.measured_hz,
        "predicted Hz": peak.predicted_hz,
        "error Hz": peak.error_hz,
        "scatter Hz": peak.scatter_hz,
        "remarks": ", ".join(remarks),
    }


def _term_json(analysis: Analysis, k: int) -> dict[str, Any]:
    fit, term = analysis.fit, analysis.fit.terms[k]
    amplitude = complex(term.amplitude)
    own = [mode.frequency_hz for mode in analysis.modes if mode.term == k + 1]
    poles = [np.asarray(found) * analysis.hertz for found in fit.poles_over_starts]
    shape = {"damping_ratio" if fit.form == "modal" else "width": float(term.width)}
    return {
        "amplitude": _number(amplitude.real),
        **({"amplitude_imag": _number(amplitude.imag)} if amplitude.imag else {}),
        "centre": str(term.centre),
        **{name: _number(value) for name, value in shape.items()},
        "standard_errors": {name: _number(value) for name, value in standard_errors(term).items()},
        "recurrence": _number(recurrence(poles, np.array(own))),
    }


def _mode_json(mode: Mode, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "term": mode.term,
        "condition": dict(zip(names, mode.condition, strict=True)),
        "frequency_hz": _number(mode.frequency_hz),
        "frequency_error_hz": _number(mode.frequency_error_hz),
        "damping_ratio": _number(mode.damping_ratio),
        "damping_error": _number(mode.damping_error),
        "amplitude": _number(mode.amplitude),
        "amplitude_error": _number(mode.amplitude_error),
        "q": _number(mode.q),
        "flags": [flag.value for flag in mode.flags],
    }


def _peak_json(peak: Peak, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "condition": dict(zip(names, peak.condition, strict=True)),
        "window": list(peak.window),
        "measured_hz": _number(peak.measured_hz),
        "predicted_hz": _number(peak.predicted_hz),
        "scatter_hz": _number(peak.scatter_hz),
        "left_out": peak.left_out,
        "at_edge": peak.at_edge,
    }


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _short(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}" if abs(value) < 1e6 else f"{value:.6g}"


def _window(window: tuple[float, float]) -> str:
    return f"{window[0]:.6g}-{window[1]:.6g}"


def level_in_words(analysis: Analysis, level: np.ndarray) -> str:
    return describe_level(analysis.measurements.names, level)
