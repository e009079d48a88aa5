"""Makes HTML from plain text. All user-provided names pass through `escape` before they become part of a page."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from ceql.expression.symbolic import Expr
from ceql.expression.text.mathml import without_control_characters


def escape(text: object) -> str:
    return html.escape(without_control_characters(str(text)))


def paragraph(text: str, kind: str = "") -> str:
    return f"<p{_class(kind)}>{escape(text)}</p>"


def section(title: str, *parts: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{chr(10).join(part for part in parts if part)}\n</section>"


def collapsed(title: str, *parts: str) -> str:
    """A section that is collapsed until the reader opens it."""
    return f"<details>\n<summary>{escape(title)}</summary>\n{chr(10).join(parts)}\n</details>"


def bullets(texts: Iterable[str], kind: str = "") -> str:
    return f"<ul{_class(kind)}>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def code_block(text: str, kind: str = "") -> str:
    return f"<pre{_class(kind)}><code>{escape(text)}</code></pre>"


def definitions(pairs: Iterable[tuple[str, str]], kind: str = "") -> str:
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs)
    return f"<dl{_class(kind)}>{rows}</dl>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], marked: int | None = None) -> str:
    """A table; the cells are already HTML, and the header is plain text. The row `marked` is highlighted."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(
        f"<tr{_class('chosen' if k == marked else '')}>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
        for k, row in enumerate(rows)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def formula_in_terms(expression: Expr, left: str = "", digits: int = 6) -> str:
    """A formula in which lines may break between its terms."""
    from ceql.expression.text.mathml import terms_as_mathml

    terms = "".join(f"<span>{term}</span> " for term in terms_as_mathml(expression, left, digits))
    return f'<div class="formula">{terms}</div>'


def number(value: float, digits: int = 4) -> str:
    """A short number with a true minus sign."""
    return f"{value:.{digits}g}".replace("-", "−")


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
