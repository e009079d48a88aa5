"""Every operator's four forms (surrogate, real, symbolic, tape) say the same where they should."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ceql import operators
from ceql.engine import fit
from ceql.errors import UnknownNameError
from ceql.operators import Argument, Operator, functions
from ceql.operators.tape import TapeBuilder

# Arguments inside the domain of each operator; the exponent of pow is one number.
EVEN = np.linspace(-2.5, 2.5, 24)
POSITIVE = np.linspace(0.1, 4, 24)
WITHIN_ONE = np.linspace(-0.97, 0.97, 24)
# The elementary functions come last, as in the library.
INSIDE: dict[str, tuple[np.ndarray, ...]] = {
    "id": (EVEN,),
    "const": (),
    "mul": (EVEN, POSITIVE),
    "div": (EVEN, EVEN[::-1].copy()),
    "pow": (POSITIVE, np.full(24, 1.7)),
} | {
    name: ({"log": POSITIVE, "sqrt": POSITIVE, "asin": WITHIN_ONE, "acos": WITHIN_ONE}.get(name, EVEN),)
    for name in functions.names()
}
FORMULAS = {
    "id": "x", "const": "1", "square": "x**2", "cube": "x**3", "mul": "x*y", "div": "x/y", "log": "log(x)",
    "sqrt": "sqrt(x)", "exp": "exp(x)", "sin": "sin(x)", "cos": "cos(x)", "tanh": "tanh(x)", "abs": "Abs(x)",
    "pow": "x**y", "tan": "tan(x)", "asin": "asin(x)", "acos": "acos(x)", "atan": "atan(x)", "sinh": "sinh(x)",
    "cosh": "cosh(x)", "cbrt": "cbrt(x)",
}  # fmt: skip
SYMBOLS = sympy.symbols("x y")


def of(name: str) -> tuple[Operator, tuple[np.ndarray, ...]]:
    return operators.get(name), INSIDE[name]


@pytest.mark.parametrize("name", INSIDE)
def test_surrogate_equals_the_real_form_on_the_real_axis(name):
    operator, arguments = of(name)
    assert np.allclose(operator.surrogate(*(a + 0j for a in arguments)), operator.real(*arguments), rtol=1e-13)


@pytest.mark.parametrize("name", INSIDE)
def test_symbolic_form_equals_the_real_form(name):
    operator, arguments = of(name)
    formula = operator.symbolic(*SYMBOLS[: operator.arity])
    expected = [
        float(formula.subs(dict(zip(SYMBOLS, map(sympy.Float, row), strict=False))))
        for row in zip(*arguments, strict=True)
    ]
    values = operator.real(*arguments)
    assert np.allclose(values if arguments else [values], expected or [float(formula)], rtol=1e-12)


@pytest.mark.parametrize("name", INSIDE)
def test_symbolic_form_is_the_expected_one(name):
    operator, _ = of(name)
    assert str(operator.symbolic(*SYMBOLS[: operator.arity])) == FORMULAS[name]


def on_tape(operator: Operator, arguments: tuple[np.ndarray, ...]) -> np.ndarray:
    """Complex arguments as pairs of input columns."""
    n = len(arguments[0]) if arguments else 3
    columns = [part for a in arguments for part in (np.real(a), np.imag(a))] or [np.zeros(n)]
    builder = TapeBuilder(len(columns))
    slots = [(2 * k, 2 * k + 1) for k in range(operator.arity)]
    tape = builder.finish(operator.record(builder, *slots, kinds=operator.arguments))
    return fit.values(tape, fit.Samples.of(np.column_stack(columns), np.zeros(n)), np.zeros((1, 0)))[0]


@pytest.mark.parametrize("name", INSIDE)
def test_tape_equals_the_surrogate(name):
    rng = np.random.default_rng(0)
    operator, _ = of(name)
    arguments = tuple(rng.normal(0, 1.5, 40) + 1j * rng.normal(0, 1, 40) for _ in range(operator.arity))
    expected = operator.surrogate(*arguments)
    assert np.allclose(on_tape(operator, arguments), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", INSIDE)
def test_tape_on_the_real_axis_equals_the_real_form(name):
    operator, arguments = of(name)
    assert np.allclose(on_tape(operator, tuple(a + 0j for a in arguments)), operator.real(*arguments), rtol=1e-12)


@pytest.mark.parametrize("name", INSIDE)
def test_only_a_complex_argument_sees_an_imaginary_part(name):
    operator, arguments = of(name)
    for position, kind in enumerate(operator.arguments):
        shifted = [a + (0.3j if k == position else 0j) for k, a in enumerate(arguments)]
        same = np.allclose(operator.surrogate(*shifted), operator.real(*arguments), rtol=1e-12)
        assert same is (kind is not Argument.COMPLEX)


@pytest.mark.parametrize("name", INSIDE)
def test_zero_at_zero_says_what_an_empty_argument_gives(name):
    operator, _ = of(name)
    if operator.arity:
        value = operator.surrogate(*(np.zeros(1, complex) for _ in range(operator.arity)))
        assert operator.zero_at_zero is not bool(np.isfinite(value[0]) and value[0] != 0)


@pytest.mark.parametrize("name", ["log", "sqrt", "pow", "asin", "acos"])
def test_the_real_form_is_nan_outside_its_domain(name):
    operator, _ = of(name)
    arguments = [np.array([-1.5, -1.1]), np.array([0.5, 1.5])][: operator.arity]
    assert not operator.domain.has_inside(arguments[0]).any()
    assert np.all(np.isnan(operator.real(*arguments)))


def test_the_surrogate_of_log_is_the_log_of_the_size():
    z = np.array([-2.0 + 0j, 3j, 1 - 1j])
    assert np.allclose(operators.get("log").surrogate(z), np.log(np.abs(z)))


def test_every_built_in_operator_is_tested():
    assert operators.names()[: len(INSIDE)] == tuple(INSIDE)


@pytest.mark.parametrize(("typo", "meant"), [("squre", "square"), ("sqr", "sqrt"), ("tanhh", "tanh"), ("coss", "cos")])
def test_a_typo_is_answered_with_the_nearest_name(typo, meant):
    with pytest.raises(UnknownNameError, match=f"no operator '{typo}'. Did you mean '{meant}'") as caught:
        operators.get(typo)
    assert "Known: abs, " in str(caught.value)


@pytest.mark.parametrize("stranger", ["qqqqqq", 7, None, ["sin"]])
def test_a_stranger_is_answered_with_the_list(stranger):
    with pytest.raises(UnknownNameError, match=r"There is no operator .*Known: abs, "):
        operators.get(stranger)


@pytest.mark.parametrize("name", INSIDE)
def test_complexity_is_small(name):
    assert operators.get(name).complexity == (0 if name == "id" else 1)
