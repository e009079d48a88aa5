"""Builds the page of a report from its sections."""

from __future__ import annotations

import base64
import hashlib
import math
import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from ceql.choice.evidence import errors_seem_to_grow, sentence
from ceql.discovery import Discovery, constant_units
from ceql.expression.constants.parametrise import with_named_constants
from ceql.formula import constants_of, in_readable_form
from ceql.groups.grouped_formula import GroupedFormula
from ceql.output.curves import DRAWN_ROWS, Slice, goodness, used_columns
from ceql.output.plain_words import plainly
from ceql.output.report.caveats import caveats
from ceql.output.report.chart import fit_charts, front_chart, slice_charts
from ceql.output.report.groups import caveats_of_groups, constants_of_groups, curves_of_groups
from ceql.output.report.laws import constants_of_law, error_cell, front_rows, law_paragraph, struck
from ceql.output.report.markup import (
    bullets,
    code_block,
    definitions,
    escape,
    formula_in_terms,
    number,
    paragraph,
    section,
    table,
)
from ceql.output.report.reproduce import command_line, in_python, is_repeatable, not_on_the_command_line, python_lines
from ceql.output.report.subject import Subject
from ceql.output.report.units import in_words, unit_cells, unit_heads
from ceql.output.web.files import REPORT, STYLES, joined
from ceql.output.web.view import as_script_data, view

_SHOWN_WITH = ("ceql", "numpy", "scipy", "sympy", "scikit-learn")
_MOST_EQUATIONS = 3  # shown under a chart, for poles that are too many to draw
_OF_ERRORS = (
    "Standard errors from the residuals, as if these were independent noise and the form of the formula were certain."
)
_LONGEST_READABLE = 60  # nodes; for larger formulas no shorter way of writing is searched


def header(subject: Subject) -> str:
    quality, discovery = goodness(subject.formula, subject.data), subject.discovery
    r2 = "no variation" if math.isnan(quality.r2) else number(quality.r2, 6)
    validated = _of_row(discovery.r2_cv, subject.row)
    pairs = [
        ("R²", r2),
        *([] if math.isnan(validated) else [("R², rows held out", number(validated, 6))]),
        ("RMSE", number(quality.rmse)),
        ("loss (mean square)", number(subject.formula.loss)),
        ("complexity", f"{subject.formula.complexity} nodes"),
        ("rows", f"{len(subject.data.y):,}"),
        *([] if subject.data.censored is None else [("censored", f"{np.count_nonzero(subject.data.censored):,}")]),
        ("time of the search", f"{discovery.seconds:.1f} s"),
    ]
    asked = (
        "" if subject.row == discovery.chosen else paragraph("This is the row that was asked for, not the chosen one.")
    )
    return "\n".join([
        "<header>",
        f"<h1>A formula for {escape(subject.target)}</h1>",
        formula_in_terms(subject.formula.shown, subject.target),
        code_block(f"{subject.target} = {subject.formula}"),
        law_paragraph(subject.formula.law),
        _otherwise_written(subject),
        definitions(pairs, "numbers"),
        paragraph(plainly(discovery.outcome.value), "outcome"),
        asked,
        "</header>",
    ])  # fmt: skip


def _otherwise_written(subject: Subject) -> str:
    if subject.formula.complexity > _LONGEST_READABLE:
        return ""
    usual = formula_in_terms(subject.formula.expression, subject.target)
    other = formula_in_terms(in_readable_form(subject.formula, subject.data).expression, subject.target)
    return "" if other == usual else paragraph("The same formula with the shortest constants:", "soft") + other


def domain(subject: Subject) -> str:
    formula = subject.formula
    grouped = isinstance(formula, GroupedFormula)
    sentences = caveats_of_groups(subject, formula) if grouped else caveats(formula, subject.data)
    calm = "The formula has no pole and no edge of its domain within the data, or within half their range beyond them."
    asked = paragraph("The shapes that were asked for:") + bullets(subject.shapes, "caveats") if subject.shapes else ""
    return section("Where to be careful", bullets(sentences, "caveats") if sentences else paragraph(calm), asked)


def front(subject: Subject) -> str:
    discovery = subject.discovery
    places = range(len(discovery.formulas))
    rows = front_rows(discovery, list(map(str, places)), [_evidence(discovery, k) for k in places])
    words = "The best formula found for every size. The marked row is the one on this page."
    if discovery.shortlist:
        first = len(discovery.front)
        words += f" Rows from {first} on compete beside the front; none of them is the best of its size."
    figure = f"<figure>{front_chart(discovery, subject.row)}</figure>"
    head = ("row", "nodes", "loss", *(("weight", "R², held out") if discovery.weights else ()), "formula")
    doubt = sentence(discovery.formulas, discovery.weights, subject.data)
    told = paragraph(doubt, "outcome") if doubt else ""
    if errors_seem_to_grow(discovery.formulas, discovery.weights, subject.data):
        told += paragraph(
            f"The scatter grows with {subject.target}, so its largest values dominate the fit. If its errors are "
            f"proportional to it, fit again with sigma={subject.target} and absolute_sigma=False.",
            "outcome",
        )
    if discovery.weights:
        words += " Weights say how likely a formula is among these, judging by the rows."
    return section("The front", paragraph(words), told, figure, table(head, rows, subject.row), struck(discovery))


def fit(subject: Subject) -> str:
    few = subject.data.thinned(DRAWN_ROWS)
    drawn, beyond = fit_charts(few, subject.formula, subject.target)
    remarks = []
    if len(few.y) < len(subject.data.y):
        remarks.append(f"{len(few.y):,} of {len(subject.data.y):,} rows are drawn; the numbers are for all rows.")
    if beyond:
        remarks.append("Triangles at the edge mark points outside the picture.")
    figures = f'<div class="charts">{"".join(f"<figure>{chart}</figure>" for chart in drawn)}</div>'
    return section("Fit and residuals", figures, paragraph(" ".join(remarks), "soft") if remarks else "")


def behaviour(subject: Subject) -> str:
    if isinstance(subject.formula, GroupedFormula):
        return curves_of_groups(subject, subject.formula)
    used = used_columns(subject.formula)
    figures = [
        f"<figure>{chart}<figcaption>{escape(_slice_caption(piece))}</figcaption></figure>"
        for piece, chart in slice_charts(subject)
    ]
    words = "The range of the data is shaded; the curve is dashed beyond it. Vertical lines mark where it is singular."
    others = "" if len(used) < 2 else " The inputs that are not drawn are held at their medians."
    idle = [name for k, name in enumerate(subject.data.names) if k not in used]
    left_out = f"Not part of the formula: {', '.join(idle)}." if idle else ""
    return section(
        "Inside and outside the data",
        paragraph(words + others),
        f'<div class="charts">{"".join(figures)}</div>',
        paragraph(left_out, "soft") if left_out else "",
    )


def _slice_caption(piece: Slice) -> str:
    marks = [f"{border.kind} at {number(border.location or 0.0, 6)}" for border in piece.borders[:6]]
    more = f" and {len(piece.borders) - 6} more" if len(piece.borders) > 6 else ""
    text = f"Along {piece.name}, data from {number(piece.lower)} to {number(piece.upper)}"
    many = [f"{border.kind} wherever {border}" for border in piece.crowded[:_MOST_EQUATIONS]]
    return f"{'; '.join([text, *marks])}{'; '.join([more, *many])}."


def constants(subject: Subject) -> str:
    formula = subject.formula
    if isinstance(formula, GroupedFormula):
        return constants_of_groups(subject, formula, _OF_ERRORS)
    if formula.law is not None:
        units = constant_units(formula, subject.discovery.units)
        return section("Constants", *constants_of_law(formula.law, units), paragraph(_OF_ERRORS, "soft"))
    # Computed here, because the constants of a formula that was saved and loaded may be in a different order.
    known = constants_of(formula.form, formula.symbols, subject.data)
    expression, names = with_named_constants(formula.expression)
    if not known:
        return section(
            "Constants", paragraph("The formula has no decimal constants: all its numbers are whole or fractions.")
        )
    units = constant_units(replace(formula, constants=tuple(known)), subject.discovery.units)
    rows = [
        (escape(name), number(value, 15), error_cell(error), *unit_cells(own, subject.discovery.units))
        for name, (value, error), own in zip(names, known, units, strict=True)
    ]
    return section(
        "Constants",
        formula_in_terms(expression, subject.target),
        table(("constant", "value", "standard error", *unit_heads(subject.discovery.units)), rows),
        paragraph(_OF_ERRORS, "soft"),
    )


def how_found(subject: Subject) -> str:
    discovery, data = subject.discovery, subject.data
    searched, there = discovery.columns_searched, len(data.names)
    few = f"{there:,}, of which the search looked at {searched:,}: " if 0 < searched < there else ""
    pairs = [
        ("rows", f"{len(data.y):,}, of which the search looked at {discovery.rows_searched:,}"),
        ("inputs", few + ", ".join(data.names)),
        *([] if discovery.units is None else [("units", in_words(discovery.units))]),
        ("starts", f"{discovery.starts:,}" if discovery.starts else "0: linear algebra found it without a search"),
        ("time", f"{discovery.seconds:.2f} s"),
        ("outcome", discovery.outcome.name.lower().replace("_", " ")),
    ]
    if discovery.imaginary_residue:
        pairs.append(("imaginary residue", number(discovery.imaginary_residue, 2)))
    settings = [(name, in_python(value)) for name, value in subject.parameters.items() if name != "verbose"]
    return section(
        "How it was found",
        definitions(pairs),
        "<h3>Settings</h3>",
        definitions(settings),
        paragraph(made_with(), "soft"),
    )


def made_with() -> str:
    """A sentence that names the versions a page was made with."""
    versions = ", ".join(f"{name} {_version(name)}" for name in _SHOWN_WITH)
    return f"The page was made with {versions}, Python {platform.python_version()}."


def reproduction(subject: Subject) -> str:
    command = command_line(subject)
    shell = code_block(command, "copied") if command else paragraph(not_on_the_command_line(subject), "soft")
    unless = "" if is_repeatable(subject) else " This search had no fixed seed."
    words = "The same data, settings and seed give the same formula, unless the clock ends the search." + unless
    return section("How to repeat it", paragraph(words), code_block(python_lines(subject), "copied"), shell)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


# Sections about one row, shown without scripts. With scripts, other parts replace them and show any row.
_OF_ONE_ROW = (domain, front, fit, behaviour, constants)
_OF_THE_SEARCH = (how_found, reproduction)


_LIVE = '<script type="application/json" id="ceql-view">{}</script>\n'


def report_page(subject: Subject) -> str:
    """The report as one HTML document that refers to nothing outside itself; only its own scripts may run."""
    still = "\n".join(part(subject) for part in _OF_ONE_ROW)
    live = _LIVE.format(as_script_data(view(subject)))
    search = "\n".join(part(subject) for part in _OF_THE_SEARCH)
    style, scripts = f"\n{joined(STYLES)}", f"\n{joined(REPORT)}"
    allowed = (
        f"default-src 'none'; script-src '{content_hash(scripts)}'; style-src '{content_hash(style)}'; base-uri 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{allowed}; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A formula for {escape(subject.target)}</title>
<style>{style}</style>
</head>
<body>
{header(subject)}
<div class="still">
{still}
</div>
<section id="ceql-live"></section>
{search}
{live}<script>{scripts}</script>
</body>
</html>
"""


def content_hash(text: str) -> str:
    """The hash of a script or style, by which a browser decides whether it may run on a page."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _evidence(discovery: Discovery, row: int) -> tuple[str, ...]:
    if not discovery.weights:
        return ()
    validated = _of_row(discovery.r2_cv, row)
    weight = discovery.weights[row]
    shown = "&lt; 0.01" if 0.0 < weight < 0.005 else f"{weight:.2f}"
    return shown, "" if math.isnan(validated) else number(validated)


def _of_row(values: Sequence[float], row: int) -> float:
    return values[row] if values else math.nan
