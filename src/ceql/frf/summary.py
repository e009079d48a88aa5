"""The results of an analysis in words, tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ceql.frf.analysis import Analysis, explained_scatter
from ceql.frf.modes import Mode, recurrence, standard_errors
from ceql.frf.peak_tracks import Peak, in_words_of

_MOST_LEVELS = 12  # tables with more conditions are written to files only
_MODE_HEADINGS = {
    "term": "term",
    "frequency_hz": "frequency Hz",
    "frequency_error_hz": "± Hz",
    "damping_ratio": "damping",
    "damping_error": "± damping",
    "amplitude": "amplitude",
    "amplitude_error": "± amplitude",
    "q": "Q",
    "flags_in_words": "flags",
}
_PEAK_HEADINGS = {
    "window_in_words": "window Hz",
    "measured_hz": "measured Hz",
    "predicted_hz": "predicted Hz",
    "error_hz": "error Hz",
    "scatter_hz": "scatter Hz",
    "remarks": "remarks",
}


def in_words(analysis: Analysis) -> str:
    """The text that the command prints."""
    fit, data = analysis.fit, analysis.measurements
    what = "H" if analysis.settings.fit_complex else "|H|"
    lines = [
        f"{what}({', '.join(('w', *data.names))}) = {fit.expression}",
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
        lines += [f"Scatter explained in {in_words_of(w)} Hz: {share:.2f}" for w, share in explained_scatter(analysis)]
    return "\n".join([*lines, "", *analysis.notes]).rstrip()


def peak_lines(peaks: Sequence[Peak]) -> list[str]:
    """The error of the formula's peaks, and the number of windows without a peak, where the maximum is at an edge."""
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
    table = pd.DataFrame([_row(mode, analysis.measurements.names, _MODE_HEADINGS) for mode in analysis.modes])
    unknown = [name for name in table.columns if name.startswith("±") and bool(table[name].isna().to_numpy().all())]
    return table.drop(columns=unknown)


def peaks_table(analysis: Analysis) -> pd.DataFrame:
    """One row per window and condition."""
    return pd.DataFrame([_row(peak, analysis.measurements.names, _PEAK_HEADINGS) for peak in analysis.peaks])


def _row(entry: Mode | Peak, names: tuple[str, ...], headings: Mapping[str, str]) -> dict[str, Any]:
    """The cells of a mode or a peak under their headings; the conditions follow the first one."""
    cells = [(heading, getattr(entry, name)) for name, heading in headings.items()]
    return dict([cells[0], *zip(names, entry.condition, strict=True), *cells[1:]])


def as_json(analysis: Analysis) -> dict[str, Any]:
    """The complete result as plain numbers; values that JSON cannot represent (infinity, NaN) become null."""
    fit, data = analysis.fit, analysis.measurements
    scatter = explained_scatter(analysis) if len(data.names) > 1 else []
    found = {
        "expression": str(fit.expression),
        "form": fit.form,
        "frequency_unit": analysis.unit,
        "kind": data.kind.value,
        "unit": data.unit,
        "conditions": data.names,
        "n_terms": len(fit.terms),
        "n_parameters": int(fit.n_parameters),
        "terms": [_term(analysis, k) for k in range(len(fit.terms))],
        "background": fit.background,
        **{name: getattr(analysis, name) for name in ("r2_train", "r2_test", "r2_ceiling", "r2_left_out")},
        "left_out": analysis.settings.leave_out,
        "split": None if analysis.split is None else str(analysis.split),
        **{
            name: [asdict(entry) | {"condition": dict(zip(data.names, entry.condition, strict=True))} for entry in own]
            for name, own in (("modes", analysis.modes), ("peaks", analysis.peaks))
        },
        "scatter_explained": [{"window": window, "share": share} for window, share in scatter],
        "starts": int(fit.starts),
        "seconds": fit.seconds,
        "seed": analysis.settings.seed,
        "notes": analysis.notes,
    }
    return {name: _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def _r2_line(analysis: Analysis) -> str:
    parts = [f"R² {analysis.r2_train:.4f} on the training means"]
    if analysis.test is not None:
        ceiling = f" (the training means reach {analysis.r2_ceiling:.4f})" if analysis.r2_ceiling is not None else ""
        parts.append(f"{analysis.r2_test:.4f} on held-out repetitions{ceiling}")
    if analysis.r2_left_out is not None:
        parts.append(f"{analysis.r2_left_out:.4f} on the level left out, {analysis.settings.leave_out:g}")
    return "; ".join(parts)


def _term(analysis: Analysis, k: int) -> dict[str, Any]:
    fit, term = analysis.fit, analysis.fit.terms[k]
    amplitude = complex(term.amplitude)
    own = [mode.frequency_hz for mode in analysis.modes if mode.term == k + 1]
    poles = [np.asarray(found) * analysis.hertz for found in fit.poles_over_starts]
    return {
        "amplitude": amplitude.real,
        **({"amplitude_imag": amplitude.imag} if amplitude.imag else {}),
        "centre": str(term.centre),
        "damping_ratio" if fit.form == "modal" else "width": float(term.width),
        "standard_errors": standard_errors(term),
        "recurrence": recurrence(poles, np.array(own)),
    }


def _short(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}" if abs(value) < 1e6 else f"{value:.6g}"
