"""Compiled formulas against SymPy's own arithmetic, and their derivatives against differences."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import (
    Abs,
    Float,
    Rational,
    Symbol,
    acos,
    asin,
    atan,
    cos,
    exp,
    gamma,
    log,
    pi,
    sin,
    sqrt,
    tan,
    tanh,
)
from sympy import E as EULER

from ceql.expression import UnsupportedExpression, compile_numpy, node_count, parametrise, value_and_jacobian

X1, X2 = SYMBOLS = (Symbol("x1", real=True), Symbol("x2", real=True))
UNARY = [log, exp, sin, cos, tan, tanh, Abs, atan, sqrt, lambda u: u**2, lambda u: 1 / u, lambda u: u**-3]


def formulas(depth=3):
    number = st.floats(-3, 3).map(lambda value: Float(round(value, 2) + 0.01))
    leaf = st.one_of(st.sampled_from(SYMBOLS), number)

    def grow(inner):
        return st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
            st.tuples(st.sampled_from(UNARY), inner).map(lambda pair: pair[0](pair[1])),
        )

    return st.recursive(leaf, grow, max_leaves=2**depth)


@settings(max_examples=60, deadline=None)
@given(formulas(), st.floats(0.2, 2.5), st.floats(0.2, 2.5))
def test_value_equals_sympy(expr, a, b):
    expected = expr.subs({X1: Float(a, 40), X2: Float(b, 40)}).evalf(30)
    try:
        found = compile_numpy(expr, SYMBOLS)(np.array([[a, b]]))[0]
    except UnsupportedExpression:
        assert expected.is_finite is not True or not expected.is_real
        return
    if expected.is_real and expected.is_finite and abs(expected) < 1e12:
        spread = compile_numpy(expr, SYMBOLS)(np.array([[a * (1 + 1e-13), b * (1 + 1e-13)]]))[0]
        assert found == pytest.approx(float(expected), rel=1e-8, abs=1e-8 + 1e3 * abs(spread - found))


@settings(max_examples=40, deadline=None)
@given(formulas(), st.floats(0.3, 2.0), st.floats(0.3, 2.0))
def test_jacobian_equals_differences(expr, a, b):
    form = parametrise(expr)
    if not form.symbols or form.expr.has(Abs):
        return
    point = np.array([[a, b]])
    try:
        program = value_and_jacobian(form.expr, SYMBOLS, form.symbols)
        value, jacobian = program(point, form.values)
    except UnsupportedExpression:
        return
    for index in range(len(form.values)):
        step = 1e-5 * max(1.0, abs(form.values[index]))
        shifts = [np.zeros(len(form.values)) for _ in range(2)]
        shifts[0][index], shifts[1][index] = step, -step
        high, low = (program.value(point, form.values + shift)[0] for shift in shifts)
        curvature = abs(high - 2 * value[0] + low)
        if np.isfinite([high, low]).all() and abs(high) < 1e6 and curvature < 1e-6 * (1e-3 + abs(high - low)):
            slope = (high - low) / (2 * step)
            assert jacobian[0, index] == pytest.approx(slope, rel=1e-3, abs=1e-5 * (1 + abs(value[0])))


def test_undefined_points_are_nan_without_warnings():
    x = np.array([[-1.0, 0.5], [4.0, 0.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for expr in (log(X1), sqrt(X1), X1 ** Rational(1, 3), X1 ** Float(0.3), X1**X2, asin(X1 + 3)):
            assert np.isnan(compile_numpy(expr, SYMBOLS)(x)[0])
            value_and_jacobian(expr, SYMBOLS, ())(x, np.empty(0))


def test_constants_and_every_function():
    x = np.array([[0.3, 0.7]])
    expr = asin(X1) + acos(X1) * atan(X2) + tanh(X1) - tan(X2) + pi * EULER**X1 + Rational(1, 3) + X1**20
    found = compile_numpy(expr, SYMBOLS)(x)[0]
    assert found == pytest.approx(float(expr.subs({X1: 0.3, X2: 0.7})), rel=1e-14)
    assert compile_numpy(Float(2.5), SYMBOLS)(np.zeros((3, 2))).tolist() == [2.5, 2.5, 2.5]


def test_common_subexpressions_share_one_slot():
    shared = log(X1 + X2)
    program = compile_numpy(shared**2 + sin(shared), SYMBOLS)
    assert sum(step.payload == "log" for step in program.instructions) == 1


def test_exponent_derivative_survives_zero_base():
    c = Symbol("c", real=True)
    _, jacobian = value_and_jacobian(X1**c, [X1], [c])(np.array([[0.0], [2.0]]), np.array([1.5]))
    assert jacobian[:, 0] == pytest.approx([0.0, 2.0**1.5 * np.log(2.0)])


def test_errors_name_the_cause():
    with pytest.raises(UnsupportedExpression, match="gamma"):
        compile_numpy(gamma(X1), SYMBOLS)
    with pytest.raises(UnsupportedExpression, match="'z'"):
        compile_numpy(Symbol("z") + X1, SYMBOLS)
    with pytest.raises(UnsupportedExpression, match="real"):
        compile_numpy(X1 + sqrt(-1), SYMBOLS)
    with pytest.raises(ValueError, match="shape"):
        compile_numpy(X1, SYMBOLS)(np.zeros((3, 1)))


def test_node_count_of_the_reference_example():
    assert node_count(1.87 * X1 + 2.01) == 5
