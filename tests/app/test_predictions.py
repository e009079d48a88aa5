"""Rows of another file on the page: predicted with bounds, by the row that is shown."""

from __future__ import annotations

import io
import json
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="starlette is not installed: pip install 'ceql[app]'")


from ceql import CEQLRegressor
from ceql.app.new_rows import predicted_rows
from ceql.errors import InputError

NEW = "who,focal,distance\n=cmd,3,6\n<img src=x onerror=window.hacked=1>,,6\nb,2.5,10\n"


def drop_new_rows(page, name: str, content: str) -> None:
    script = """const given = new DataTransfer();
    given.items.add(new File([arguments[1]], arguments[0]));
    document.querySelector("#predictions").dispatchEvent(
      new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));"""
    page.chrome.execute_script(script, name, content)


def test_new_rows_are_predicted_and_taken_away(page, lens, downloads):
    page.drop("lens.csv", lens)
    page.table("lens.csv")
    page.start()
    page.result()
    page.click("#predictions > summary")
    drop_new_rows(page, "new.csv", NEW)
    page.wait(lambda: page.all("table.predicted td"))
    assert "lens.csv" in page.text("#columns h2")  # the new rows are no new table
    cells = [cell.text for cell in page.all("table.predicted tbody tr:first-child td")]
    assert cells == ["=cmd", "3", "6", "6", "6", "6"]
    said = page.text("#predictions .caveats")
    assert "There is no prediction in 1 of 3 rows" in said
    assert "1 of 3 rows lies outside the range" in said
    assert page.chrome.execute_script("return window.hacked") is None
    page.click("#save-predictions")
    made = downloads / "new-predicted.csv"
    page.wait(made.exists)
    table = pd.read_csv(made)
    assert list(table) == ["who", "focal", "distance", "image", "image lower", "image upper"]
    assert table["image"].tolist()[::2] == pytest.approx([6.0, 10 / 3])
    # another row is shown, and predicts
    page.click("tr[data-row='0']")
    value = "table.predicted tbody tr:first-child td:nth-child(4)"
    page.wait(lambda: page.text(value) not in ("6", ""))
    # a file that cannot be used
    drop_new_rows(page, "other.csv", "a,b\n1,2\n")
    page.wait(lambda: "There is no column 'distance'" in page.text("#problem"))
    assert not page.all("table.predicted")
    assert all("status of 4" in entry for entry in page.complaints())  # the browser notes the refusal


def test_a_search_without_a_result_predicts_nothing(address):
    with pytest.raises(HTTPError) as refused:
        urlopen(f"{address}api/runs/r99/predictions", data=b"a,b\n1,2\n", timeout=60)
    assert refused.value.code == 404
    assert "start it again" in json.loads(refused.value.read())["error"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    x = pd.DataFrame({"a": np.linspace(1, 2, 20), "b": np.linspace(3, 1, 20) ** 2})
    path = tmp_path_factory.mktemp("model") / "model.ceql"
    CEQLRegressor(operators=["mul"], time_limit=5).fit(x, pd.Series(2 * x["a"], name="y")).save(path)
    return path


def test_the_file_has_all_rows_and_the_page_the_first_ones(model):
    rows = "\n".join(f"{1 + k / 20};5" for k in range(20))
    found = predicted_rows(model, "more.csv", f"a;b\n{rows}\n".encode(), {"separator": ";"}, None, None)
    assert (found["name"], found["rows"], found["columns"]) == ("more-predicted.csv", 20, ["a", "b", "y"])
    assert found["first"][0] == [1.0, 5.0, 2.0]
    assert len(found["first"]) < 20
    assert len(pd.read_csv(io.StringIO(found["csv"]))) == 20
    assert found["notes"] == []
    assert list(model.parent.iterdir()) == [model]  # nothing stays of the file


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,none\n", "new.csv, line 2, column 'b': 'none' is not a number. Correct it."),
        ("a\n1\n", "There is no column 'b'. Known: a."),
    ],
)
def test_a_complaint_offers_nothing_that_is_not_there(model, content, words):
    with pytest.raises(InputError) as refused:
        predicted_rows(model, "new.csv", content.encode(), {}, None, None)
    assert str(refused.value).startswith(words)
    assert "--" not in str(refused.value)
