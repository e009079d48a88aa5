"""The command `ceql app`, and what it says of a table, without a browser."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql.app.examples import EXAMPLES, example
from ceql.app.phrases import said_on_the_page
from ceql.app.tables import Held, layout_of, safe_file_name, summary
from ceql.app.wishes import LONGEST, Wish
from ceql.data import content
from ceql.data.content import ContentError
from ceql.output.plain_words import plainly
from ceql.search.outcome import Outcome


def test_a_port_that_is_taken_is_said_so(ceql):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        code, out, err = ceql("app", "--no-browser", "--port", other.getsockname()[1])
    assert (code, out) == (1, "")
    assert "cannot be used" in err
    assert "--port" in err


def test_a_table_that_is_not_there_is_said_so(ceql, tmp_path):
    code, _, err = ceql("app", tmp_path / "absent.csv", "--no-browser")
    assert code == 1
    assert "There is no file" in err


def test_what_is_missing_is_told_with_the_command_that_installs_it(ceql, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = ceql("app", "--no-browser")
    assert code == 1
    assert "pip install 'ceql[app]'" in err


def test_the_columns_of_a_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("when,name,n,x,y\n2020-01-01,a,1,1.5,2\n2020-01-02,b,2,,3\n2020-01-03,c,3,3.5,4.5\n", "utf-8")
    found = summary(Held("t1", "table.csv", path))
    kinds = {column["name"]: (column["kind"], column["gaps"]) for column in found["columns"]}
    assert kinds["when"] == ("left out", 0)
    assert kinds["name"] == ("left out", 0)
    assert kinds["x"] == ("numbers", 1)
    assert (found["rows"], found["gaps"], found["target"]) == (3, 1, "y")
    n, x = found["columns"][2], found["columns"][3]
    assert (n["low"], n["high"], n["whole"], n["values"]) == (1.0, 3.0, True, [1.0, 2.0, 3.0])
    assert x["values"] == [1.5, None, 3.5]


@given(st.text(max_size=300))
def test_a_file_keeps_a_name_that_every_disk_takes(name):
    safe = safe_file_name(name)
    assert 3 < len(safe) < 100
    assert not set(safe) & set('/\\:*?"<>|\0\n')
    assert not safe.startswith(".")
    assert "." in safe
    assert safe_file_name(safe) == safe


@pytest.mark.parametrize("one", EXAMPLES, ids=lambda one: one.name)
def test_examples_are_tables_of_numbers(one):
    table = one.table()
    assert example(one.name) is one
    assert np.isfinite(table.to_numpy()).all()
    assert len(table) >= 30


WISH = {
    "target": "y", "leave_out": ["a"], "operators": [], "time_limit": 5.0, "max_complexity": None, "catalogue": True,
    "select": "best", "seed": 0, "drop_gaps": True, "groups": "", "per_group": "auto", "units": {}, "constants": "any",
}  # fmt: skip


def test_a_wish_is_what_was_asked_for():
    wish = Wish.of(WISH)
    assert wish == Wish("y", ("a",), time_limit=5.0)
    assert Wish(**wish.as_json()) == wish
    assert wish.longer(30.0).time_limit == 30.0
    assert wish.longer(2.0).time_limit == 5.0
    assert wish.longer(1e9).time_limit == LONGEST


@pytest.mark.parametrize(
    "changes",
    [
        {"time_limit": 0.5}, {"time_limit": 1e9}, {"time_limit": "5"}, {"select": 3}, {"seed": -1},
        {"max_complexity": 0}, {"max_complexity": 2.5}, {"leave_out": "a"}, {"operators": [1]}, {"catalogue": 1},
        {"per_group": "0"}, {"per_group": "-1"}, {"per_group": "some"}, {"per_group": 1}, {"groups": None},
        {"units": "headers"}, {"units": {"a": 1}}, {"constants": None},
        {"groups": "g", "units": {"a": "mm"}},
    ],
)  # fmt: skip
def test_a_wish_that_makes_no_sense_is_refused(changes):
    with pytest.raises(ContentError):
        Wish.of({**WISH, **changes})


@pytest.mark.parametrize(
    ("changes", "own"),
    [
        ({}, None), ({"per_group": "2"}, None), ({"groups": "g"}, "auto"), ({"groups": "g", "per_group": "2"}, 2),
        ({"groups": "g", "per_group": "none"}, None),
    ],
)  # fmt: skip
def test_groups_have_the_constants_that_were_asked_for(changes, own):
    assert Wish.of({**WISH, **changes}).own_constants == own


def test_units_that_are_blank_are_none():
    assert Wish.of({**WISH, "units": {"a": " mm ", "b": " "}}).units == {"a": "mm"}


def test_units_are_read_from_headers_as_far_as_they_are_some(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a [mm],b (max),c (m/s^2),d\n1,2,3,4\n5,6,7,9\n", encoding="utf-8")
    columns = summary(Held("t1", "t.csv", path))["columns"]
    assert [column["unit"] for column in columns] == ["mm", "", "m/s^2", ""]


def test_a_layout_has_what_was_filled_in():
    empty = {"separator": "", "decimal": "", "encoding": "", "sheet": "", "skip": 0, "names": [], "missing_marks": []}
    assert layout_of(empty) == {}
    assert layout_of({**empty, "skip": 2, "decimal": ",", "missing_marks": ["-999"]}) == {
        "skip": 2,
        "decimal": ",",
        "missing_marks": ("-999",),
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"max_complexity": 0}, "the most nodes of a formula"), ({"time_limit": 0.5}, "the time limit")],
)
def test_a_wish_is_refused_in_the_words_of_the_page(changes, words):
    with pytest.raises(ContentError) as told:
        Wish.of({**WISH, **changes})
    assert words in str(told.value)
    assert "_" not in str(told.value)


@pytest.mark.parametrize("outcome", Outcome)
def test_a_page_names_no_parameters(outcome):
    assert not re.search(r"\w_\w|--", plainly(outcome.value))


def test_sentences_about_files_name_no_options_on_the_page():
    """Every sentence below `ceql.data` that names one, as it stands in the source."""
    folder = Path(content.__file__).parent
    texts = re.findall(r'"([^"\n]*--[a-z][^"\n]*)"', "\n".join(f.read_text() for f in sorted(folder.rglob("*.py"))))
    assert len(texts) > 10
    sentences = [text for text in texts if " " in text]  # a bare option is a name that is compared, not a message
    filled = [re.sub(r"\{[^}]*\}", "3", text) for text in sentences]
    assert [told for one in filled if "--" in (told := said_on_the_page(one, Path("t.csv")))] == []


@pytest.mark.parametrize("first", ["per_group needs", "The per_group needs", "period needs per_group:"])
def test_a_column_keeps_its_name_at_the_beginning(first):
    told = plainly(f"{first} something.")
    assert told[0] == ("p" if first.startswith("period") else first[0].upper() if first[0] == "T" else "C")
