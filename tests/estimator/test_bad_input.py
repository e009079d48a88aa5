"""Whatever is wrong with a file, the command says so in a sentence that names the place and the remedy."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

GOOD = "a,b,y\n" + "".join(f"{k},{k * k % 7},{2 * k + 1}\n" for k in range(1, 13))
QUICK = ("--operators", "mul", "--time-limit", "5", "--quiet")


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "good.csv"
    path.write_text(GOOD)
    return path


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty: it needs a header line"),
        ("\n\n", "is empty: it needs a header line"),
        ("a,b,y\n", "has a header but no rows below it"),
        ("a;b;y\n1;2\n", "one column only, 'a;b;y': its columns seem to be separated by ';', so use --separator ';'"),
        ("a;b;y\n1,5;2,5\n", "and --decimal ',' if its numbers have decimal commas"),
        ("a\tb\ty\n1\t2\n", "use --separator tab"),
        ("y\n1\n2\n", "has the column 'y' alone"),
        ("a,b,Y\n1,2,3\n2,3,4\n", "There is no column 'y'. Did you mean 'Y'?"),
        ("a,b,y\n1,2,3\n2,red,4\n", "line 3, column 'b': 'red' is not a number. Correct it, or choose other columns"),
        ("a,b,y\n\n1,2,3\n\n2,red,4\n", "line 5, column 'b': 'red' is not a number"),
        ('a,b,y\n"1\n",2,3\n2,red,4\n', "line 4, column 'b': 'red' is not a number"),
        ("a,b,y\n1,2,3\n2,3,oops\n", "line 3, column 'y': 'oops' is not a number"),
        ("a,b,y\n1,2,\n2,3,\n", "column 'y' is empty, every cell of it is missing. Leave it out."),
        ("a,b,y\n1,2,3\n2,,4\n3,NaN,5\n", "line 3, column 'b': the cell is empty or NaN; 2 of 3 cells"),
        ("a,b,y\n1,2,3\n2,inf,4\n", "line 3, column 'b': the value is infinite. Delete this row."),
        ("a,a,y\n1,2,3\n2,3,4\n", "has several columns named 'a': rename them"),
        ("a, a ,y\n1,2,3\n2,3,4\n", "has several columns named 'a': rename them"),
        ("a,b,y\n1,2,3\n", "X has 1 sample, and any formula fits one row: give at least two"),
        ("a,b,y\n1,2,3,4\n2,3,4,5\n", "a row has more cells than the header has names"),
        ("a,b,y\n1,2,3\n2,3,4,5\n", "Expected 3 fields in line 3, saw 4"),
        ("1,2,3\n2,3,4\n", "begins with numbers: its first line must name the columns"),
        (",a,y\n0,2,3\n1,3,4\n", "column 1 has no name. Name or delete it"),
        ('a,b,y\n"1,5",2,3\n"2,5",3,4\n', "'1,5' is not a number. If its comma is a decimal comma, use --decimal ','."),
        (
            "a,b,y\n1,2,2020-01-01\n2,3,2020-01-02\n",
            "the target is 'y', which holds dates or times, such as '2020-01-01'",
        ),
    ],
)
def test_a_broken_table(ceql, tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_text(content)
    code, out, err = ceql("fit", path, "--target", "y", *QUICK)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert words in err
    assert err.count("\n") == 1


def test_files_that_cannot_be_read(ceql, tmp_path, table):
    assert "There is no file" in ceql("fit", tmp_path / "no.csv", "--target", "y")[2]
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder, not a file" in ceql("fit", tmp_path / "folder.csv", "--target", "y")[2]
    (tmp_path / "t.docx").write_text(GOOD)
    assert (
        "known are .csv, .tsv, .txt, .dat, .parquet, .xlsx, .npz"
        in ceql("fit", tmp_path / "t.docx", "--target", "y")[2]
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(ceql, table):
    table.chmod(0)
    assert "cannot be read: Permission denied" in ceql("fit", table, "--target", "y")[2]


def test_text_in_another_encoding(ceql, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(GOOD.replace("b,", "größe,").encode("latin-1"))
    code, _, err = ceql("fit", path, "--target", "y", *QUICK)
    assert code == 1
    assert "is not encoded in utf-8. Name its encoding, such as --encoding latin-1" in err
    assert ceql("fit", path, "--target", "y", "--encoding", "latin-1", *QUICK)[0] == 0
    assert "There is no encoding 'latn'" in ceql("fit", path, "--target", "y", "--encoding", "latn")[2]
    path.write_bytes(GOOD.encode("utf-16"))
    assert "--encoding utf-16" in ceql("fit", path, "--target", "y")[2]


def test_files_of_other_countries_and_programs(ceql, tmp_path):
    path = tmp_path / "t.csv"
    european = GOOD.replace(",", ";").replace("\n", ",0\n").replace("y,0", "y").replace("a;b;y,0", "a;b;y")
    for content, options in [
        (b"\xef\xbb\xbf" + GOOD.encode(), ()),
        (european.encode(), ("--separator", ";", "--decimal", ",")),
        (GOOD.replace(",", "\t").encode(), ("--separator", "tab")),
        (GOOD.replace("\n", "\r\n").encode(), ()),
        (GOOD.replace(",", " , ").encode(), ()),
        (GOOD.replace("1,1,3", '" 1 ","1",3').encode(), ()),
        (GOOD.replace("\n", ",\n").encode(), ()),  # a separator too many at the end of every line
    ]:
        path.write_bytes(content)
        code, out, err = ceql("fit", path, "--target", "y", *QUICK, *options)
        assert (code, out) == (0, "2*a + 1\n"), (content, err)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--separator", ",", "--decimal", ","), "cannot both be marked by ','"),
        (("--separator", "::"), "one character or one of tab"),
        (("--sheet", "March"), "a .csv file has none"),
        (("--decimal", ",", "--separator", ";"), "one column only"),
    ],
)
def test_layouts_that_do_not_fit(ceql, table, options, words):
    code, _, err = ceql("fit", table, "--target", "y", *options)
    assert code == 1
    assert words in err or "There is no column 'y'" in err


def test_points_where_commas_were_said(ceql, tmp_path):
    (tmp_path / "t.csv").write_text("a;y\n1.5;2\n2.5;3\n")
    err = ceql("fit", tmp_path / "t.csv", "--target", "y", "--separator", ";", "--decimal", ",")[2]
    assert "'1.5' is not a number. Its numbers have decimal points: leave out --decimal." in err


def test_a_constant_target_is_a_warning(ceql, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,5\n2,5\n3,5\n")
    code, out, err = ceql("fit", tmp_path / "t.csv", "--target", "y", *QUICK)
    assert (code, out) == (0, "5\n")
    assert err == "Warning: y is constant (5), so the formula is that constant. Was the right column chosen?\n"


def test_a_text_column_is_no_trouble_when_it_is_not_used(ceql, tmp_path):
    (tmp_path / "t.csv").write_text("a,note,y\n" + "".join(f"{k},ok,{2 * k}\n" for k in range(1, 9)))
    assert ceql("fit", tmp_path / "t.csv", "--target", "y", "--features", "a", *QUICK)[:2] == (0, "2*a\n")


# ---- the other kinds of files -------------------------------------------------------------------------------------


def frame() -> pd.DataFrame:
    return pd.read_csv(io.StringIO(GOOD))


def arrays(path: Path, **columns: np.ndarray) -> Path:
    np.savez(path, **cast(dict[str, Any], columns))
    return path


def test_every_kind_of_file_gives_the_same(ceql, tmp_path):
    table = frame()
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl")
    table.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    table.to_parquet(tmp_path / "t.parquet", index=False)
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"note": ["nothing here"]}).to_excel(book, sheet_name="About", index=False)
        table.to_excel(book, sheet_name="Data", index=False, startrow=2, startcol=1)
    arrays(tmp_path / "t.npz", **{name: table[name].to_numpy() for name in table})
    for ending in ("tsv", "parquet", "xlsx", "npz"):
        options = ("--sheet", "Data") if ending == "xlsx" else ()
        assert ceql("fit", tmp_path / f"t.{ending}", "--target", "y", *QUICK, *options)[:2] == (0, "2*a + 1\n"), ending
    err = ceql("fit", tmp_path / "t.xlsx", "--target", "y", "--sheet", "Dta")[2]
    assert "There is no sheet 'Dta'. Did you mean 'Data'?" in err
    assert "has the ending" not in err


def test_a_matrix_and_its_target(ceql, tmp_path):
    table = frame()
    path = arrays(tmp_path / "t.npz", X=table[["a", "b"]].to_numpy(), y=table["y"].to_numpy())
    assert ceql("fit", path, "--target", "y", *QUICK)[:2] == (0, "2*x1 + 1\n")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": np.ones(3), "y": np.ones(4)}, "differ in length: a has 3, y has 4"),
        ({"a": np.ones((3, 2)), "y": np.ones(3)}, "the array 'a' has the shape (3, 2)"),
        ({"a": np.array([1, None], dtype=object), "y": np.ones(2)}, "not an .npz archive of plain numbers"),
        ({"a": np.ones(3) * 1j, "y": np.ones(3)}, "is complex"),
        ({"X": np.ones((3, 1)), "x1": np.ones(3), "y": np.ones(3)}, "several columns named 'x1'"),
        ({}, "is empty"),
        ({"a": np.array([1.0, np.nan]), "y": np.ones(2)}, "row 2, column 'a': the cell is empty or NaN"),
    ],
)
def test_archives_that_are_no_table(ceql, tmp_path, columns, words):
    code, _, err = ceql("fit", arrays(tmp_path / "t.npz", **columns), "--target", "y", *QUICK)
    assert code == 1
    assert words in err


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("npz", "is not an .npz archive"),
        ("parquet", "is not a Parquet file, or only part of one"),
        ("xlsx", "is not an Excel workbook, or only part of one"),
    ],
)
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and nothing more", b"a,b,y\n1,2,3\n"])
def test_files_with_a_wrong_ending(ceql, tmp_path, ending, words, content):
    path = tmp_path / f"t.{ending}"
    path.write_bytes(content)
    code, _, err = ceql("fit", path, "--target", "y")
    assert code == 1
    assert words in err


def test_cells_of_a_workbook_are_named_by_their_row(ceql, tmp_path):
    pytest.importorskip("openpyxl")
    table = frame().astype(object)
    table.loc[3, "b"] = "red"
    table.to_excel(tmp_path / "t.xlsx", index=False)
    assert "row 5, column 'b': 'red' is not a number" in ceql("fit", tmp_path / "t.xlsx", "--target", "y")[2]
    table.columns = ["a", "a", "y"]
    table.to_excel(tmp_path / "t.xlsx", index=False)
    assert "several columns named 'a'" in ceql("fit", tmp_path / "t.xlsx", "--target", "y")[2]
    pd.DataFrame().to_excel(tmp_path / "t.xlsx")
    assert "the sheet is empty; choose one with --sheet" in ceql("fit", tmp_path / "t.xlsx", "--target", "y")[2]


def test_dates_in_parquet(ceql, tmp_path):
    pytest.importorskip("pyarrow")
    table = frame().assign(b=pd.date_range("2020-01-01", periods=12))
    table.to_parquet(tmp_path / "t.parquet")
    _, out, err = ceql("fit", tmp_path / "t.parquet", "--target", "y", *QUICK)
    assert out == "2*a + 1\n"
    assert "column 'b' holds dates or durations: left out." in err
    assert "convert them to numbers" in ceql("fit", tmp_path / "t.parquet", "--target", "y", "--features", "a,b")[2]


def test_rows_with_gaps_are_dropped_on_request(ceql, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(GOOD.replace("3,2,7", "3,,7").replace("5,4,11", "5,4,NA"))
    code, out, err = ceql("fit", path, "--target", "y", *QUICK, "--missing", "drop")
    assert (code, out) == (0, "2*a + 1\n")
    assert err == f"Note: {path}: 2 of 12 rows have gaps: left out.\n"


def test_numbers_as_names_are_told_from_numbers(ceql, tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({0: [1.0, 2.0, 3.0, 5.0, 6.0], 1: [2.0, 5.0, 1.0, 4.0, 4.5]})
    table.assign(y=2 * table[0] + 1).rename(columns=str).to_csv(tmp_path / "t.csv", index=False)
    assert ceql("fit", tmp_path / "t.csv", "--target", "y", *QUICK)[1] == "2*`0` + 1\n"
    table.to_parquet(tmp_path / "t.parquet")  # with whole numbers as names
    assert ceql("laws", tmp_path / "t.parquet", "--target", "1", "--features", "0")[0] == 0


@pytest.mark.parametrize(("package", "ending"), [("pyarrow", "parquet"), ("openpyxl", "xlsx")])
def test_a_missing_package_is_named(ceql, tmp_path, monkeypatch, package, ending):
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / f"t.{ending}").write_bytes(b"PK")
    err = ceql("fit", tmp_path / f"t.{ending}", "--target", "y")[2]
    assert f"needs {package}, which is not installed: pip install 'ceql[tables]'" in err


def test_the_layout_of_text_is_refused_elsewhere(ceql, tmp_path):
    arrays(tmp_path / "t.npz", y=np.ones(3))
    err = ceql("fit", tmp_path / "t.npz", "--target", "y", "--decimal", ",")[2]
    assert "are for text (.csv, .tsv, .txt, .dat), not for .npz" in err


# ---- places to write to -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--save", "--json"])
def test_a_bad_place_is_found_before_the_search(ceql, tmp_path, table, option):
    asked = (
        "fit",
        table,
        "--target",
        "y",
        "--operators",
        "lgo",
        option,
    )  # a search would begin with "Unknown operator"
    code, _, err = ceql(*asked, tmp_path / "no folder" / "file")
    assert code == 1
    assert "cannot be written: No such file or directory. Choose another file." in err
    assert "cannot be written: Is a directory" in ceql(*asked, tmp_path)[2]
    assert "operator 'lgo'" in ceql(*asked, tmp_path / "file")[2]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(ceql, tmp_path, table):
    tmp_path.chmod(0o500)
    assert "cannot be written: Permission denied" in ceql("fit", table, "--target", "y", "--save", tmp_path / "m")[2]


def test_trying_a_place_leaves_no_trace(tmp_path):
    from ceql.storage.destinations import check_writable

    (tmp_path / "old").write_text("as it was")
    check_writable(tmp_path / "old", tmp_path / "new", None, Path("-"))
    assert (tmp_path / "old").read_text() == "as it was"
    assert not (tmp_path / "new").exists()


def test_a_model_is_not_saved_to_standard_output(ceql, table):
    code, _, err = ceql("fit", table, "--target", "y", "--save", "-")
    assert code == 2
    assert "cannot be written to '-'" in err
