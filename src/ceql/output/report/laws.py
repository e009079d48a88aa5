"""Formulas on a page: rows of the front, the law of a formula, and formulas that may not be chosen, with the reason."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ceql.dimensions.constants import ConstantUnit
from ceql.discovery import Discovery
from ceql.formula import Formula, NamedLaw
from ceql.output.report.markup import code_block, collapsed, escape, number, paragraph, table


def law_paragraph(law: NamedLaw | None) -> str:
    """The name and the formula of a law as HTML; empty for None."""
    if law is None:
        return ""
    return f"<p><strong>{escape(law.name)}</strong>: <code>{escape(law.text)}</code></p>"


def constants_of_law(law: NamedLaw, units: Sequence[ConstantUnit] = ()) -> tuple[str, ...]:
    """The formula of a law, a table of its constants with their meaning, and other names of the law."""
    rows = [(escape(c.name), number(c.value, 15), error_cell(c.error), escape(c.remark)) for c in law.constants]
    heads = ("constant", "value", "standard error", "meaning")
    if any(own.unit for own in units):
        rows = [(*row, escape(own.unit)) for row, own in zip(rows, units, strict=True)]
        heads = (*heads, "unit")
    words = f"{law.name}, from {law.field}. "
    words += f"The same formula is known as {', '.join(law.others)}." if law.others else ""
    return (
        code_block(law.text),
        table(heads, rows),
        paragraph(words.strip()),
    )


def struck(discovery: Discovery) -> str:
    """A line that expands to the formulas that may not be chosen; empty if there are none."""
    count = len(discovery.struck)
    if not count:
        return ""
    items = "".join(f"<li>{formula_cell(one.formula)}<br>{escape(one.why)}</li>" for one in discovery.struck)
    title = "1 formula was struck" if count == 1 else f"{count} formulas were struck"
    words = "They fit, but claim something that no row shows or determines, so they may not be chosen."
    return collapsed(title, paragraph(words, "soft"), f'<ul class="struck">{items}</ul>')


def error_cell(error: float) -> str:
    return number(error, 2) if math.isfinite(error) else "not determined by the data"


def formula_cell(formula: Formula) -> str:
    """The formula with its name below it; a separate column would leave it too little room on a phone."""
    name = "" if formula.law is None else f"<br><small>{escape(formula.law.name)}</small>"
    return f"<code>{escape(formula)}</code>{name}"


def front_rows(
    discovery: Discovery, first: Sequence[str], evidence: Sequence[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """The formulas as rows of cells, with `first` in front and the cells of `evidence` before the formula."""
    return [
        (mark, str(f.complexity), number(f.loss), *told, formula_cell(f))
        for mark, f, told in zip(first, discovery.formulas, evidence, strict=True)
    ]
