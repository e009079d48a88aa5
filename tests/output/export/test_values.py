"""What is exported computes what the model predicts, in every language that can be run here."""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from ceql.output.export import LANGUAGES, write

from . import spreadsheet
from .conftest import NAMES, assert_same

COMPILER = shutil.which("cc") or shutil.which("gcc")
DRIVER = """
import importlib, json, sys
import {setup}
rows = json.load(open("rows.json"))
answers = []
for k in range({count}):
    function = getattr(importlib.import_module(f"formula_{{k}}"), f"y{{k}}_out")
    answers.append({call})
json.dump(answers, open("answers.json", "w"))
"""
CALLS = {
    "python": ("math", "[function(*row) for row in rows]"),
    "numpy": ("numpy", "function(*numpy.array(rows).T).tolist()"),
    "jax": ("jax; jax.config.update('jax_enable_x64', True)", "function(*jax.numpy.array(rows).T).tolist()"),
    "torch": ("torch", "function(*torch.tensor(rows, dtype=torch.float64).T).tolist()"),
}


def target(k: int) -> str:
    return f"y{k}_out"


@pytest.mark.parametrize("language", CALLS)
def test_python_of_all_kinds(language, formulas, rows, tmp_path):
    texts = [write(f, NAMES, language, target(k)) for k, f in enumerate(formulas)]
    for k, text in enumerate(texts):
        ast.parse(text)
        (tmp_path / f"formula_{k}.py").write_text(text, encoding="utf-8")
    if language == "jax":
        rows = rows[(np.abs(rows) < 100).all(axis=1)]  # XLA knows no subnormals, which the others lead to
    if language in ("jax", "torch") and importlib.util.find_spec(language) is None:
        pytest.skip(f"{language} is not installed")
    (tmp_path / "rows.json").write_text(json.dumps(rows.tolist()))
    setup, call = CALLS[language]
    (tmp_path / "driver.py").write_text(DRIVER.format(setup=setup, count=len(texts), call=call))
    run = subprocess.run([sys.executable, "-W", "error", "driver.py"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    answers = json.loads((tmp_path / "answers.json").read_text())
    for formula, answer in zip(formulas, answers, strict=True):
        assert_same(np.array(answer), formula(rows), formula)


def test_plain_python_needs_nothing_but_math(formulas):
    for formula in formulas:
        imported = {
            alias.name
            for node in ast.walk(ast.parse(write(formula, NAMES, "python")))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert imported <= {"math"}


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("language", ["c", "c++"])
def test_c(language, formulas, rows, tmp_path):
    if language == "c++" and shutil.which("c++") is None:
        pytest.skip("no C++ compiler")
    source = "\n".join(write(f, NAMES, "c", target(k)) for k, f in enumerate(formulas))
    if language == "c++":
        source = f'extern "C" {{\n{source}}}\n'.replace("#include <math.h>\n", "")
        source = "#include <math.h>\n" + source
    (tmp_path / "f.c").write_text(source, encoding="utf-8")
    command = [COMPILER, "-std=c99"] if language == "c" else [shutil.which("c++"), "-x", "c++"]
    flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC", "-o", "f.so", "f.c", "-lm"]
    built = subprocess.run([*command, *flags], cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    for k, formula in enumerate(formulas):
        function = getattr(library, target(k))
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * len(NAMES)
        assert_same(np.array([function(*row) for row in rows]), formula(rows), formula)


def test_excel(formulas, rows):
    for formula in formulas:
        text = write(formula, NAMES, "excel").splitlines()[-1]
        answers = [spreadsheet.value(text, dict(zip(("A2", "B2", "C2"), row, strict=True))) for row in rows.tolist()]
        expected = formula(rows)
        # A cell has neither NaN nor infinity, and a step that overflows ends in #NUM! even below a fraction.
        kept = np.isfinite(expected) & ~np.isnan(answers)
        assert_same(np.array(answers)[kept], expected[kept], formula)
        ordinary = np.isfinite(expected) & (np.abs(rows) < 100).all(axis=1) & (rows != 0).all(axis=1)
        assert not np.isnan(np.array(answers)[ordinary]).any(), formula
        assert np.isnan(np.array(answers)[~np.isfinite(expected)]).all(), formula


SAID = {name: getattr(np, name) for name in ("log", "exp", "sin", "cos", "tan", "tanh", "abs", "sqrt")} | {
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "cbrt": np.cbrt,
    "sign": np.copysign,
    "float": np.float64,
}


def evaluated(lines: list[str], arguments: list[str], row: np.ndarray) -> float:
    """Assignments whose operators Python reads in the same way."""
    known = dict(zip(arguments, row, strict=True))
    with np.errstate(all="ignore"):
        for line in lines:
            name, _, text = line.partition(" = ")
            known[name] = eval(text, {"__builtins__": {}, **SAID}, known)
    return float(known["value"])


def found(pattern: str, text: str) -> re.Match[str]:
    match = re.search(pattern, text)
    assert match is not None, text
    return match


def test_fortran(formulas, rows):
    """There may be no compiler, but its expressions mean the same in Python once the exponents are rewritten."""
    for formula in formulas:
        text = write(formula, NAMES, "fortran", "end")
        assert max(map(len, text.splitlines())) <= 132
        code = text[text.index("module") :].replace(" &\n", " ").replace("lambda", "lam")
        assert "elemental function end_(" in code
        arguments = found(r"intent\(in\) :: (.*)", code)[1].split(", ")
        lines = [re.sub(r"(\d)d([+-]?\d)", r"\1e\2", s.strip()) for s in code.splitlines() if " = " in s]
        declared = found(r"(?m)^ +real\(dp\) :: (.*)", code)[1].split(", ")
        assert [line.partition(" = ")[0] for line in lines[1:]] == declared
        with np.errstate(all="ignore"):
            answers = np.array([evaluated(lines[1:], arguments, row) for row in rows])
        assert_same(answers, formula(rows), formula)
        literals = re.findall(r"(?<![\w.])\d+\.?\d*(?:[de][+-]?\d+)?(?!\w)", "\n".join(code.splitlines()[5:]))
        assert all("d" in literal or literal.isdecimal() for literal in literals)


def test_julia(formulas, rows):
    for formula in formulas:
        code = write(formula, NAMES, "julia", "end")
        code = code[code.index("function") :]
        assert code.startswith("function end_(lambda, x_y, E)\n")
        assert code.endswith("end\n")
        joined = re.sub(r"\(\n +(.*?)\n +\)\n", lambda m: "(" + re.sub(r"\n +", " ", m[1]) + ")\n", code, flags=re.S)
        lines = [line.strip().replace("^", "**") for line in joined.splitlines()[1:-1]]
        lines = [line.replace("return ", "value = ").replace("lambda", "lam") for line in lines]
        answers = np.array([evaluated(lines, ["lam", "x_y", "E"], row) for row in rows])
        assert_same(answers, formula(rows), formula)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_constant_has_all_its_digits(language):
    from .conftest import formula

    value = 0.1 + 0.2  # 0.30000000000000004
    text = write(formula(f"{value!r}*lambda + sqrt(E)"), NAMES, language).splitlines()
    code = "\n".join(line for line in text if not line.startswith(("#", "//", "!", "%")))
    if language == "excel":
        head, tail = found(r"\(([\d.]+)\+([\d.E-]+)\)", code).groups()
        assert float(head) + float(tail) == value
        assert max(len(part.replace("0.", "").split("E")[0].replace(".", "")) for part in (head, tail)) <= 15
    else:
        assert "0.30000000000000004" in code


def test_the_evaluator_of_cells_has_the_rules_of_excel():
    assert spreadsheet.value("=-A2^2", {"A2": 3.0}) == 9.0
    assert spreadsheet.value("=2^3^2", {}) == 64.0
    assert spreadsheet.value("=1-A2^2", {"A2": 3.0}) == -8.0
    assert spreadsheet.value("=0.30000000000000004", {}) == 0.3
    assert math.isnan(spreadsheet.value("=1/A2", {"A2": 0.0}))
    assert math.isnan(spreadsheet.value("=SQRT(A2)", {"A2": -1.0}))
