"""Rewords sentences of the library for the page, where options and parameters are fields and checkboxes."""

from __future__ import annotations

import re
from pathlib import Path

from ceql.output.plain_words import plainly

_LAYOUT = {
    "separator": "Separator",
    "decimal": "Decimal mark",
    "encoding": "Encoding",
    "skip": "Lines above the header",
    "sheet": "Sheet of a workbook",
    "names": "Names of the columns",
}
# Applied in this order: phrases about two options come before phrases about each of them.
_PHRASES = (
    (r"use --missing-mark ('[^']*'|\S+) --missing drop", r'write \1 into "Marks of missing values"'),
    (r"leave out their rows with --missing drop", 'tick "leave out the rows with gaps"'),
    (
        r"choose other columns with --features, or leave this one out with --exclude",
        "take away the tick of this column",
    ),
    (r"choose columns with --features", "take away its tick"),
    (r"Leave columns out with --exclude", "Take away the ticks of columns with gaps"),
    (r"leave out --decimal", 'empty "Decimal mark"'),
    *((rf"use --{name} (\S+?)(?=[.,;]? |\.?$|\))", rf'write \1 into "{box}"') for name, box in _LAYOUT.items()),
    *((rf"--{name} (\S+) does", rf'write \1 into "{box}"') for name, box in _LAYOUT.items()),
    *((rf"use --{name}(?!-)", rf'set it in "{box}"') for name, box in _LAYOUT.items()),
    *((rf"--{name} (?=\S)", rf'"{box}" ') for name, box in _LAYOUT.items()),
    *((rf"--{name}(?!-)", rf'"{box}"') for name, box in _LAYOUT.items()),
)


def said_on_the_page(sentence: str, path: Path) -> str:
    """The sentence in the words of the page, with the file's name in place of its path in the session's folder."""
    told = sentence.replace(str(path), path.name)
    for phrase, words in _PHRASES:
        told = re.sub(phrase, words, told)
    return plainly(told)
