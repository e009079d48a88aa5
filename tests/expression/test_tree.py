"""Formulas as nested lists: what is read back is the tree that was written, node by node."""

from __future__ import annotations

import json

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.expression.compile import UnsupportedExpression
from ceql.expression.tree import as_tree, from_tree

X, Y = SYMBOLS = sympy.symbols("x y", real=True)
FUNCTIONS = [sympy.log, sympy.exp, sympy.sin, sympy.cos, sympy.tan, sympy.tanh, sympy.Abs, sympy.asin, sympy.atan]


def unevaluated(node):
    return lambda *parts: node(*parts, evaluate=False)


numbers = st.one_of(
    st.integers(-20, 20).map(sympy.Integer),
    st.floats(-1e6, 1e6, allow_nan=False).map(sympy.Float),
    st.fractions(max_denominator=9).map(lambda f: sympy.Rational(f.numerator, f.denominator)),
    st.just(sympy.Float("0.125", precision=80)),
    st.sampled_from([sympy.pi, sympy.E]),
)
formulas = st.recursive(
    st.one_of(numbers, st.sampled_from(SYMBOLS)),
    lambda parts: st.one_of(
        st.tuples(parts, parts).map(lambda p: unevaluated(sympy.Add)(*p)),
        st.tuples(parts, parts, parts).map(lambda p: unevaluated(sympy.Mul)(*p)),
        st.tuples(parts, parts).map(lambda p: unevaluated(sympy.Pow)(*p)),
        st.tuples(st.sampled_from(FUNCTIONS), parts).map(lambda p: unevaluated(p[0])(p[1])),
    ),
    max_leaves=8,
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(formulas)
def test_the_tree_reads_back_the_same(formula):
    again = from_tree(json.loads(json.dumps(as_tree(formula))), SYMBOLS)
    assert sympy.srepr(again) == sympy.srepr(formula)


def test_a_form_that_text_does_not_keep():
    formula = sympy.Mul(sympy.Float(-0.3), X + 2 * Y, evaluate=False)
    assert str(from_tree(as_tree(formula), SYMBOLS)) == str(formula) == "-0.3*(x + 2*y)"


@pytest.mark.parametrize("tree", [None, True, [], "z", {}, [1, 2], ["Symbol", "x"], ["__import__", "os"], ["pi", 1]])
def test_what_is_no_formula_is_refused(tree):
    with pytest.raises(ValueError, match="is no"):
        from_tree(tree, SYMBOLS)


def test_what_has_no_numpy_program_is_not_written():
    with pytest.raises(UnsupportedExpression, match="gamma cannot be written down"):
        as_tree(sympy.gamma(X))
