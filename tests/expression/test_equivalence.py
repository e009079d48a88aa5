"""Verdicts on found formulas."""

import numpy as np
import pytest
from sympy import Float, Symbol

from ceql.expression import Equivalence, equivalence, is_exact, parse_formula, smallest

NAMES = ["x1", "x2"]
SYMBOLS = [Symbol(name, real=True) for name in NAMES]
X = np.random.default_rng(11).uniform(1.7, 4.5, (100, 2))


def read(text):
    return parse_formula(text, NAMES)


SAME = [
    ("(0.53-2.94*x1)/(2.32*x1+1.80)", "-1.267241379310345 + 1.211652794292509/(x1 + 0.775862068965517)"),
    ("2.31*sqrt(2.52*x1**2-1.52*x1-2.24)", "4.62*sqrt(0.63*x1**2-0.38*x1-0.56)"),
    ("-2.05*log(1.56*x1**2-0.55*x1-2.15)", "-2.05*log(3.12*x1**2-1.1*x1-4.3)+1.42095172014"),
    ("1.5*exp(0.3*x1+0.2)", "1.832104137*exp(0.3*x1)"),
    ("1.2*sin(x1)+0.8*cos(x1)", "1.442220510*sin(x1+0.588002604)"),
    ("(x1+x2)**2", "x1**2+2*x1*x2+x2**2"),
    ("2.31*x1**0.37-x2", "2.31*x1**0.37000000001-x2"),
    ("sqrt(x1+log(2.0*x2))", "sqrt(x1+log(x2)+0.69314718056)"),
]


@pytest.mark.parametrize(("truth", "found"), SAME)
def test_equal_formulas_have_the_same_structure(truth, found):
    assert equivalence(read(found), read(truth), SYMBOLS, X) is Equivalence.EXACT_STRUCTURE
    assert is_exact(read(truth), read(found), SYMBOLS, X)


@pytest.mark.parametrize("text", [truth for truth, _ in SAME])
def test_a_changed_constant_is_noticed(text):
    truth = read(text)
    for number in truth.atoms(Float):
        if number not in (0.5, 2.0):
            changed = truth.xreplace({number: number * Float(1.001)})
            assert not is_exact(changed, truth, SYMBOLS, X)


@pytest.mark.parametrize("text", [truth for truth, _ in SAME])
def test_small_errors_of_constants_are_forgiven(text):
    truth = read(text)
    changed = truth.xreplace({number: number * Float(1 + 1e-8) for number in truth.atoms(Float)})
    assert is_exact(changed, truth, SYMBOLS, X)
    assert is_exact(smallest(truth, SYMBOLS, X), truth, SYMBOLS, X)


def test_good_fits_are_not_exact():
    assert not is_exact(read("x1 - x1**3/6.0"), read("sin(x1)"), SYMBOLS, X / 100)
    assert equivalence(read("x1"), read("x1+0.1"), SYMBOLS, X) is Equivalence.DIFFERENT


def test_values_decide_where_structure_cannot():
    verdict = equivalence(read("2*sin(x1)*cos(x1)"), read("sin(2*x1)"), SYMBOLS, X)
    assert verdict is Equivalence.NUMERIC
    assert is_exact(read("2*sin(x1)*cos(x1)"), read("sin(2*x1)"), SYMBOLS, X)


def test_formulas_defined_nowhere():
    assert equivalence(read("log(-x1-9)"), read("log(-x1-8)"), SYMBOLS, X) is not Equivalence.EXACT_STRUCTURE


def test_roots_of_one_sign_are_compared_by_their_squares():
    positive = np.abs(X) + 0.5
    wide = positive * np.array([1.0] + [4.0] * (X.shape[1] - 1))
    found, truth = read("x2*sqrt(1/(x2**2 - x1**2))"), read("1/sqrt(1 - x1**2/x2**2)")
    assert is_exact(found, truth, SYMBOLS, wide)
    assert not is_exact(-found, truth, SYMBOLS, wide)


def test_what_is_positive_in_the_data_is_so_beyond_them():
    positive = np.abs(X) / 10.0 + 0.01
    assert is_exact(read("sqrt(x1)*sqrt(x2) + x1"), read("sqrt(x1*x2) + x1"), SYMBOLS, positive)
    assert not is_exact(read("sqrt(x1)*sqrt(x2)"), read("sqrt(x1*x2)"), SYMBOLS, X - 3.0)
