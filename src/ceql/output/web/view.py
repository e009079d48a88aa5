"""A fitted model as plain data for a page: its rows, each with its formula, constants, caveats and program."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ceql.choice.evidence import sentence
from ceql.data.dataset import Dataset
from ceql.errors import InputError
from ceql.formula import Formula
from ceql.groups.grouped_formula import GroupedFormula
from ceql.output.curves import DRAWN_ROWS, goodness, slice_along, used_columns
from ceql.output.export import write
from ceql.output.plain_words import plainly
from ceql.output.report.caveats import caveats
from ceql.output.report.groups import caveats_of_groups
from ceql.output.report.reproduce import command_line, not_on_the_command_line, python_lines
from ceql.output.report.subject import Subject
from ceql.output.web.constants import adjustable, own_constants
from ceql.output.web.typeset import typeset

_MOST_COLUMNS = 24  # unused columns that residuals can be drawn against
_LONGEST_EXAMINED = 60  # nodes; the poles of longer formulas are computed only for the chosen and the reported row
COPIED = ("python", "excel", "latex")  # languages in a report; the local page has all of them


def view(subject: Subject, languages: Sequence[str] = COPIED) -> dict[str, Any]:
    """All data that the components draw. Numbers that are not finite are null."""
    data, discovery = subject.data, subject.discovery
    few = data.thinned(DRAWN_ROWS)
    units = () if discovery.units is None else discovery.units.columns
    carried = {one.name: one.text for one in units if one.text}
    labels = next((list(one.parts.labels) for one in discovery.formulas if isinstance(one, GroupedFormula)), None)
    return {
        "target": subject.target,
        "y": _packed(few.y),
        "columns": [
            {
                **_column(data, few, k),
                "unit": carried.get(data.names[k], ""),
                "labels": labels if k == len(data.names) - 1 else None,
            }
            for k in _shown_columns(discovery.formulas, data)
        ],
        "unit": "" if discovery.units is None else discovery.units.target.text,
        "rows": [_row(subject, k, languages) for k in range(len(discovery.formulas))],
        "front": len(discovery.front),
        "chosen": discovery.chosen,
        "shown": subject.row,
        "drawn": len(few.y),
        "there": len(data.y),
        "outcome": plainly(discovery.outcome.value),
        "seconds": discovery.seconds,
        "doubt": sentence(discovery.formulas, discovery.weights, data) or "",
        "struck": [{"text": str(one.formula), "why": one.why} for one in discovery.struck],
        "python": python_lines(subject),
        "command": command_line(subject) or "",
        "no_command": not_on_the_command_line(subject),
    }


def as_script_data(content: Any) -> str:
    """JSON that is safe inside a script element: no text in it can end the element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _row(subject: Subject, k: int, languages: Sequence[str]) -> dict[str, Any]:
    discovery, data, formula = subject.discovery, subject.data, subject.discovery.formulas[k]
    quality, free = goodness(formula, data), adjustable(formula, data, discovery.units)
    used, grouped = used_columns(formula), isinstance(formula, GroupedFormula)
    is_examined = k in (discovery.chosen, subject.row) or formula.complexity <= _LONGEST_EXAMINED
    return {
        "text": str(formula),
        "math": typeset(formula.shown, subject.target),
        "named": typeset(free.named, subject.target) if free.constants else None,
        "code": _code(formula, data.names, subject.target, languages),
        "groups": own_constants(formula) if isinstance(formula, GroupedFormula) else None,
        "complexity": formula.complexity,
        "loss": finite(formula.loss),
        "weight": _of_row(discovery.weights, k),
        "r2": finite(quality.r2),
        "r2_cv": _of_row(discovery.r2_cv, k),
        "rmse": finite(quality.rmse),
        "largest": finite(quality.largest),
        "law": None if formula.law is None else {"name": formula.law.name, "text": formula.law.text},
        "constants": list(free.constants),
        "program": free.program,
        "used": used,
        "caveats": _careful(subject, formula) if is_examined else None,
        "borders": {} if grouped or not is_examined else {str(c): _borders(formula, data, c) for c in used},
    }


def _careful(subject: Subject, formula: Formula) -> list[str]:
    if isinstance(formula, GroupedFormula):
        return caveats_of_groups(subject, formula)
    return caveats(formula, subject.data)


def _code(formula: Formula, names: Sequence[str], target: str, languages: Sequence[str]) -> dict[str, str]:
    """The formula in each language that can express it; only LaTeX can name constants of groups."""
    if isinstance(formula, GroupedFormula) and formula.parts.own:
        languages = [language for language in languages if language == "latex"]
    elif isinstance(formula, GroupedFormula):
        formula, names = formula.of_group(formula.parts.labels[0]), names[:-1]
    found: dict[str, str] = {}
    for language in languages:
        try:
            found[language] = write(formula, names, language, target)
        except InputError:  # this formula cannot be exported
            continue
    return found


def _borders(formula: Formula, data: Dataset, column: int) -> list[dict[str, Any]]:
    """Where the formula is singular along a column, with the others at their medians."""
    found = slice_along(formula, data, column).borders
    return [{"kind": border.kind, "at": border.location} for border in found if border.location is not None]


def _shown_columns(formulas: Iterable[Formula], data: Dataset) -> list[int]:
    formulas = list(formulas)
    used = {k for formula in formulas for k in used_columns(formula)}
    if any(isinstance(formula, GroupedFormula) for formula in formulas):
        used.add(len(data.names) - 1)  # the group of each row
    others = [k for k in range(len(data.names)) if k not in used]
    return sorted([*used, *others[:_MOST_COLUMNS]])


def _column(data: Dataset, few: Dataset, k: int) -> dict[str, Any]:
    values = data.x[:, k]
    numbers = {"low": float(values.min()), "high": float(values.max()), "median": float(np.median(values))}
    return {"index": k, "name": data.names[k], **numbers, "values": _packed(few.x[:, k])}


def _packed(values: np.ndarray) -> str:
    """The values with all digits as a short text (base64)."""
    return base64.b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode("ascii")


def _of_row(values: Sequence[float], k: int) -> float | None:
    return finite(values[k]) if values else None


def finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
