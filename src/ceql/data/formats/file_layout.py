"""What a file does not say about itself: its separator, decimal mark, encoding or sheet."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from ceql.errors import InputError

_OF_TEXT = (".csv", ".tsv")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}


@dataclass(frozen=True)
class Layout:
    separator: str = ""  # the one that belongs to the ending
    decimal: str = "."
    encoding: str = "utf-8"
    sheet: str = ""  # the first

    def __post_init__(self) -> None:
        object.__setattr__(self, "separator", _WORDS.get(self.separator, self.separator))
        if len(self.separator) > 1:
            raise InputError(f"A separator is one character or one of {', '.join(_WORDS)}, not {self.separator!r}.")
        if self.separator == self.decimal:
            raise InputError(f"Columns and decimals cannot both be marked by {self.decimal!r}: say --separator ';'.")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise InputError(f"There is no encoding {self.encoding!r}; try utf-8, latin-1, cp1252 or utf-16.") from None

    def check(self, ending: str) -> None:
        """Refuses what has no meaning for this kind of file."""
        if self.sheet and ending != ".xlsx":
            raise InputError(f"A sheet is part of a workbook (.xlsx); a {ending} file has none.")
        if ending not in _OF_TEXT and (self.separator, self.decimal, self.encoding) != ("", ".", "utf-8"):
            raise InputError(f"Separator, decimal mark and encoding are for .csv and .tsv files, not for {ending}.")


DEFAULT = Layout()
