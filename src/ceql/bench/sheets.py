"""Tables as data, written as Markdown or as LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A cell: its text, its LaTeX if that is different, and whether it is the best of its row."""

    text: str
    tex: str | None = None
    best: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table; `note` explains how to read it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


def number(mean: float, sd: float = math.nan, fixed: bool = False) -> Cell:
    """A cell with a mean and its standard deviation."""
    if not math.isfinite(mean):
        return Cell("–", "--") if math.isnan(mean) else Cell("inf", r"$\infty$")
    style = ".1f" if fixed else ".1e"
    if math.isnan(sd):
        return Cell(f"{mean:{style}}", f"${_power(mean) if not fixed else f'{mean:.1f}'}$")
    text = f"{mean:{style}} ± {sd:{style}}"
    if fixed:
        return Cell(text, rf"${mean:.1f}\pm{sd:.1f}$")
    exponent = math.floor(math.log10(mean)) if mean > 0 else 0
    scaled = (mean / 10.0**exponent, sd / 10.0**exponent)
    factor = rf"\times10^{{{exponent}}}" if exponent else ""
    return Cell(text, rf"$({scaled[0]:.1f}\pm{scaled[1]:.1f}){factor}$")


def _power(value: float) -> str:
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return mantissa if int(exponent) == 0 else rf"{mantissa}\times10^{{{int(exponent)}}}"


def as_markdown(sheet: Sheet, level: int = 2) -> str:
    parts = [f"{'#' * level} {sheet.title}"] if sheet.title else []
    lines = [list(sheet.header), ["---"] * len(sheet.header)]
    lines += [[f"**{c.text}**" if c.best else c.text for c in row] for row in sheet.rows]
    texts = [[text.replace("|", "\\|").replace("\n", " ") for text in line] for line in lines]
    parts.append("\n".join(f"| {' | '.join(line)} |" for line in texts))
    parts += [sheet.note] if sheet.note else []
    return "\n\n".join(parts)


def as_latex(sheet: Sheet) -> str:
    """The table as a LaTeX float, for the packages booktabs and graphicx."""
    rows = [" & ".join(_tex(c) for c in row) + r" \\" for row in sheet.rows]
    lines = [
        r"\begin{table*}[htbp]",
        r"    \centering\small",
        rf"    \caption{{{escaped(sheet.title)}. {escaped(sheet.note)}}}",
        r"    \resizebox{\textwidth}{!}{%",
        rf"    \begin{{tabular}}{{{'l' * len(sheet.header)}}}",
        r"        \toprule",
        "        " + " & ".join(map(escaped, sheet.header)) + r" \\",
        r"        \midrule",
        *(f"        {row}" for row in rows),
        r"        \bottomrule",
        r"    \end{tabular}}",
        r"\end{table*}",
    ]
    return "\n".join(lines)


def _tex(cell: Cell) -> str:
    text = escaped(cell.text) if cell.tex is None else cell.tex
    if not cell.best:
        return text
    # Unlike \textbf, \boldmath also affects formulas.
    return rf"{{\boldmath\bfseries {text}}}"


_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "÷": r"$\div$",
    "–": "--",
    "±": r"$\pm$",
}


def escaped(text: str) -> str:
    """The text with LaTeX's special characters escaped."""
    return re.sub("|".join(map(re.escape, _SPECIAL)), lambda match: _SPECIAL[match[0]], text)
