"""Every elementary function's forms say the same: NumPy, SymPy, slope, surrogate, tape, text and exports."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy

from ceql import CEQLRegressor, load
from ceql.engine import fit
from ceql.expression import compile_numpy, parse_formula, smallest, value_and_jacobian
from ceql.expression.evaluate.poles import find_borders
from ceql.expression.text.tokens import FormulaError
from ceql.expression.text.write import write_formula
from ceql.formula import Formula
from ceql.operators import functions, get, register
from ceql.operators.functions import ElementaryFunction
from ceql.operators.intervals import Domain
from ceql.operators.onto_tape import penalise_outside
from ceql.operators.tape import OPCODES, TapeBuilder
from ceql.output.export import write

NAMES = functions.names()
NEW = ("tan", "asin", "acos", "atan", "sinh", "cosh", "cbrt")
ROOT = Path(__file__).parents[2]
X, P = sympy.Symbol("x", real=True), sympy.Symbol("p", real=True)


def points(function: ElementaryFunction, n: int = 40) -> np.ndarray:
    """Numbers inside the domain, away from its edges and from zero, where a slope may jump."""
    lower, upper = max(function.domain.lower, -1.4), min(function.domain.upper, 1.4)
    x = np.linspace(lower, upper, n + 2)[1:-1]
    return x[np.abs(x) > 0.02]


def slope_by_differences(f, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    return (f(x + step) - f(x - step)) / (2 * step)


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_equals_differences(name):
    function = functions.get(name)
    x = points(function)
    assert np.allclose(function.slope(x, function.value(x)), slope_by_differences(function.value, x), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_equals_that_of_sympy(name):
    function = functions.get(name)
    x = points(function)
    derivative = sympy.lambdify(X, sympy.diff(function.symbolic(X), X), "numpy")
    assert np.allclose(function.slope(x, function.value(x)), derivative(x), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_value_equals_that_of_sympy(name):
    function = functions.get(name)
    x = points(function)
    assert np.allclose(sympy.lambdify(X, function.symbolic(X), "numpy")(x), function.value(x), rtol=1e-14)
    exact = [float(function.symbolic(sympy.Rational(float(u))).evalf(30)) for u in x[::7]]
    assert np.allclose(exact, function.value(x[::7]), rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_the_surrogate_equals_the_value_on_the_real_axis(name):
    function = functions.get(name)
    x = points(function)
    if function.surrogate is not None:
        assert np.allclose(function.surrogate(x + 0j), function.value(x), rtol=1e-13)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("single", [False, True])
def test_the_core_equals_the_surrogate(name, single):
    function = functions.get(name)
    rng = np.random.default_rng(1)
    z = rng.normal(0, 1.3, 200) + 1j * rng.normal(0, 0.8, 200)
    expected = get(name).surrogate(z)
    builder = TapeBuilder(2)
    slots = (0,) if function.surrogate is None else (0, 1)
    tape = builder.finish(builder.operator(name, *slots))
    samples = fit.Samples.of(np.column_stack([z.real, z.imag]), np.zeros(200), single_precision=single)
    tolerance = 1e-4 if single else 1e-12
    assert np.allclose(fit.values(tape, samples, np.zeros((1, 0)))[0], expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_is_read_computed_differentiated_and_written_back(name):
    function = functions.get(name)
    x = points(function)
    expression = function.symbolic(X)
    for spelling in (name, *function.aliases):
        assert parse_formula(f"{spelling}(x)", ["x"]) == expression
    assert parse_formula(write_formula(expression), ["x"]) == expression
    assert np.allclose(compile_numpy(expression, [X])(x[:, None]), function.value(x), rtol=1e-15)
    _, jacobian = value_and_jacobian(function.symbolic(P * X), [X], [P])(x[:, None], np.array([1.0]))
    assert np.allclose(jacobian[:, 0], x * function.slope(x, function.value(x)), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_simplifying_keeps_the_value(name):
    function = functions.get(name)
    x = points(function)
    expression = parse_formula(f"2.5*{name}(0.3*x + 0.31 - 0.1*x + 0.02)*3 - 1.5*({name}(x) + x)", ["x"])
    simple = smallest(expression, [X])
    with np.errstate(all="ignore"):
        before, after = (compile_numpy(e, [X])(x[:, None]) for e in (expression, simple))
    defined = np.isfinite(before)
    assert defined.mean() > 0.4
    assert np.allclose(after[defined], before[defined], rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_only_numbers_inside_the_domain_have_a_value(name):
    function = functions.get(name)
    with np.errstate(all="ignore"):
        x = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
        assert np.array_equal(np.isfinite(function.value(x)), [function.domain.holds(u) for u in x])
    for u in x:
        if not function.domain.holds(u):
            with pytest.raises(FormulaError, match="is not a real number"):
                parse_formula(f"x + {name}({u})", ["x"])


def test_the_logarithm_of_zero_is_refused():
    with pytest.raises(FormulaError, match=r"log\(0\) is not a real number"):
        parse_formula("x*log(0)", ["x"])


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_c_says_the_same(tmp_path):
    source = "\n".join(write(_formula(name), ["x"], "c", f"{name}_of") for name in NAMES)
    (tmp_path / "f.c").write_text(source)
    command = ["cc", "-std=c99", "-Wall", "-Werror", "-shared", "-fPIC", "-o", "f.so", "f.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    for name in NAMES:
        compiled = getattr(library, f"{name}_of")
        compiled.restype, compiled.argtypes = ctypes.c_double, [ctypes.c_double]
        x = points(functions.get(name))
        assert np.allclose([compiled(u) for u in x], functions.get(name).value(x), rtol=1e-14)


@pytest.mark.parametrize("language", ["python", "numpy"])
def test_python_says_the_same(language):
    for name in NAMES:
        known: dict = {}
        exec(write(_formula(name), ["x"], language, "y"), known)
        x = points(functions.get(name))
        assert np.allclose([known["y"](u) for u in x], functions.get(name).value(x), rtol=1e-14), name
        with np.errstate(all="ignore"):
            for u in (-2.0, 0.0, 2.0, 1e3, -1e3, np.inf, -np.inf, np.nan):
                expected = functions.get(name).value(np.array(u))
                assert np.allclose(known["y"](u), expected, rtol=1e-12, equal_nan=True), (name, u)


def _formula(name: str) -> Formula:
    return Formula(functions.get(name).symbolic(X), (X,), 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_user_s_own_operator_may_use_it(name):
    function = functions.get(name)
    operator = register(f"t_with_{name}", X, 1 + 2 * function.symbolic(X / 2) ** 2)
    x = points(function)
    expected = 1 + 2 * function.value(x / 2) ** 2
    assert np.allclose(operator.real(x), expected, rtol=1e-12)
    builder = TapeBuilder(1)
    tape = builder.finish(operator.record(builder, (0, None), kinds=operator.arguments))
    values = fit.values(tape, fit.Samples.of(x[:, None], 0 * x), np.zeros((1, 0)))[0]
    assert np.allclose(values, expected, rtol=1e-10)


# ---- what the new ones do in a fit

SEARCHED = {
    "atan": (lambda u, v: 2 * np.arctan(1.5 * u) + 0.3 * v, "0.3*x2 + 2*atan(1.5*x1)"),
    "asin": (lambda u, v: 3 * np.arcsin(0.4 * u + 0.1) + u * v, "x1*x2 + 3*asin(0.4*x1 + 0.1)"),
    "acos": (lambda u, v: 1.5 * np.arccos(0.45 * u) * v, "1.5*x2*acos(0.45*x1)"),
    "sinh": (lambda u, v: np.sinh(1.3 * u) * v, "x2*sinh(1.3*x1)"),
    "cosh": (lambda u, v: 2 * np.cosh(0.7 * u - 0.2 * v), "2*cosh(0.7*x1 - 0.2*x2)"),
    "cbrt": (lambda u, v: np.cbrt(u**2 + 1) + 0.5 * v, "0.5*x2 + cbrt(x1**2 + 1)"),
    "tan": (lambda u, v: np.tan(1.2 * u) + v, "x2 + tan(1.2*x1)"),
}


@pytest.mark.parametrize("name", SEARCHED)
def test_the_search_finds_it_and_the_file_keeps_it(name, tmp_path):
    law, text = SEARCHED[name]
    x = np.random.default_rng(0).uniform(-2, 2, (150, 2))
    model = CEQLRegressor(operators=[name, "mul", "square"], random_state=0).fit(x, law(*x.T))
    assert str(model.sympy(form="readable")) == text
    model.save(tmp_path / "m.ceql")
    again = load(tmp_path / "m.ceql")
    assert again.sympy() == model.sympy()
    assert np.array_equal(again.predict(x), model.predict(x))


def test_a_formula_undefined_at_a_row_is_never_reported():
    x = np.linspace(-1.4, 1.4, 80)[:, None]
    y = np.arcsin(np.clip(x[:, 0], -1, 1))
    model = CEQLRegressor(operators=["asin", "mul"], random_state=0, time_limit=3).fit(x, y)
    assert all(np.isfinite(model.predict(x, row=k)).all() for k in range(len(model.equations_)))


def test_a_template_may_contain_it():
    from ceql import Parameter, Template

    x = np.random.default_rng(0).uniform(-1, 1, (60, 1))
    y = 1.7 * np.arcsin(0.6 * x[:, 0]) + 0.4 * np.cbrt(x[:, 0])
    template = Template("a*asin(b*x1) + c*cbrt(x1)", parameters={n: Parameter() for n in "abc"})
    model = CEQLRegressor(template=template, random_state=0).fit(x, y)
    assert np.allclose(model.predict(x), y, atol=1e-9)


def test_edges_and_poles_are_found():
    formula = parse_formula("asin(x/2) + tan(x) + log(x + 2.5)", ["x"])
    found = find_borders(formula, [X], np.array([-3.0]), np.array([3.0]))
    places = {(border.kind, round(border.location, 6)) for border in found if border.location is not None}
    half_turn = round(np.pi / 2, 6)
    edges = {("edge of the domain", -2.0), ("edge of the domain", 2.0), ("log singularity", -2.5)}
    assert places == {("pole", -half_turn), ("pole", half_turn), *edges}


@pytest.mark.parametrize(
    ("domain", "beyond"),
    [(Domain(-1.0, 1.0), [2.0, 0.5, 0.0, 0.0, 1.0]), (Domain(lower=0.0), [3.0, 1.5, 0.0, 0.0, 0.0])],
)
def test_an_argument_costs_how_far_it_lies_outside(domain, beyond):
    x = np.array([-3.0, -1.5, 0.0, 1.0, 2.0])
    builder = TapeBuilder(1)
    argument = builder.linear([(0, builder.parameter(), 1.0)])
    penalise_outside(builder, domain, argument)
    tape, samples = builder.finish(argument), fit.Samples.of(x[:, None], x)
    penalty = fit.objective(tape, samples, np.ones((1, 1)), None, fit.Penalties(aux=1.0))
    assert np.allclose(penalty.objective, np.mean(np.square(beyond)))


# ---- the real cube root in SymPy


def test_the_cube_root_is_real_and_keeps_its_sign():
    cbrt = functions.get("cbrt").symbolic
    assert cbrt(sympy.Integer(-8)) == -2
    assert float(cbrt(sympy.Float(-0.3))) == pytest.approx(-(0.3 ** (1 / 3)))
    assert cbrt(sympy.Integer(0)) == 0
    assert cbrt(-X) == -cbrt(X)
    assert cbrt(X) ** 3 == X
    assert cbrt(X**6) == X**2
    assert cbrt(X).is_real
    assert sympy.diff(cbrt(X), X) == 1 / (3 * cbrt(X) ** 2)
    assert sympy.latex(cbrt(X) ** 2 + 1) == r"\sqrt[3]{x}^{2} + 1"


# ---- one place each


@pytest.mark.parametrize("name", NEW)
def test_a_function_is_named_in_its_object_and_in_the_core_s_table_alone(name):
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "core").glob("*.[hc]pp"), *(ROOT / "core" / "gpu").iterdir()]
    naming = {path.relative_to(ROOT).as_posix() for path in sources if f'"{name}"' in path.read_text(encoding="utf-8")}
    assert naming == {"src/ceql/operators/functions.py", "core/operator_table.hpp"}


def test_every_function_has_a_case_in_the_core():
    assert set(NAMES) <= set(OPCODES)


MADE_UP = """
import sys
import numpy as np, sympy
from ceql import CEQLRegressor, operators
from ceql.operators.tape import OPCODES
from ceql.output.export import LANGUAGES, write
from ceql.expression import compile_numpy, parse_formula, value_and_jacobian
from ceql.formula import Formula
from ceql.operators import functions

class bump(sympy.Function):
    def fdiff(self, argindex=1):
        return -2 * self.args[0] * self**2

# All there is to write for a new function; without a case in the core it is searched through its definition.
functions.add(functions.ElementaryFunction(
    "bump", lambda x: 1 / (1 + x * x), lambda u, f: -2 * u * f * f, bump, definition=lambda u: 1 / (1 + u**2),
    texts={"numpy": "(1 / (1 + np.square({0})))"}))
assert "bump" not in OPCODES

x, p = sympy.symbols("x p", real=True)
expression = parse_formula("2*bump(x) + 1", ["x"])
points = np.linspace(-2, 2, 9)[:, None]
expected = 2 / (1 + points[:, 0] ** 2) + 1
assert np.allclose(compile_numpy(expression, [x])(points), expected)
values, slopes = value_and_jacobian(bump(p * x), [x], [p])(points, np.array([1.0]))
assert np.allclose(slopes[:, 0], -2 * points[:, 0] ** 2 / (1 + points[:, 0] ** 2) ** 2)
for language in LANGUAGES:
    text = write(Formula(expression, (x,), 0.0), ["x"], language, "y")
    assert ("np.square" if language == "numpy" else "bump") in text.replace("BUMP", "bump"), text
    if language == "numpy":
        exec(text, known := {})
        assert np.allclose(known["y"](points[:, 0]), expected)
data = np.random.default_rng(0).uniform(-2, 2, (100, 1))
y = 3 * np.array(1 / (1 + (1.5 * data[:, 0] - 0.5) ** 2))
operators.register("twice", x, 2 * bump(x))
for name in ("bump", "twice"):
    model = CEQLRegressor(operators=[name], random_state=0).fit(data, y)
    found = str(model.sympy(form="readable"))  # the function is even
    assert found in ("3*bump(1.5*x1 - 0.5)", "3*bump(0.5 - 1.5*x1)"), found
"""


def test_a_made_up_function_is_one_object():
    """In a process of its own: a function, once added, is there for everything that follows."""
    run = subprocess.run([sys.executable, "-c", MADE_UP], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
