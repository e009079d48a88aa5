"""The page of a report, part by part, and the card of a model in a notebook."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from ceql.choice.evidence import sentence
from ceql.discovery import Discovery
from ceql.expression.constants.parametrise import with_named_constants
from ceql.formula import constants_of, in_readable_form
from ceql.output.curves import DRAWN_ROWS, Slice, goodness, used_columns
from ceql.output.report.caveats import caveats
from ceql.output.report.chart import fit_charts, front_chart, slice_charts
from ceql.output.report.laws import constants_of_law, error_cell, formula_cell, law_paragraph, struck
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
from ceql.output.report.stylesheet import STYLE
from ceql.output.report.subject import Subject

_SHOWN_WITH = ("ceql", "numpy", "scipy", "sympy", "scikit-learn")
_MOST_EQUATIONS = 3  # of zeros that are too many to draw, under a chart
_OF_ERRORS = (
    "Standard errors from the residuals, as if they were independent noise and the form of the formula certain."
)
_LONGEST_READABLE = 60  # nodes; larger formulas are not searched for a shorter way to write them
# Notebooks have colours of their own: only the layout is ours, and a mark that shows on light and dark.
_CARD_STYLE = """.ceql-card .formula{display:flex;flex-wrap:wrap;align-items:center;gap:.35em .3em;font-size:1.3em;
overflow-x:auto;padding:.4em 0}.ceql-card .scroll{overflow-x:auto}.ceql-card td:last-child,.ceql-card th:last-child{
text-align:left;white-space:normal}.ceql-card tr.chosen{font-weight:bold;background:rgba(230,159,0,.25)}"""


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
        ("time of the search", f"{discovery.seconds:.1f} s"),
    ]
    asked = "" if subject.row == discovery.chosen else paragraph("This row was asked for; it is not the chosen one.")
    return "\n".join([
        "<header>",
        f"<h1>A formula for {escape(subject.target)}</h1>",
        formula_in_terms(subject.formula.expression, subject.target),
        code_block(f"{subject.target} = {subject.formula}"),
        law_paragraph(subject.formula.law),
        _otherwise_written(subject),
        definitions(pairs, "numbers"),
        paragraph(discovery.outcome.value, "outcome"),
        asked,
        "</header>",
    ])  # fmt: skip


def _otherwise_written(subject: Subject) -> str:
    if subject.formula.complexity > _LONGEST_READABLE:
        return ""
    usual = formula_in_terms(subject.formula.expression, subject.target)
    other = formula_in_terms(in_readable_form(subject.formula, subject.data).expression, subject.target)
    return "" if other == usual else paragraph("The same with the shortest constants:", "soft") + other


def domain(subject: Subject) -> str:
    sentences = caveats(subject.formula, subject.data)
    calm = "No pole and no edge of its domain lies within the data or within half their range around them."
    return section("Where to be careful", bullets(sentences, "caveats") if sentences else paragraph(calm))


def front(subject: Subject) -> str:
    discovery = subject.discovery
    places = range(len(discovery.formulas))
    rows = _rows(discovery, list(map(str, places)), [_evidence(discovery, k) for k in places])
    words = "For every size the best formula that was found. The marked row is the one on this page."
    if discovery.shortlist:
        first = len(discovery.front)
        words += f" Rows from {first} on compete beside the front: likely as well, but not the best of their size."
    figure = f"<figure>{front_chart(subject)}</figure>"
    head = ("row", "nodes", "loss", *(("weight", "R², held out") if discovery.weights else ()), "formula")
    doubt = sentence(discovery.formulas, discovery.weights, subject.data)
    told = paragraph(doubt, "outcome") if doubt else ""
    if discovery.weights:
        words += " Weights say how likely a formula is among these, as far as the rows can tell."
    return section("The front", paragraph(words), told, figure, table(head, rows, subject.row), struck(discovery))


def fit(subject: Subject) -> str:
    few = subject.data.thinned(DRAWN_ROWS)
    drawn, beyond = fit_charts(few, subject.formula, subject.target)
    remarks = []
    if len(few.y) < len(subject.data.y):
        remarks.append(f"{len(few.y):,} of {len(subject.data.y):,} rows are drawn; the numbers are of all of them.")
    if beyond:
        remarks.append("Triangles at the edge stand for points beyond the picture.")
    figures = f'<div class="charts">{"".join(f"<figure>{chart}</figure>" for chart in drawn)}</div>'
    return section("Fit and residuals", figures, paragraph(" ".join(remarks), "soft") if remarks else "")


def behaviour(subject: Subject) -> str:
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
    if formula.law is not None:
        return section("Constants", *constants_of_law(formula.law), paragraph(_OF_ERRORS, "soft"))
    # Computed here, because the constants of a formula that was written and read again may stand in another order.
    known = constants_of(formula.form, formula.symbols, subject.data)
    expression, names = with_named_constants(formula.expression)
    if not known:
        return section(
            "Constants", paragraph("The formula has no decimal constants: all its numbers are whole or fractions.")
        )
    rows = [
        (escape(name), number(value, 15), error_cell(error)) for name, (value, error) in zip(names, known, strict=True)
    ]
    return section(
        "Constants",
        formula_in_terms(expression, subject.target),
        table(("constant", "value", "standard error"), rows),
        paragraph(_OF_ERRORS, "soft"),
    )


def how_found(subject: Subject) -> str:
    discovery, data = subject.discovery, subject.data
    searched, there = discovery.columns_searched, len(data.names)
    few = f"{there:,}, of which the search looked at {searched:,}: " if 0 < searched < there else ""
    pairs = [
        ("rows", f"{len(data.y):,}, of which the search looked at {discovery.rows_searched:,}"),
        ("inputs", few + ", ".join(data.names)),
        ("starts", f"{discovery.starts:,}" if discovery.starts else "0: linear algebra found it without a search"),
        ("time", f"{discovery.seconds:.2f} s"),
        ("outcome", discovery.outcome.name.lower().replace("_", " ")),
    ]
    if discovery.imaginary_residue:
        pairs.append(("imaginary residue", number(discovery.imaginary_residue, 2)))
    settings = [(name, in_python(value)) for name, value in subject.parameters.items() if name != "verbose"]
    words = "The page was made with " + ", ".join(f"{name} {_version(name)}" for name in _SHOWN_WITH)
    return section(
        "How it was found",
        definitions(pairs),
        "<h3>Settings</h3>",
        definitions(settings),
        paragraph(f"{words}, Python {platform.python_version()}.", "soft"),
    )


def reproduction(subject: Subject) -> str:
    command = command_line(subject)
    shell = code_block(command) if command else paragraph(not_on_the_command_line(subject), "soft")
    unless = "" if is_repeatable(subject) else " This search had no fixed seed."
    words = "The same data, settings and seed give the same formula, unless the clock ends the search." + unless
    return section("How to find it again", paragraph(words), code_block(python_lines(subject)), shell)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


_PARTS = (header, domain, front, fit, behaviour, constants, how_found, reproduction)


def report_page(subject: Subject) -> str:
    """One HTML document that refers to nothing outside itself."""
    body = "\n".join(part(subject) for part in _PARTS)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A formula for {escape(subject.target)}</title>
<style>{STYLE}</style>
</head>
<body>
{body}
</body>
</html>
"""


def card(discovery: Discovery, target: str = "y") -> str:
    """A fitted model in a notebook: its formula and the front."""
    marks = ["▸" if k == discovery.chosen else "" for k in range(len(discovery.formulas))]
    rows = _rows(discovery, marks, [()] * len(marks))
    front = table(("", "complexity", "loss", "equation"), rows, marked=discovery.chosen)
    formula = formula_in_terms(discovery.best.expression, target)
    outcome = f"<p><small>{escape(discovery.outcome.value)}</small></p>"
    law = law_paragraph(discovery.best.law)
    return f'<div class="ceql-card"><style>{_CARD_STYLE}</style>{formula}{law}{front}{outcome}</div>'


def _rows(discovery: Discovery, first: list[str], evidence: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The formulas as cells, with these before them and what is known of each among them."""
    return [
        (mark, str(f.complexity), number(f.loss), *told, formula_cell(f))
        for mark, f, told in zip(first, discovery.formulas, evidence, strict=True)
    ]


def _evidence(discovery: Discovery, row: int) -> tuple[str, ...]:
    if not discovery.weights:
        return ()
    validated = _of_row(discovery.r2_cv, row)
    return f"{discovery.weights[row]:.2f}", "" if math.isnan(validated) else number(validated)


def _of_row(values: Sequence[float], row: int) -> float:
    return values[row] if values else math.nan
