"""Sentences of the library in the words of the page: what it calls options and parameters are boxes and ticks there."""

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
# In this order: what is said of two options at once comes before what is said of each.
_PHRASES = (
    (r"say --missing-mark ('[^']*'|\S+) --missing drop", r'write \1 into "Marks of missing values"'),
    (r"leave out their rows with --missing drop", 'tick "leave out the rows with gaps"'),
    (
        r"choose other columns with --features, or leave this one out with --exclude",
        "take away the tick of this column",
    ),
    (r"choose columns with --features", "take away its tick"),
    (r"Leave columns out with --exclude", "Take away the ticks of columns with gaps"),
    (r"leave out --decimal", 'empty "Decimal mark"'),
    *((rf"say --{name} (\S+?)(?=[.,;]? |\.?$|\))", rf'write \1 into "{box}"') for name, box in _LAYOUT.items()),
    *((rf"--{name} (\S+) does", rf'write \1 into "{box}"') for name, box in _LAYOUT.items()),
    *((rf"say --{name}(?!-)", rf'say it in "{box}"') for name, box in _LAYOUT.items()),
    *((rf"--{name} (?=\S)", rf'"{box}" ') for name, box in _LAYOUT.items()),
    *((rf"--{name}(?!-)", rf'"{box}"') for name, box in _LAYOUT.items()),
)


def said_on_the_page(sentence: str, path: Path) -> str:
    """The sentence with the name of the file alone, since where this session keeps it is of no interest, and in the
    words of the page."""
    told = sentence.replace(str(path), path.name)
    for phrase, words in _PHRASES:
        told = re.sub(phrase, words, told)
    return plainly(told)
