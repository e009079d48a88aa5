"""The card of a fitted model in a notebook: its formula, the front, and how it fits, drawn as in the report."""

from __future__ import annotations

from ceql.data.dataset import Dataset
from ceql.discovery import Discovery
from ceql.output.curves import DRAWN_ROWS
from ceql.output.plain_words import plainly
from ceql.output.report.chart import fit_charts, front_chart
from ceql.output.report.laws import front_rows, law_paragraph
from ceql.output.report.markup import escape, formula_in_terms, table

# Notebooks are light or dark: drawings use the colour of the text, or tones that are visible on both.
_STYLE = """.ceql-card .formula{display:flex;flex-wrap:wrap;align-items:center;gap:.35em .3em;font-size:1.3em;
overflow-x:auto;padding:.4em 0}.ceql-card .scroll{overflow-x:auto}.ceql-card td:last-child,.ceql-card th:last-child{
text-align:left;white-space:normal}.ceql-card tr.chosen{font-weight:bold;background:rgba(230,159,0,.25)}
.ceql-card .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr));gap:.6rem}
.ceql-card svg.chart{width:100%;max-width:34rem;height:auto}.ceql-card svg text{font:11px sans-serif;fill:currentColor}
.ceql-card svg .frame{fill:none;stroke:currentColor;stroke-opacity:.6}.ceql-card svg .grid{stroke:currentColor;
stroke-opacity:.15}.ceql-card svg .points{fill:none;stroke:currentColor;stroke-width:4;stroke-linecap:round;
stroke-opacity:.65}.ceql-card svg .large{stroke:#2a8bc9;stroke-width:8;stroke-opacity:1}.ceql-card svg .beyond{
fill:none;stroke:currentColor}.ceql-card svg .step,.ceql-card svg .equal{fill:none;stroke:currentColor;
stroke-opacity:.6}
.ceql-card svg .equal{stroke-dasharray:4 3}.ceql-card svg .ring{fill:none;stroke:#d55e00;stroke-width:2.5}"""


def framed(inside: str) -> str:
    """The HTML with a style that affects nothing else in the notebook."""
    return f'<div class="ceql-card"><style>{_STYLE}</style>{inside}</div>'


def card(discovery: Discovery, data: Dataset, target: str = "y") -> str:
    """A card with the formula, law, front and charts of the chosen row."""
    marks = ["▸" if k == discovery.chosen else "" for k in range(len(discovery.formulas))]
    front = table(
        ("", "complexity", "loss", "equation"),
        front_rows(discovery, marks, [()] * len(marks)),
        marked=discovery.chosen,
    )
    formula = formula_in_terms(discovery.best.shown, target)
    outcome = f"<p><small>{escape(plainly(discovery.outcome.value))}</small></p>"
    drawn = [front_chart(discovery, discovery.chosen), *fit_charts(data.thinned(DRAWN_ROWS), discovery.best, target)[0]]
    charts = f'<div class="charts">{"".join(f"<div>{chart}</div>" for chart in drawn)}</div>'
    return framed(f"{formula}{law_paragraph(discovery.best.law)}{front}{charts}{outcome}")
