"""A fitted model in a notebook: its formula and the front."""

from __future__ import annotations

from ceql.discovery import Discovery
from ceql.output.report.markup import escape, formula_in_terms, number, table

# Notebooks have colours of their own: only the layout is ours, and a mark that shows on light and dark.
_STYLE = """.ceql-card .formula{display:flex;flex-wrap:wrap;align-items:center;gap:.35em .3em;font-size:1.3em;
overflow-x:auto;padding:.4em 0}.ceql-card .scroll{overflow-x:auto}.ceql-card td:last-child,.ceql-card th:last-child{
text-align:left;white-space:normal}.ceql-card tr.chosen{font-weight:bold;background:rgba(230,159,0,.25)}"""


def card(discovery: Discovery, target: str = "y") -> str:
    rows = [
        (
            "▸" if k == discovery.chosen else "",
            str(formula.complexity),
            number(formula.loss),
            f"<code>{escape(formula)}</code>",
        )
        for k, formula in enumerate(discovery.front)
    ]
    front = table(("", "complexity", "loss", "equation"), rows, marked=discovery.chosen)
    formula = formula_in_terms(discovery.best.expression, target)
    outcome = f"<p><small>{escape(discovery.outcome.value)}</small></p>"
    return f'<div class="ceql-card"><style>{_STYLE}</style>{formula}{front}{outcome}</div>'
