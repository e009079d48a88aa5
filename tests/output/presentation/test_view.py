"""What a page is given of a model: plain data that a script cannot be smuggled into, and programs that say the same."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols
from ceql.output.web.constants import program_of
from ceql.output.web.files import APP, APP_STYLES, REPORT, asset, joined
from ceql.output.web.typeset import typeset
from ceql.output.web.view import as_script_data, view

NODE = shutil.which("node")
ASSETS = sorted({*APP, *REPORT})
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node to run the scripts with")


def unpacked(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f8")


def in_node(lines: str, given: object) -> object:
    """What the lines leave in `result`, run after the program's script with `given` at hand."""
    source = f"const ceql = {{}};\n{asset('program.js')}\nconst given = {json.dumps(given)};\nlet result;\n{lines}\n"
    source += "process.stdout.write(JSON.stringify(result, (_, v) => (Number.isNaN(v) ? 'nan' : v)));"
    done = subprocess.run([str(NODE), "-"], input=source, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


RUN = """result = given.programs.map(({ program, constants }) =>
  Array.from(ceql.run(program, (k) => Float64Array.from(given.columns[k]), constants, given.columns[0].length)));"""


@needs_node
def test_the_scripts_compute_what_the_formulas_say(model):
    shown = view(model._subject(None, None, "data.csv"), ())
    discovery = model.discovery_
    rows = [(row, f) for row, f in zip(shown["rows"], discovery.formulas, strict=True) if row["program"] is not None]
    x = model._finding().data.thinned(40).x
    constants = [[constant["value"] for constant in row["constants"]] for row, _ in rows]
    for (row, _), own in zip(rows, constants, strict=True):
        if row["groups"]:  # each row of the table has the constants of its group
            codes = x[:, row["groups"]["index"]].astype(int)
            own += np.array(row["groups"]["values"])[codes].T.tolist()
    programs = [{"program": row["program"], "constants": c} for (row, _), c in zip(rows, constants, strict=True)]
    values = np.array(in_node(RUN, {"programs": programs, "columns": x.T.tolist()}), float)
    for (_, formula), found in zip(rows, values, strict=True):
        if formula.complexity < 200:  # thirty tangents inside each other make much of the last digit of the first one
            np.testing.assert_allclose(found, formula(x), rtol=1e-9, atol=1e-12)


@needs_node
def test_every_function_is_known_there_and_has_no_value_where_it_has_none():
    names = ("x",)
    texts = ["log(x)", "sqrt(x)", "exp(x)", "sin(x)", "cos(x)", "tan(x)", "asin(x)", "acos(x)", "atan(x)", "sinh(x)"]
    texts += ["cosh(x)", "tanh(x)", "cbrt(x)", "abs(x)", "x**2", "x**3", "x**7", "x**(-2)", "x**2.3", "1/x", "2.5**x"]
    texts += ["x**x", "3.5", "x*(x + 1)*(x - 2.5)"]
    x = np.array([-2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 3.7])
    expressions = [parse_formula(text, names) for text in texts]
    programs = [{"program": program_of(e, make_symbols(names)), "constants": []} for e in expressions]
    known = in_node("result = given.map(({ program }) => ceql.canRun(program));", programs)
    assert known == [True] * len(texts)
    found = in_node(RUN, {"programs": programs, "columns": [x.tolist()]})
    assert isinstance(found, list)
    for text, expression, values in zip(texts, expressions, found, strict=True):
        with np.errstate(all="ignore"):
            wanted = Formula(expression, make_symbols(names), 0.0)(x[:, None])
        values = np.array([np.inf if value is None else value for value in values], float)  # JSON has no infinity
        np.testing.assert_allclose(values, np.where(np.isinf(wanted), np.inf, wanted), rtol=1e-12, err_msg=text)


def test_no_script_makes_code_or_markup_of_text():
    for name in ASSETS:
        forbidden = r"\beval\b|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\bimport\("
        assert re.findall(forbidden, asset(name)) == [], name
        assert not re.search(r"https?://(?!www\.w3\.org/)", asset(name)), name


def test_no_text_ends_the_element_that_holds_the_data(model_with):
    text = as_script_data(view(model_with("odd names")._subject(None, "</script><!--", "data.csv")))
    assert "<" not in text
    assert json.loads(text)["target"] == "</script><!--"


def test_the_view_holds_the_data_to_the_last_digit(model):
    data = model._finding().data
    shown = view(model._subject(None, None, "data.csv"), ())
    few = data.thinned(shown["drawn"])
    np.testing.assert_array_equal(unpacked(shown["y"]), few.y)
    for column in shown["columns"]:
        np.testing.assert_array_equal(unpacked(column["values"]), few.x[:, column["index"]])
    json.dumps(shown, allow_nan=False)


def test_sliders_have_the_names_of_a_law(law_model):
    model = law_model()
    rows = view(model._subject(None, None, "data.csv"), ())["rows"]
    constants = rows[1]["constants"]
    assert [(c["name"], c["value"]) for c in constants] == [("V", 2.0), ("K", 1.5)]
    assert constants[1]["error"] is None
    assert rows[1]["law"]["name"] == "Michaelis-Menten"
    assert [c["name"] for c in rows[3]["constants"]] == ["c1", "c2"]


def test_long_terms_are_broken_and_short_ones_are_not():
    long = " + ".join(f"{k}.5*x1*exp(-{k}.25*x2)" for k in range(1, 9))
    fraction = parse_formula(f"({long})/(1.5 + x1*x2)", ("x1", "x2"))
    assert len(typeset(fraction)) >= 8
    assert len(typeset(parse_formula("x1*x2/(x1 - x2)", ("x1", "x2")))) == 1
    assert len(typeset(parse_formula(f"sin({long})", ("x1", "x2")))) >= 8
    assert len(typeset(parse_formula(f"1.5/({long})**2", ("x1", "x2")), "y")) >= 8


def test_the_scripts_are_shipped_whole():
    assert joined(REPORT).count('"use strict";') == len(REPORT)
    for name in APP:
        assert f'src="assets/{name}"' in asset("app.html")
    for name in APP_STYLES:
        assert f'href="assets/{name}"' in asset("app.html")
