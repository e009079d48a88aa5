"""The page: whole, escaped, sufficient unto itself."""

from __future__ import annotations

import re
import runpy
import shlex
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ceql import CeqlError, CEQLRegressor, InputError, Parameter, Template, load
from ceql.__main__ import cli
from ceql.output.plain_words import plainly
from ceql.output.report.page import report_page
from ceql.output.report.reproduce import command_line, in_python, not_on_the_command_line, python_lines
from ceql.search.policy import SearchPolicy

VOID = {"meta", "br", "path", "rect", "circle"}
SECTIONS = [
    "Where to be careful", "The front", "Fit and residuals", "Inside and outside the data", "Constants",
    "How it was found", "How to repeat it",
]  # fmt: skip


class Page(HTMLParser):
    """Which tags there are, that each is closed where it should be, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.headings: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"style", "script"} & set(self.open):
            return
        self.text.append(data)
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def page_of(model: CEQLRegressor, target: str = "y", table: str = "data.csv", row: int | None = None) -> str:
    return report_page(model._subject(row, target, table))


def test_page_is_whole_and_refers_to_nothing(model):
    text = page_of(model)
    page = Page(text)
    of_groups = {"Inside and outside the data": "Group by group"} if model.groups_ else {}
    assert page.headings == [of_groups.get(name, name) for name in SECTIONS]
    assert page.tags.count("script") == 2  # ours, and its data
    assert not {"img", "link", "iframe", "object", "a"} & set(page.tags)
    assert not {name for name, _ in page.attributes} & {"src", "href", "onload", "onclick", "style"}
    known = {"http://www.w3.org/1998/Math/MathML", "http://www.w3.org/2000/svg"}  # names, which nobody asks for
    assert set(re.findall(r"https?://[^\"' <]*", text)) <= known
    assert "url(" not in text
    assert "nan" not in "".join(value or "" for name, value in page.attributes if name in ("d", "x", "y", "width"))


def test_mathml_and_svg_are_well_formed(model):
    text = page_of(model)
    formulas = re.findall(r"<math.*?</math>", text, re.DOTALL)
    assert formulas
    for formula in formulas:
        ElementTree.fromstring(formula)
    charts = re.findall(r"<figure>(<svg.*?</svg>)(?:<figcaption>|</figure>)", text, re.DOTALL)
    assert len(charts) >= 4
    for chart in charts:
        ElementTree.fromstring(chart)


def test_every_formula_of_the_front_is_in_the_table(model):
    words = "".join(Page(page_of(model)).text)
    for formula in model.discovery_.front:
        assert str(formula).replace("\x01", "\ufffd") in words
    assert plainly(model.discovery_.outcome.value) in words


def test_names_are_escaped_everywhere(model_with):
    target = "<img src=x onerror=alert(1)>"
    text = page_of(model_with("odd names"), target=target, table='"><b>.csv')
    assert re.findall("<script[^>]*>", text) == ['<script type="application/json" id="ceql-view">', "<script>"]
    assert "<img" not in text
    assert "<b>" not in text
    page = Page(text)
    assert target in "".join(page.text)
    assert "<script>alert(1)</script>" in "".join(page.text)


def test_numbers_of_the_header(model_with):
    model = model_with("noise")
    words = " ".join(Page(page_of(model)).text)
    best = model.discovery_.best
    assert f"{best.loss:.4g}" in words
    assert f"{np.sqrt(best.loss):.4g}" in words
    assert f"{model.score(model._finding().data.x, model._finding().data.y):.6g}" in words
    assert f"{best.complexity} nodes" in words


def test_long_tables_are_thinned(model_with):
    text = page_of(model_with("many rows"))
    assert "1,500 of 20,000 rows are drawn" in text
    assert len(text) < 300_000


def test_caveats_name_poles_inside_and_near(make_fitted):
    x = np.linspace(0, 2, 40)[:, None]
    words = " ".join(Page(page_of(make_fitted("1/(x1 - 1.0123) + 1/(x1 + 0.2) + 1/(x1 + 9)", x))).text)
    assert "There is a pole at x1 = 1.0123, within the range of the data" in words
    assert "There is a pole at x1 = -0.2, outside the range of the data but near, 10% of their range away." in words
    assert "x1 = -9" not in words


def test_caveats_name_the_domain(make_fitted):
    x = np.concatenate([np.linspace(1.2, 2, 20), np.linspace(-2, -1.2, 20)])[:, None]
    words = " ".join(Page(page_of(make_fitted("log(x1**2 - 1) + sqrt(x1 + 2.5)", x))).text)
    assert "The formula ends at x1 = -2.5, outside the range of the data" in words
    assert "It has a real value only where x1 + 2.5 ≥ 0 and x1**2 - 1 > 0." in words
    share = re.search(r"It is undefined in ([\d.]+)% of the box", words)
    assert share is not None
    assert float(share[1]) == pytest.approx(50, abs=4)


@pytest.mark.parametrize(("in_proportion", "said"), [(True, True), (False, False)])
def test_errors_that_grow_with_the_target_are_said_with_the_remedy(in_proportion, said):
    x = np.geomspace(0.1, 10.0, 40)
    noise = 0.05 * np.random.default_rng(0).standard_normal(40)
    y = 2.0 / x * (1.0 + noise) if in_proportion else 2.0 / x + np.abs(noise)
    template = Template("a/x1", {"a": Parameter()})
    model = CEQLRegressor(template=template, verbose=False).fit(x[:, None], y)
    words = " ".join(Page(page_of(model)).text)
    assert ("The scatter grows with y" in words) == said
    assert ("fit again with sigma=y and absolute_sigma=False." in words) == said


def test_constants_carry_their_errors(model_with):
    model = model_with("noise")
    words = " ".join(Page(page_of(model)).text)
    assert model.discovery_.best.constants
    for value, error in model.discovery_.best.constants:
        assert f"{value:.15g}".replace("-", "−") in words
        assert f"{error:.2g}".replace("-", "−") in words


def test_a_constant_without_support_is_said_to_be_so(make_fitted):
    text = page_of(make_fitted("1.5*x1 + 2.5", np.array([[0.0], [1.0]])))
    assert "not determined by the data" in text


def test_another_row_can_be_reported(pole_model):
    text = page_of(pole_model, row=0)
    assert "This is the row that was asked for, not the chosen one." in text
    assert "not the chosen one" not in page_of(pole_model)


def test_the_file_is_written_whole_or_not_at_all(pole_model, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    pole_model.report(path)
    assert path.read_text(encoding="utf-8") == page_of(pole_model)
    with pytest.raises(InputError, match="cannot be written"):
        pole_model.report(tmp_path / "no folder" / "report.html")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(InputError, match="No space left"):
        pole_model.report(path, target="another name")
    assert "another name" not in path.read_text(encoding="utf-8")
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


# ---- how to find it again -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[CEQLRegressor, Path]:
    """A table in a file, a model fitted to it, and the folder."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a speed": rng.uniform(1, 3, 40), "b&c": rng.uniform(1, 3, 40), "idle": np.arange(40.0)})
    table["the image"] = 3.2 * table["a speed"] / (table["a speed"] - 3.2) + table["b&c"]
    table.to_csv(folder / "my table.csv", index=False)
    model = CEQLRegressor(operators=["mul", "div"], random_state=4, time_limit=20.0)
    return model.fit(table[["a speed", "b&c"]], table["the image"]), folder


def test_the_python_lines_find_the_formula_again(searched, monkeypatch, capsys):
    model, folder = searched
    monkeypatch.chdir(folder)
    (folder / "lines.py").write_text(python_lines(model._subject(None, "the image", "my table.csv")), encoding="utf-8")
    runpy.run_path(str(folder / "lines.py"))
    assert capsys.readouterr().out.strip() == str(model.sympy())


def test_the_command_finds_the_formula_again(searched, monkeypatch):
    model, folder = searched
    monkeypatch.chdir(folder)
    command = command_line(model._subject(None, "the image", "my table.csv"))
    assert command is not None
    done = CliRunner().invoke(cli, [*shlex.split(command)[1:], "--quiet", "--report", "found.html"])
    assert done.output.strip() == str(model.sympy())
    assert command in Page((folder / "found.html").read_text(encoding="utf-8")).text


@pytest.mark.parametrize(
    ("parameters", "names", "weights", "words"),
    [
        ({"policy": SearchPolicy(round_size=256)}, ("a",), None, "Options cannot express policy"),
        ({"cv": [([0], [1])]}, ("a",), None, "cannot express a cv that is not a number"),
        ({"random_state": None}, ("a",), None, "seed was random"),
        ({}, ("a,b",), None, "comma"),
        ({}, ("a",), [0.5, 1.5] * 10, "weighted"),
    ],
)
def test_what_the_command_cannot_say_is_said(make_fitted, parameters, names, weights, words):
    model = make_fitted(f"1.5*`{names[0]}` + 2.25", np.linspace(0, 1, 20)[:, None], names, **parameters)
    if weights:
        object.__setattr__(model._finding().data, "weight", np.array(weights))
    subject = model._subject(None, "y", "data.csv")
    assert command_line(subject) is None
    assert words in not_on_the_command_line(subject)
    assert words in page_of(model)


def test_a_catalogue_left_out_is_a_flag_of_the_command(make_fitted):
    model = make_fitted("1.5*a + 2.25", np.linspace(0, 1, 20)[:, None], ("a",), catalogue=False)
    command = command_line(model._subject(None, "y", "data.csv"))
    assert command is not None
    assert "--no-catalogue" in shlex.split(command)


def test_settings_in_python():
    assert in_python(["mul", "div"]) == "['mul', 'div']"
    assert in_python(np.int64(3)) == "3"
    assert in_python(object()) == "..."
    template = Template("k*x1", parameters={"k": Parameter(low=0)})
    assert eval(in_python(template), {"Template": Template}) == template  # ours: made from plain data two lines above


def test_tab_separated_tables_are_read_as_such(pole_model):
    assert 'sep="\\t"' in python_lines(pole_model._subject(None, "y", "data.tsv"))


# ---- the command --------------------------------------------------------------------------------------------------


def test_report_of_a_saved_model(searched, tmp_path, monkeypatch):
    model, _ = searched
    monkeypatch.chdir(tmp_path)
    model.save("model.ceql")
    done = CliRunner().invoke(cli, ["report", "model.ceql", "--out", "page.html", "--target", "the image"])
    assert (done.exit_code, done.output) == (0, "Report written to page.html\n")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text == page_of(load(tmp_path / "model.ceql"), target="the image")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report", "absent.ceql"), "There is no file absent.ceql"),
        (("report", "model.ceql"), "is not a ceql model"),
        (("report", "model.ceql", "--out", "no/page.html"), "cannot be written: No such file or directory"),
        (("report", "model.ceql", "--out", "."), "cannot be written: Is a directory"),
        (
            ("fit", "absent.csv", "--target", "y", "--report", "no/page.html"),
            "cannot be written: No such file or directory",
        ),
    ],
)
def test_report_needs_a_model_and_a_place(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.ceql").write_text("{}", encoding="utf-8")
    error = CliRunner().invoke(cli, arguments).exception
    assert isinstance(error, CeqlError)
    assert words in str(error)


def test_a_formula_with_poles_beyond_number_still_gets_its_page(model_with, tmp_path):
    model_with("poles beyond number").report(tmp_path / "page.html")
    text = " ".join(Page((tmp_path / "page.html").read_text(encoding="utf-8")).text)
    assert "pole wherever cos(" in text
    assert "places where it may be singular were not checked: the formula is too long." in text
