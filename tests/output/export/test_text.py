"""Names, comments, refusals: the text around the formula."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql import CEQLRegressor, __version__, load
from ceql.cli.model_commands import LANGUAGES as OFFERED
from ceql.errors import InputError, UnknownNameError
from ceql.formula import Formula, make_symbols
from ceql.output.export import LANGUAGES, write
from ceql.output.export.excel import column_letters
from ceql.output.export.source import safe_names
from ceql.templates import Template, Unknown

from .conftest import formula

COMMENTS = ("#", "//", "!", "%")
AWKWARD = ("lambda", "I", "E", "x y", "double", "end", "µ", "x_y", "X_Y", "2nd", "exp", "np", "*/ x \n y", "class", "e")


def without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(COMMENTS))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8, unique=True), st.booleans())
def test_safe_names_are_plain_distinct_and_free(names, any_case):
    chosen = safe_names(names, {"lambda", "x"}, any_case)
    assert len(chosen) == len(names)
    compared = [name.lower() for name in chosen] if any_case else list(chosen)
    assert len(set(compared)) == len(names)
    assert not {"lambda", "x"} & set(compared)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) for name in chosen)


def test_good_names_stay_and_others_are_near_to_what_they_were():
    assert safe_names(["x y", "x_y", "α", "Ωmega", "größe", "2nd", "lambda"], {"lambda"}) == (
        "x_y_",
        "x_y",
        "alpha",
        "Omegamega",
        "gro_e",
        "x2nd",
        "lambda_",
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_awkward_names_are_renamed_and_explained(language):
    total = sum(make_symbols(AWKWARD), sympy.Integer(0)) * 1.5
    text = write(Formula(total, make_symbols(AWKWARD), 0.5), AWKWARD, language, "return")
    comments = " ".join(line.lstrip("#/!% ") for line in text.splitlines() if line.startswith(COMMENTS))
    assert '"x y"' in comments
    assert '"*/ x \\u000a y"' in comments
    assert f"ceql {__version__}" in comments
    assert "0.5" in comments
    assert "\n y" not in without_comments(text)
    if language in ("python", "numpy", "jax", "torch"):
        function = next(
            node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"
        )
        assert len({argument.arg for argument in function.args.args}) == len(AWKWARD)
        assert function.name == "return_"


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_in_the_text_changes_from_day_to_day(language):
    first, second = (write(formula("lambda/E"), ("lambda", "x y", "E"), language, "y") for _ in range(2))
    assert first == second
    assert not re.search(r"20\d\d-\d\d", first)


def test_an_unknown_language_gets_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'python'"):
        write(formula("lambda"), ("lambda", "x y", "E"), "pyton")


def test_the_command_offers_every_language():
    assert tuple(OFFERED) == tuple(LANGUAGES)


def test_what_predict_cannot_compute_is_refused():
    symbols = make_symbols(("a",))
    with pytest.raises(InputError, match="cannot be exported: no numpy program for 'gamma'"):
        write(Formula(sympy.gamma(symbols[0]), symbols, 0.0), ("a",), "c")
    with pytest.raises(InputError, match="constant"):
        write(Formula(sympy.Float("1e400") * symbols[0], symbols, 0.0), ("a",), "c")


def test_what_a_sheet_cannot_hold_is_refused():
    symbols = make_symbols(("a",))
    many = sympy.Add(*(sympy.Float(1.5 + k) * sympy.sin(symbols[0] * (k + 0.5)) for k in range(600)))
    with pytest.raises(InputError, match="too long for a cell"):
        write(Formula(many, symbols, 0.0), ("a",), "excel")
    with pytest.raises(InputError, match="too small for a spreadsheet"):
        write(formula("1e-310*lambda"), ("lambda", "x y", "E"), "excel")
    names = tuple(f"c{k}" for k in range(16385))
    with pytest.raises(InputError, match="16,384 columns"):
        write(Formula(sympy.Integer(1), make_symbols(names), 0.0), names, "excel")


def test_columns_of_a_sheet():
    assert [column_letters(k) for k in (0, 25, 26, 701, 702, 16383)] == ["A", "Z", "AA", "ZZ", "AAA", "XFD"]


def test_latex_tells_names_apart():
    names = ("x1", "x_1", "alpha", "speed", "a%b")
    text = write(formula("x1 + x_1*alpha + 1.5e-7*speed*`a%b`", names), names, "latex", "drag").splitlines()[-1]
    assert text.startswith(r"\mathrm{drag} = ")
    for part in (
        r"\mathrm{x1}",
        r"\mathrm{x\_1}",
        r"\alpha",
        r"\mathrm{speed}",
        r"\mathrm{a\%b}",
        r"1.5 \cdot 10^{-7}",
    ):
        assert part in text
    assert text.count("{") == text.count("}")


@pytest.fixture(scope="module")
def model() -> CEQLRegressor:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x y": rng.uniform(1, 2, 40), "lambda": rng.uniform(1, 2, 40)})
    y = pd.Series(1 / (frame["x y"] - frame["lambda"] / 7), name="I")
    return CEQLRegressor(operators=["mul", "div"], random_state=3).fit(frame, y)


def run(path, arguments: np.ndarray, name: str) -> np.ndarray:
    rows = arguments.tolist()
    code = f"import runpy; f = runpy.run_path({str(path)!r})[{name!r}]; print([f(*row) for row in {rows}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return np.array(ast.literal_eval(done.stdout))


def test_a_model_exports_any_row_of_its_front(model, tmp_path):
    x = model._finding().data.x[:5]
    for row in (None, 0, len(model.discovery_.front) - 1):
        text = model.export("python", row=row, path=tmp_path / "f.py")
        assert (tmp_path / "f.py").read_text(encoding="utf-8") == text
        np.testing.assert_allclose(run(tmp_path / "f.py", x, "I"), model._finding(row).formula(x), rtol=1e-12)
    with pytest.raises(InputError, match="there is no row 99"):
        model.export("python", row=99)
    with pytest.raises(InputError, match="cannot be written"):
        model.export("python", path=tmp_path / "no folder" / "f.py")


def test_the_target_keeps_its_name_in_the_file(model, tmp_path):
    model.save(tmp_path / "m.ceql")
    assert load(tmp_path / "m.ceql").export("c") == model.export("c")
    assert "double I(double x_y, double lambda)" in model.export("c")


def test_a_template_is_exported_like_any_formula(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (60, 2))
    template = Template("u / x2", functions={"u": Unknown(["x1"], operators=["mul", "square"])})
    fitted = CEQLRegressor(template=template, time_limit=10).fit(x, (x[:, 0] ** 2 + 0.5) / x[:, 1])
    fitted.export("python", path=tmp_path / "t.py")
    np.testing.assert_allclose(run(tmp_path / "t.py", x[:5], "y"), fitted.predict(x[:5]), rtol=1e-12)
