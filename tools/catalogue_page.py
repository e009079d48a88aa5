"""Writes the table of laws into the page of the catalogue: `python tools/catalogue_page.py docs/catalogue.md`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ceql.catalogue.law import Alias, Constant, Law, catalogue

MARK = "<!-- The rest of this page is written by tools/catalogue_page.py. -->"


def tables(laws: tuple[Law, ...]) -> str:
    """One table per field, the plain models first."""
    fields = list(dict.fromkeys(law.field for law in laws))
    return "\n".join(_table(field, [law for law in laws if law.field == field]) for field in fields)


def _table(field: str, laws: list[Law]) -> str:
    head = f"### {field.capitalize()}\n\n| law | formula | constants | also |\n|---|---|---|---|\n"
    return head + "".join(map(_row, laws))


def _row(law: Law) -> str:
    constants = "; ".join(map(_constant, law.constants))
    also = "; ".join(map(_alias, law.others))
    return f"| {law.name} | `{law.formula}` | {constants} | {also} |\n"


def _alias(alias: Alias) -> str:
    symbols = "".join(f", `{here}` = `{there}`" for here, there in alias.symbols.items())
    return f"{alias.name} ({alias.field}{symbols})"


def _constant(constant: Constant) -> str:
    sides = (("> ", constant.above), ("< ", constant.below))
    bounds = [f"{sign}{bound:g}" for sign, bound in sides if bound is not None]
    return f"`{constant.name}` {constant.meaning}" + (f", {' and '.join(bounds)}" if bounds else "")


def page(text: str) -> str:
    """The page with regenerated tables."""
    return f"{text.partition(MARK)[0]}{MARK}\n\n{tables(catalogue())}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    path = parser.parse_args().page
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
