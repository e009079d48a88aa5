"""MathML that any XML parser reads, whatever the columns are called."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.expression import parse_formula
from ceql.expression.constants.parametrise import with_named_constants
from ceql.expression.text.mathml import number_as_mathml, terms_as_mathml

FORMULAS = (
    "(1.5*x - 0.4)/(x + 0.7)",
    "-2.5e-7*sqrt(z)*x",
    "log(abs(x))*exp(-x/3) + x**1.7",
    "x**-2 + z**3/3 - pi",
    "sin(x)*cos(z)*tanh(x)*tan(z)",
    "4.25",
    "-x",
)


def shown(element: str) -> str:
    return "".join(ElementTree.fromstring(element).itertext())


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=8), st.sampled_from(FORMULAS))
def test_any_name_gives_well_formed_mathml_that_shows_it(name, text):
    symbol = sympy.Symbol(name, real=True)
    expression = parse_formula(text, ("x", "z")).xreplace({sympy.Symbol("x", real=True): symbol})
    for element in terms_as_mathml(expression, left=name):
        tags = {child.tag.split("}")[1] for child in ElementTree.fromstring(element).iter()}
        assert tags <= {"math", "mrow", "mi", "mn", "mo", "msup", "msub", "mfrac", "msqrt", "mroot"}


@pytest.mark.parametrize("name", ["a&b", "<b>", "]]>", "&lt;", "x y"])
def test_a_name_is_shown_as_it_is(name):
    assert shown(*terms_as_mathml(sympy.Symbol(name))) == name


def test_an_index_is_lowered():
    assert "<msub><mi>x</mi><mn>12</mn></msub>" in terms_as_mathml(sympy.Symbol("x12"))[0]


@pytest.mark.parametrize(
    ("value", "words"),
    [(1.5, "1.5"), (-0.25, "−0.25"), (1 / 3, "0.333333"), (2.5e-9, "2.5·10−9"), (6.02e23, "6.02·1023"), (0.0, "0")],
)
def test_numbers_are_short(value, words):
    assert shown(f"<math>{number_as_mathml(value)}</math>") == words


def test_terms_carry_their_signs():
    expression = parse_formula("x - 2.5*z + 1.5", ("x", "z"))
    assert [shown(term).replace("\u2062", "") for term in terms_as_mathml(expression, "y")] == [
        "y=",
        "x",
        "−2.5z",
        "+1.5",
    ]


def test_words_are_multiplied_visibly():
    area, speed = sympy.symbols("area speed")
    assert shown(*terms_as_mathml(area * speed)) == "area·speed"


def test_constants_get_names_that_no_column_has():
    expression, names = with_named_constants(parse_formula("1.5*c1 + 2.5/(x + 0.5)", ("c1", "x")))
    assert names == ("k1", "k2", "k3")
    assert {symbol.name for symbol in expression.free_symbols} == {"c1", "x", *names}
    whole = parse_formula("2*x", ("x",))
    assert with_named_constants(whole) == (whole, ())
