"""Options for reading a file: its separator, decimal mark, encoding or sheet."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from ceql.errors import InputError

# Endings of text files with their usual separators; an empty one means that there is no usual separator.
OF_TEXT = {".csv": ",", ".tsv": "\t", ".txt": "", ".dat": ""}
BLANKS = " "  # one or more spaces or tabs
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": BLANKS}
_PLAIN = ("", "", "utf-8", 0, ())


@dataclass(frozen=True)
class Layout:
    """The options for reading a file; an empty separator or decimal mark is recognised from the file."""

    separator: str = ""
    decimal: str = ""
    encoding: str = "utf-8"
    sheet: str = ""  # empty: the first
    skip: int = 0  # lines above the header
    names: tuple[str, ...] = ()  # names of the columns, if the file has no header
    missing_marks: tuple[str, ...] = ()  # texts of cells that count as missing, besides empty ones and NaN

    def __post_init__(self) -> None:
        object.__setattr__(self, "separator", _WORDS.get(self.separator, self.separator))
        if len(self.separator) > 1:
            raise InputError(f"A separator is one character or one of {', '.join(_WORDS)}, not {self.separator!r}.")
        if self.decimal not in ("", ".", ","):
            raise InputError(f"A decimal mark is '.' or ',', not {self.decimal!r}.")
        if self.separator and self.separator == self.decimal:
            raise InputError(f"Columns and decimals cannot both be marked by {self.decimal!r}: use --separator ';'.")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise InputError(f"There is no encoding {self.encoding!r}; try utf-8, latin-1, cp1252 or utf-16.") from None

    def check(self, ending: str) -> None:
        """Raise an error for options that have no meaning for this kind of file."""
        if self.sheet and ending != ".xlsx":
            raise InputError(f"A sheet is part of a workbook (.xlsx); a {ending} file has none.")
        if ending not in OF_TEXT and (self.separator, self.decimal, self.encoding, self.skip, self.names) != _PLAIN:
            raise InputError(
                "Separator, decimal mark, encoding, lines to skip and names are for text "
                f"({', '.join(OF_TEXT)}), not for {ending}."
            )


DEFAULT = Layout()
