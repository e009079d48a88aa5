"""The parts of a page about a formula with constants of groups: their table, curves and caveats."""

from __future__ import annotations

import numpy as np

from ceql.groups.grouped_formula import GroupedFormula
from ceql.output.curves import in_pieces, shown_range, used_columns
from ceql.output.group_curves import curves, rows_of_group
from ceql.output.report.caveats import caveats
from ceql.output.report.chart import Axis, Chart
from ceql.output.report.laws import error_cell
from ceql.output.report.markup import code_block, escape, number, paragraph, section, table
from ceql.output.report.subject import Subject

_COLOURS = 6  # colours for groups in the style sheet
_MOST = 12  # sentences


def constants_of_groups(subject: Subject, formula: GroupedFormula, words: str) -> str:
    """The section with the shared constants, and a table of the other constants with a row for each group."""
    parts, law = formula.parts, formula.law
    pairs = zip(parts.shared, formula.constants, strict=False)
    shared = [(escape(name), number(value, 15), error_cell(error)) for name, (value, error) in pairs]
    values, errors = (parts.table([pair[k] for pair in formula.constants]) for k in (0, 1))
    head = (escape(formula.column), *(cell for name in parts.own for cell in (escape(name), "standard error")))
    rows = [
        (
            escape(label),
            *(c for v, e in zip(*of_group, strict=True) for c in (number(float(v), 15), error_cell(float(e)))),
        )
        for label, *of_group in zip(parts.labels, values, errors, strict=True)
    ]
    named = "" if law is None else f"{law.name}, from {law.field}."
    none = f"All groups of {formula.column} share all constants."
    return section(
        "Constants",
        code_block(f"{subject.target} = {formula.named}"),
        paragraph(named) if named else "",
        table(("shared constant", "value", "standard error"), shared) if shared else "",
        table(head, rows) if parts.own else paragraph(none),
        paragraph(words, "soft"),
    )


def curves_of_groups(subject: Subject, formula: GroupedFormula) -> str:
    """The section with a chart for each input, with a curve for each group, and the rows if there is only one input."""
    data, columns = subject.data, used_columns(formula)
    limits = shown_range(np.concatenate([data.y, formula(data.x)]))
    figures = []
    for column in columns:
        name = data.names[column]
        low, high = shown_range(data.x[:, column])
        chart = Chart(Axis(low, high, name), Axis(*limits, subject.target), f"the groups along {name}")
        for k, (_, rows, piece) in enumerate(curves(formula, data, column)):
            chart.line(piece.x, in_pieces(piece.y, limits), f"curve g{k % _COLOURS}")
            if len(columns) == 1:
                chart.points(rows.x[:, column], rows.y, f"points g{k % _COLOURS}")
        figures.append(f"<figure>{chart.svg()}<figcaption>{escape(f'Along {name}')}</figcaption></figure>")
    words = f"A curve for each group of {formula.column}, over the range of all rows."
    others = "" if len(columns) < 2 else " The inputs that are not drawn are held at the medians of the group."
    return section("Group by group", paragraph(words + others), f'<div class="charts">{"".join(figures)}</div>')


def caveats_of_groups(subject: Subject, formula: GroupedFormula) -> list[str]:
    """The caveats of all groups; a sentence that several groups share appears once."""
    found: dict[str, list[str]] = {}
    for code, label in enumerate(formula.parts.labels):
        rows = rows_of_group(subject.data, code)
        for sentence in caveats(formula.of_group(label), rows) if len(rows.y) else ():
            found.setdefault(sentence, []).append(label)
    told = [f"{sentence} ({formula.column}: {', '.join(labels)})" for sentence, labels in found.items()]
    return told[:_MOST] + ([f"There are {len(told) - _MOST} more of these."] if len(told) > _MOST else [])
