"""Fifty awkward files: each is read as it is meant, and a note says what was recognised, or refused in a sentence."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.data.chosen_columns import Chosen, Wanted, chosen_columns
from ceql.data.formats.file_layout import Layout
from ceql.data.tables import read_cells
from ceql.errors import CeqlError


@dataclass(frozen=True)
class Awkward:
    what: str  # in the words of the page
    file: str
    content: str | bytes
    gets: str  # a word from the note or the error, or "read"
    columns: tuple[str, ...] = ()  # the inputs where it is read
    layout: dict[str, Any] = field(default_factory=dict)  # beside what is recognised
    rows: int = 3
    drop: bool = False
    options: str = ""  # the same on the command line
    first: float = 1.5  # of the first input, in the first row

    @property
    def is_read(self) -> bool:
        return bool(self.columns)


AB = ("a", "b")
DROP = "`--missing drop`"
AWKWARD = (
    Awkward("semicolons", "t.csv", "a;b;y\n1.5;2;3\n2;3;4\n3;4;6\n", "separated by ';'", AB),
    Awkward("semicolons and decimal commas", "t.csv", "a;b;y\n1,5;2;3,5\n2;3;4\n3;4,25;6\n", "decimal commas", AB),
    Awkward("tabs, whatever the ending says", "t.csv", "a\tb\ty\n1.5\t2\t3\n2\t3\t4\n3\t4\t6\n", "by tab", AB),
    Awkward("bars", "t.txt", "a|b|y\n1.5|2|3\n2|3|4\n3|4|6\n", "separated by '|'", AB),
    Awkward(
        "columns aligned by blanks",
        "t.dat",
        "  a    b    y\n 1.5  2.0  3\n 2.0  3.0  4\n10.0 -4.0  6\n",
        "by blanks",
        AB,
    ),
    Awkward(
        "blanks and decimal commas", "t.dat", "a b y\n1,5 2 3,5\n2 3 4\n3 4,25 6\n", "by blanks and its numbers", AB
    ),
    Awkward("commas in a .dat file", "t.dat", "a,b,y\n1.5,2,3\n2,3,4\n3,4,6\n", "separated by ','", AB),
    Awkward(
        "names in a comment",
        "t.dat",
        "# made by NumPy\n# a b y\n1.5 2 3\n2 3 4\n3 4 6\n",
        "from a comment: a, b, y",
        AB,
    ),
    Awkward(
        "comments above and among the rows",
        "t.csv",
        "% run 7\na,b,y\n1.5,2,3\n# paused\n2,3,4\n3,4,6\n",
        "1 line among the rows begins",
        AB,
    ),
    Awkward("no names", "t.dat", "1.5 2 3\n2 3 4\n3 4 6\n", "--names x,y"),
    Awkward(
        "no names, but told them",
        "t.dat",
        "1.5 2 3\n2 3 4\n3 4 6\n",
        "by blanks",
        AB,
        {"names": ("a", "b", "y")},
        options="`--names a,b,y`",
    ),
    Awkward(
        "lines of an instrument above", "t.csv", "Spectrometer 5\nby Anna\na,b,y\n1.5,2,3\n2,3,4\n", "use --skip 2"
    ),
    Awkward(
        "the same, told how many",
        "t.csv",
        "Spectrometer 5\nby Anna\na,b,y\n1.5,2,3\n2,3,4\n3,4,6\n",
        "read",
        AB,
        {"skip": 2},
        options="`--skip 2`",
    ),
    Awkward("a line of units", "t.csv", "a,b,y\nmm,s,N\n1.5,2,3\n2,3,4\n3,4,6\n", "line 2: no number in it", AB),
    Awkward("a name over two lines", "t.csv", '"a\n",b,y\n1.5,2,3\n2,3,4\n3,4,6\n', "read", AB),
    Awkward(
        "a column of text",
        "t.csv",
        "a,note,y\n1.5,ok,3\n2,,4\n3,hot,6\n",
        "'note' holds text, such as 'ok': left out",
        ("a",),
    ),
    Awkward(
        "a column of dates",
        "t.csv",
        "when,a,y\n2024-05-01,1.5,3\n2024-05-02,2,4\n2024-05-03,3,6\n",
        "'when' holds dates or times",
        ("a",),
    ),
    Awkward(
        "a column of times",
        "t.txt",
        "when;a;y\n09:15;1,5;3\n09:30;2;4\n09:45;3;6\n",
        "'when' holds dates or times",
        ("a",),
    ),
    Awkward("an empty column", "t.csv", "a,b,y\n1.5,,3\n2,,4\n3,,6\n", "'b' is empty: left out", ("a",)),
    Awkward(
        "text as the target",
        "t.csv",
        "a,b,y\n1.5,2,low\n2,3,high\n",
        "the target is 'y', which holds text, such as 'low'",
    ),
    Awkward("a gap", "t.csv", "a,b,y\n1.5,2,3\n2,,4\n3,4,6\n", "line 3, column 'b': the cell is empty or NaN"),
    Awkward(
        "a gap, to be dropped",
        "t.csv",
        "a,b,y\n1.5,2,3\n2,,4\n3,4,6\n",
        "1 of 3 rows has gaps: left out",
        AB,
        rows=2,
        drop=True,
        options=DROP,
    ),
    Awkward("a row that ends early", "t.csv", "a,b,y\n1.5,2,3\n2,3\n3,4,6\n", "line 3, column 'y': the cell is empty"),
    Awkward("a row that is too long", "t.csv", "a,b,y\n1.5,2,3\n2,3,4,5\n", "Expected 3 fields in line 3, saw 4"),
    Awkward(
        "a mark for missing", "t.csv", "a,b,y\n1.5,n.a.,3\n2,3,4\n3,4,6\n", "use --missing-mark n.a. --missing drop"
    ),
    Awkward(
        "the same, told so",
        "t.csv",
        "a,b,y\n1.5,2,3\n2,n.a.,4\n3,4,6\n",
        "1 of 3 rows",
        AB,
        {"missing_marks": ("n.a.",)},
        2,
        True,
        f"`--missing-mark n.a.` {DROP}",
    ),
    Awkward("-999 in place of a number", "t.csv", "a,b,y\n1.5,2,3\n2,-999,4\n3,4,6\n", "holds -999 in 1 of 3 rows", AB),
    Awkward(
        "the same, told so",
        "t.csv",
        "a,b,y\n1.5,2,3\n2,-999,4\n3,4,6\n",
        "1 of 3 rows",
        AB,
        {"missing_marks": ("-999",)},
        2,
        True,
        f"`--missing-mark -999` {DROP}",
    ),
    Awkward("a detection limit", "t.csv", "a,b,y\n1.5,<0.05,3\n2,3,4\n", "line 2, column 'b': '<0.05' is not a number"),
    Awkward(
        "units in the cells", "t.csv", "a,b,y\n1.5,2 mm,3\n2,3 mm,4\n", "line 2, column 'b': '2 mm' is not a number"
    ),
    Awkward(
        "thousands or decimals", "t.csv", "a;b;y\n1,234;2;3\n2,345;3;4\n", "whose comma may mark decimals or thousands"
    ),
    Awkward(
        "points for thousands, commas for decimals",
        "t.csv",
        "a;b;y\n1.234,5;2;3\n2,5;3;4\n",
        "line 2, column 'a': '1.234,5' is not a number",
    ),
    Awkward(
        "decimal commas and decimal points",
        "t.csv",
        "a;b;y\n1,5;2.5;3\n2;3;4\n",
        "decimal commas ('1,5') and decimal points ('2.5')",
    ),
    Awkward("two separators that would do", "t.csv", "a;b,y\n1;5,3\n2;6,4\n", "separated by ';' or ','"),
    Awkward("exponents of Fortran", "t.dat", "a b y\n1.5D+00 2 3\n2.0D+00 3 4\n3.0D+00 4 6\n", "by blanks", AB),
    Awkward("a minus sign as printed", "t.csv", "a,b,y\n\u22121.5,2,3\n2,3,4\n3,4,6\n", "read", AB, first=-1.5),
    Awkward("true and false", "t.csv", "a,on,y\n1.5,True,3\n2,False,4\n3,True,6\n", "count as 1 and 0", ("a", "on")),
    Awkward("numbers as names", "t.csv", "0,1,y\n1.5,2,3\n2,3,4\n3,4,6\n", "read", ("0", "1")),
    Awkward("a column without a name", "t.csv", ",a,y\n0,1.5,3\n1,2,4\n", "column 1 has no name"),
    Awkward("two columns of one name", "t.csv", "a,a,y\n1.5,2,3\n2,3,4\n", "several columns named 'a'"),
    Awkward("a separator at the end of each line", "t.csv", "a,b,y,\n1.5,2,3,\n2,3,4,\n3,4,6,\n", "read", AB),
    Awkward(
        "a mark of Windows and its line ends",
        "t.csv",
        b"\xef\xbb\xbfa,b,y\r\n1.5,2,3\r\n2,3,4\r\n3,4,6\r\n",
        "read",
        AB,
    ),
    Awkward("line ends of an old Mac", "t.csv", b"a,b,y\r1.5,2,3\r2,3,4\r3,4,6\r", "read", AB),
    Awkward(
        "another encoding",
        "t.csv",
        "a,gr\u00f6\u00dfe,y\n1.5,2,3\n2,3,4\n".encode("latin-1"),
        "is not encoded in utf-8. Name its encoding, such as --encoding latin-1",
    ),
    Awkward("UTF-16, as spreadsheets write it", "t.txt", "a\tb\ty\n1.5\t2\t3\n".encode("utf-16"), "--encoding utf-16"),
    Awkward(
        "a workbook with the wrong ending",
        "t.csv",
        b"PK\x03\x04\x14\x00\xff\xfe\x8d",
        "if it is a workbook, its name must end in .xlsx",
    ),
    Awkward("infinity", "t.csv", "a,b,y\n1.5,2,3\n2,inf,4\n", "line 3, column 'b': the value is infinite"),
    Awkward("names and no rows", "t.dat", "a b y\n", "has a header but no rows below it"),
    Awkward("nothing", "t.txt", "\n\n", "is empty: it needs a header line and rows of numbers"),
    Awkward(
        "text all over", "t.csv", "a,b,y\nred,blue,3\ngreen,pink,4\n", "No column of numbers is left besides the target"
    ),
)


def chosen(case: Awkward, folder: Path) -> Chosen:
    path = folder / case.file
    path.write_bytes(case.content if isinstance(case.content, bytes) else case.content.encode())
    table = read_cells(path, Layout(**case.layout))
    return chosen_columns(table, Wanted(["y"], drop_gaps=case.drop))


@pytest.mark.parametrize("case", AWKWARD, ids=[case.what for case in AWKWARD])
def test_it_is_read_with_a_note_or_refused_in_a_sentence(case, tmp_path):
    if not case.is_read:
        with pytest.raises(CeqlError) as refusal:
            chosen(case, tmp_path)
        assert case.gets in str(refusal.value)
        assert str(refusal.value).endswith((".", ".)"))
        return
    found = chosen(case, tmp_path)
    assert tuple(found.x.columns) == case.columns
    assert len(found.x) == len(found.y) == case.rows
    assert found.x.iloc[0, 0] == case.first
    if case.gets == "read":
        assert found.notes == ()
    else:
        assert any(case.gets in note for note in found.notes), found.notes


mess = st.text('ab1290.,;|\t \n\r#%"-e<\u2212', max_size=80)


@settings(max_examples=150, deadline=None)
@given(mess, st.sampled_from([".csv", ".tsv", ".txt", ".dat"]))
def test_whatever_is_in_a_file_no_error_but_our_own_comes_out(content, ending):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        path.write_bytes(content.encode())
        try:
            table = read_cells(path)
            chosen_columns(table, Wanted(table.names[-1:]))
        except CeqlError:
            pass


def test_the_page_lists_them_all():
    page = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
    for row in map(page_row, AWKWARD):
        assert row in page, f"docs/tables.md lacks the row\n{row}"


def page_row(case: Awkward) -> str:
    """A file as the page lists it."""
    told = f" with {case.options}" if case.options else ""
    words = "read, no note" if case.gets == "read" else f'{"note" if case.is_read else "error"}: "... {case.gets} ..."'
    return f"| {case.what} | `{case.file[1:]}`{told} | {words} |".replace("'|'", "'\\|'")
