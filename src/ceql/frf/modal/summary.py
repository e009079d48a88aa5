"""The results of a modal analysis in words, tables and JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ceql.frf.analysis import unit_of
from ceql.frf.modal.analysis import ModalAnalysis
from ceql.frf.modal.formula import formula_of, laws_in_words, strongest_point
from ceql.frf.modal.shapes import mac
from ceql.frf.modal.tracks import Estimate, ModeTrack

_MOST_ROWS = 60  # longer tables are cut off and written in full to files only


def unit_of_analysis(analysis: ModalAnalysis) -> tuple[str, float]:
    return unit_of(np.array([max(one.frequency[-1] for one in analysis.survey.sets)]))


def in_words(analysis: ModalAnalysis) -> str:
    """The text that the command prints."""
    survey = analysis.survey
    sets = len(analysis.train.sets)
    points = f"{len(survey.points)} points" if len(survey.points) > 1 else "one point"
    lines = [
        f"{len(analysis.sound)} mode{'s' * (len(analysis.sound) != 1)} from {sets} measurement{'s' * (sets > 1)} "
        f"of {points}"
        + (f", and {len(analysis.tracks) - len(analysis.sound)} poles with flags" if _flagged(analysis) else ""),
        f"{survey.kind.value} in {survey.unit or 'the unit of the files'}",
        _r2_line(analysis),
        "",
        "Modes:",
        _text(modes_table(analysis)),
    ]
    if len(analysis.train.conditions) > 1:
        lines += ["", f"Laws over {', '.join(survey.names)}:", _text(laws_table(analysis))]
    if analysis.forecasts:
        lines += ["", "The level left out:", _text(forecast_table(analysis))]
    if analysis.peaks:
        lines += ["", "Peaks of the mean magnitude:", _text(peaks_table(analysis))]
    if len(survey.points) > 2:
        lines += ["", "MAC between the modes:", mac_table(analysis).to_string(float_format=lambda v: f"{v:.2f}")]
    lines += ["", _formula_line(analysis)]
    return "\n".join([*lines, "", *analysis.notes]).rstrip()


def _formula_line(analysis: ModalAnalysis) -> str:
    power = analysis.found[0].fits[0].response.power
    front = {0: "", 1: "s ", 2: "s² "}[power]
    return (
        f"H = {front}[sum of a (c + ...)/(h² + 2 z h s + s²) over the modes + residual terms] with s = i w, h the "
        "frequency, z the damping and a the amplitude of a mode; in full: --quiet, or 'expression' in --json."
    )


def modes_table(analysis: ModalAnalysis) -> pd.DataFrame:
    """One row per mode and condition."""
    rows = []
    for track in analysis.tracks:
        for own in track.estimates.values():
            rows.append(_mode_row(track, own, analysis.survey.names, len(analysis.survey.points)))
    return _without_empty(pd.DataFrame(rows), analysis)


def _without_empty(table: pd.DataFrame, analysis: ModalAnalysis) -> pd.DataFrame:
    """The table without empty columns, and without conditions if there is only one."""
    empty = [name for name in table.columns if bool(table[name].isna().to_numpy().all())]
    alone = analysis.survey.names if len(analysis.survey.conditions) == 1 else ()
    return table.drop(columns=[*empty, *(name for name in alone if name in table.columns)])


def _mode_row(track: ModeTrack, own: Estimate, names: tuple[str, ...], points: int) -> dict[str, Any]:
    row: dict[str, Any] = {"mode": track.number, **dict(zip(names, own.condition, strict=False))}
    for name, heading in (("frequency", "frequency Hz"), ("damping", "damping"), ("amplitude", "amplitude")):
        number = getattr(own, name)
        short = {"frequency": "Hz", "damping": "damping", "amplitude": "amplitude"}[name]
        row |= {heading: number.value, f"± {short}": number.error, f"scatter {short}": number.scatter}
    row |= {"n": own.frequency.count, "phase collinearity": own.collinearity if points > 2 else None}
    return row | {"flags": ", ".join(own.flags)}


def laws_table(analysis: ModalAnalysis) -> pd.DataFrame:
    unit, hertz = unit_of_analysis(analysis)
    rows = []
    for track in analysis.tracks:
        words = laws_in_words(analysis, track.number, hertz)
        rows.append({"mode": track.number, f"frequency, {unit}": words["frequency"], "damping": words["damping"],
                     "amplitude": words["amplitude"]})  # fmt: skip
    return pd.DataFrame(rows)


def forecast_table(analysis: ModalAnalysis) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "mode": row.mode,
                **dict(zip(analysis.survey.names, row.condition, strict=False)),
                "quantity": row.quantity,
                "predicted": row.predicted,
                "from": row.low,
                "to": row.high,
                "measured": row.measured,
                "within": {True: "yes", False: "no", None: ""}[row.contains],
            }
            for row in analysis.forecasts
        ]
    )


def peaks_table(analysis: ModalAnalysis) -> pd.DataFrame:
    names = analysis.survey.names
    table = pd.DataFrame(
        [
            {
                "window Hz": peak.window_in_words,
                **dict(zip(names, peak.condition, strict=False)),
                "measured Hz": peak.measured_hz,
                "predicted Hz": peak.predicted_hz,
                "error Hz": peak.error_hz,
                "from Hz": peak.low_hz,
                "to Hz": peak.high_hz,
                "scatter Hz": peak.scatter_hz,
                "remarks": peak.remarks,
            }
            for peak in analysis.peaks
        ]
    )
    return _without_empty(table, analysis)


def mac_table(analysis: ModalAnalysis) -> pd.DataFrame:
    shapes = np.array([track.shape for track in analysis.tracks])
    numbers = [track.number for track in analysis.tracks]
    return pd.DataFrame(mac(shapes, shapes), index=numbers, columns=numbers)


def shapes_table(analysis: ModalAnalysis) -> pd.DataFrame:
    """For each point the real and imaginary part of every shape, whose largest entry has size one."""
    table: dict[str, Any] = {"point": list(analysis.survey.points)}
    for track in analysis.tracks:
        table[f"mode {track.number} real"] = np.real(track.shape)
        table[f"mode {track.number} imag"] = np.imag(track.shape)
    return pd.DataFrame(table)


def as_json(analysis: ModalAnalysis) -> dict[str, Any]:
    """The complete result as plain numbers; values that JSON cannot represent (infinity, NaN) become null."""
    survey = analysis.survey
    unit, hertz = unit_of_analysis(analysis)
    point = strongest_point(analysis)
    found = {
        "expression": str(formula_of(analysis, point, hertz)),
        "expression_point": survey.points[point],
        "form": "modes",
        "frequency_unit": unit,
        "kind": survey.kind.value,
        "unit": survey.unit,
        "conditions": survey.names,
        "points": survey.points,
        "n_modes": len(analysis.sound),
        "n_poles": len(analysis.tracks),
        **{n: getattr(analysis, n) for n in ("r2_fits", "r2_train", "r2_test", "r2_ceiling", "r2_left_out")},
        "left_out": analysis.settings.leave_out,
        "split": None if analysis.settings.split is None else str(analysis.settings.split),
        "modes": [_mode(track, own, survey.names) for track in analysis.tracks for own in track.estimates.values()],
        "laws": [{"mode": t.number, **laws_in_words(analysis, t.number, hertz)} for t in analysis.tracks],
        "shapes": [_shape(track) for track in analysis.tracks],
        "mac": mac_table(analysis).to_numpy().tolist(),
        "forecasts": [
            asdict(row) | {"condition": dict(zip(survey.names, row.condition, strict=False)), "contains": row.contains}
            for row in analysis.forecasts
        ],
        "peaks": [
            asdict(peak) | {"condition": dict(zip(survey.names, peak.condition, strict=False))}
            for peak in analysis.peaks
        ],
        "stabilisation": [_diagram(analysis, k) for k in range(len(analysis.found))],
        "notes": analysis.notes,
    }
    return {name: _plain(value) for name, value in found.items()}


def _mode(track: ModeTrack, own: Estimate, names: tuple[str, ...]) -> dict[str, Any]:
    ratio = own.damping.value
    return {
        "mode": track.number,
        "term": track.number,
        "condition": dict(zip(names, own.condition, strict=False)),
        "frequency_hz": own.frequency.value,
        "frequency_error_hz": own.frequency.error,
        "frequency_scatter_hz": own.frequency.scatter,
        "damping_ratio": ratio,
        "damping_error": own.damping.error,
        "damping_scatter": own.damping.scatter,
        "amplitude": own.amplitude.value,
        "amplitude_error": own.amplitude.error,
        "amplitude_scatter": own.amplitude.scatter,
        "q": 1.0 / (2.0 * ratio) if ratio > 0 else None,
        "repetitions": own.frequency.count,
        "share_of_repetitions": own.share,
        "share_of_orders": own.recurrence,
        "phase_collinearity": own.collinearity,
        "flags": [str(flag) for flag in own.flags],
        "is_sound": track.is_sound,
    }


def _shape(track: ModeTrack) -> dict[str, Any]:
    return {"mode": track.number, "real": np.real(track.shape).tolist(), "imag": np.imag(track.shape).tolist()}


def _diagram(analysis: ModalAnalysis, place: int) -> dict[str, Any]:
    own = analysis.found[place]
    names = analysis.survey.names
    rows: dict[str, Any] = {"condition": dict(zip(names, own.condition, strict=False))}
    if own.diagram is not None:
        rows |= {"order": own.diagram.order.tolist(), "frequency_hz": own.diagram.frequency.tolist(),
                 "damping_ratio": own.diagram.damping.tolist(), "stable": own.diagram.stable.tolist()}  # fmt: skip
    return rows


def _flagged(analysis: ModalAnalysis) -> bool:
    return len(analysis.tracks) > len(analysis.sound)


def _r2_line(analysis: ModalAnalysis) -> str:
    parts = [f"R² {analysis.r2_fits:.4f} of single measurements by their own modes (median)"]
    if len(analysis.train.conditions) > 1 or analysis.r2_test is not None:
        parts.append(f"{analysis.r2_train:.4f} of the mean magnitudes by the laws")
    if analysis.r2_test is not None:
        ceiling = f" (the training means reach {analysis.r2_ceiling:.4f})" if analysis.r2_ceiling is not None else ""
        parts.append(f"{analysis.r2_test:.4f} on held-out repetitions{ceiling}")
    if analysis.r2_left_out is not None:
        parts.append(f"{analysis.r2_left_out:.4f} on the level left out, {analysis.settings.leave_out:g}")
    return "; ".join(parts)


def _text(table: pd.DataFrame) -> str:
    shown = table if len(table) <= _MOST_ROWS else table.head(_MOST_ROWS)
    in_full: Any = {
        name: "{:.6g}".format for name in ("frequency Hz", "measured Hz", "predicted Hz") if name in shown.columns
    }
    text = shown.to_string(index=False, na_rep="", float_format=_short, formatters=in_full)
    return text if len(table) <= _MOST_ROWS else f"{text}\n... {len(table) - _MOST_ROWS} more rows: see --out or --json"


def _short(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.2f}" if abs(value) < 1e6 else f"{value:.6g}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
