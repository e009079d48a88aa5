"""What is exported computes the slopes that the system has."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from ceql import CeqlError
from ceql.dynamics.source import SYSTEM_LANGUAGES, system_source

SYSTEMS = {
    "plain": ({"x": "1.1*x - 0.4*x*y", "y": "0.1*x*y - 0.4*y"}, {}),
    "shared parts": ({"x": "x/(1 + x)**2 - sqrt(y/(1 + x))", "y": "exp(-x)*(1 + x)**1.5 - log(y)"}, {}),
    "driven": ({"level": "-0.5*level/(level - 0.2) + 2.0*u"}, {"inputs": ("u",)}),
    "of time": ({"a": "sin(2*t)*a**3 - abs(a)", "b": "t"}, {"depends_on_time": True}),
    "all at once": ({"x": "u*x - v*t"}, {"inputs": ("u", "v"), "depends_on_time": True}),
    "awkward names": (
        {"lambda": "`lambda`*`x y`", "x y": "-`state` + `lambda`"},
        {"inputs": ("state",), "time": "Zeit [s]"},
    ),
    "a number": ({"x": "2"}, {}),
}


def rows_of(system) -> tuple[np.ndarray, np.ndarray]:
    """States, inputs and a time, drawn at random, and the slopes there; all positive, so that roots have values."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.5, 3.0, (6, len(system.states) + len(system.inputs) + 1))
    inner = rows if system.depends_on_time else rows[:, :-1]
    return rows, system.slopes(inner)


@pytest.mark.parametrize("name", SYSTEMS)
def test_python_runs_and_gives_the_same_slopes(name, system_of, tmp_path):
    equations, options = SYSTEMS[name]
    system = system_of(equations, **options)
    rows, slopes = rows_of(system)
    count, inputs = len(system.states), len(system.inputs)
    call = "slopes(row[-1], row[:n], lambda time: row[n:-1])" if inputs else "slopes(row[-1], row[:n])"
    program = (
        system_source(system, "python")
        + f"\nimport json\nn = {count}\nprint(json.dumps([{call} for row in {rows.tolist()!r}]))\n"
    )
    (tmp_path / "slopes_of_it.py").write_text(program, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(tmp_path / "slopes_of_it.py")], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert np.allclose(json.loads(run.stdout), slopes, rtol=1e-13)


def test_python_is_what_scipy_integrates(system_of, tmp_path):
    system = system_of(SYSTEMS["plain"][0])
    program = system_source(system, "python") + (
        "\nfrom scipy.integrate import solve_ivp\n"
        "print(*solve_ivp(slopes, (0, 5), [10, 5], rtol=1e-9, atol=1e-9).y[:, -1])\n"
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    run = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, check=True)
    expected = system.simulate([10.0, 5.0], np.array([0.0, 5.0]))[-1]
    assert np.allclose(np.array(run.stdout.split(), float), expected, rtol=1e-6)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", SYSTEMS)
def test_c_compiles_and_gives_the_same_slopes(name, system_of, tmp_path):
    equations, options = SYSTEMS[name]
    system = system_of(equations, **options)
    rows, slopes = rows_of(system)
    source, library = tmp_path / "slopes.c", tmp_path / "slopes.so"
    source.write_text(system_source(system, "c"), encoding="utf-8")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1"]
    done = subprocess.run(["cc", *strict, str(source), "-o", str(library), "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    function = ctypes.CDLL(str(library)).slopes
    count = len(system.states)
    for row, expected in zip(rows, slopes, strict=True):
        made = (ctypes.c_double * count)()
        state = (ctypes.c_double * count)(*row[:count])
        inputs = (ctypes.c_double * (len(row) - count))(*row[count:-1], 0.0)
        function(ctypes.c_double(row[-1]), state, inputs, made)
        assert np.allclose(np.array(made), expected, rtol=1e-13)


@pytest.mark.parametrize("name", SYSTEMS)
def test_julia_has_the_signature_of_its_solvers(name, system_of):
    equations, options = SYSTEMS[name]
    text = system_source(system_of(equations, **options), "julia")
    (arguments,) = re.findall(r"^function slopes!\((.*)\)$", text, re.MULTILINE)
    assert arguments.split(", ")[:3] == ["du", "u", "p"]
    code = text[text.index("function") :]
    for k in range(len(equations)):
        assert len(re.findall(rf"^    du\[{k + 1}\] = ", code, re.MULTILINE)) == 1
    assigned = re.findall(r"^    (\w+) = ", code, re.MULTILINE)
    assert len(set(assigned)) == len(assigned)
    assert not {"u", "du", "p"} & set(assigned)
    assert code.endswith("    return nothing\nend\n")


def test_latex_is_aligned(lotka_volterra):
    text = system_source(lotka_volterra.system, "latex")
    assert text.splitlines() == [
        r"\begin{aligned}",
        r"  \frac{\mathrm{d} x}{\mathrm{d} t} &= - 0.4 x y + 1.1 x \\",
        r"  \frac{\mathrm{d} y}{\mathrm{d} t} &= 0.1 x y - 0.4 y",
        r"\end{aligned}",
    ]


def test_all_languages_are_written_and_others_are_refused(lotka_volterra):
    texts = {to: system_source(lotka_volterra.system, to) for to in SYSTEM_LANGUAGES}
    assert len(set(texts.values())) == len(texts)
    assert texts["text"] == "dx/dt = -0.4*x*y + 1.1*x\ndy/dt = 0.1*x*y - 0.4*y\n"
    with pytest.raises(CeqlError, match="Did you mean 'julia'"):
        system_source(lotka_volterra.system, "juila")


def test_a_name_cannot_break_out_of_a_comment(system_of):
    nasty = "x\n*/ int main() {} /*"
    system = system_of({nasty: "2.0"})
    for to in ("python", "julia", "c"):
        lines = system_source(system, to).splitlines()
        assert [line for line in lines if "int main" in line and not line.startswith(("#", "//"))] == []
