"""Which formulas are dimensionally possible."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

from ceql.dimensions import Dimension, Dimensions, Quantity, Rule

BASES: tuple[str, ...] = ("length", "time", "mass")
COLUMNS = {
    "x": Dimension.of({"length": 1}),
    "t": Dimension.of({"time": 1}),
    "m": Dimension.of({"mass": 1}),
    "v": Dimension.of({"length": 1, "time": -1}),
    "u": Dimension.of({"length": 1, "time": -1}),
    "angle": Dimension(),
}
SYMBOLS = {name: sympy.Symbol(name, real=True) for name in COLUMNS}
Part = tuple[sympy.Expr, Dimension]


def known(target: Dimension | None, constants: tuple[Quantity, ...] = (), free: bool = True) -> Dimensions:
    columns = tuple(Quantity(name, dimension) for name, dimension in COLUMNS.items())
    return Dimensions(columns, Quantity("y", target), constants, free)


def dimensions() -> st.SearchStrategy[Dimension]:
    powers = st.fractions(min_value=-4, max_value=4, max_denominator=4)
    return st.dictionaries(st.sampled_from(BASES), powers).map(lambda powers: Dimension.of(dict(powers)))


def _leaves() -> st.SearchStrategy[Part]:
    return st.sampled_from([(SYMBOLS[name], dimension) for name, dimension in COLUMNS.items()])


def _combined(parts: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    def product(pair: tuple[Part, Part]) -> Part:
        (a, da), (b, db) = pair
        return a * b, da * db

    def power(given: tuple[Part, Fraction]) -> Part:
        (a, da), exponent = given
        return a ** sympy.Rational(exponent.numerator, exponent.denominator), da**exponent

    def ratio_inside(pair: tuple[Part, str]) -> Part:
        (a, _), name = pair
        return getattr(sympy, name)(a / (a + a * sympy.Rational(1, 2) * SYMBOLS["angle"])), Dimension()

    def sum_of_two(pair: tuple[Part, Part]) -> Part:
        """A sum of like with like: the second is made alike by a ratio of it to itself."""
        (a, da), (b, _) = pair
        return a + a * sympy.Rational(3, 2) * b / (b + sympy.Rational(1, 3) * b * SYMBOLS["angle"]), da

    exponents = st.sampled_from([Fraction(-1), Fraction(2), Fraction(1, 2), Fraction(-3, 2)])
    names = st.sampled_from(["exp", "log", "sin", "tanh"])
    return st.one_of(
        st.tuples(parts, parts).map(product),
        st.tuples(parts, exponents).map(power),
        st.tuples(parts, names).map(ratio_inside),
        st.tuples(parts, parts).map(sum_of_two),
    )


def valid_formulas() -> st.SearchStrategy[Part]:
    """Formulas that are dimensionally possible with numbers that have no units, and their dimension."""
    return st.recursive(_leaves(), _combined, max_leaves=5)


x, t, m, v, u, angle = (SYMBOLS[name] for name in ("x", "t", "m", "v", "u", "angle"))
exp, log, sin, sqrt = sympy.exp, sympy.log, sympy.sin, sympy.sqrt
LENGTH, TIME = COLUMNS["x"], COLUMNS["t"]


@given(valid_formulas())
def test_a_formula_made_by_the_rules_is_possible(made):
    formula, dimension = made
    assume(not formula.has(sympy.zoo, sympy.nan, sympy.I))
    assert Rule(known(dimension, free=False)).allows(formula)
    assert Rule(known(dimension)).allows(formula)


@given(valid_formulas(), dimensions())
def test_it_is_impossible_for_a_target_of_another_dimension(made, other):
    formula, dimension = made
    assume(other != dimension and formula.free_symbols and not formula.has(sympy.zoo, sympy.nan, sympy.I))
    assert not Rule(known(other, free=False)).allows(formula)


@given(valid_formulas())
def test_a_number_repairs_any_of_them(made):
    formula, _ = made
    assume(formula.free_symbols and not formula.has(sympy.zoo, sympy.nan, sympy.I))
    anything = Dimension.of({"mass": 7})
    assert Rule(known(anything)).allows(sympy.Float(2.5) * formula)


@pytest.mark.parametrize(
    ("formula", "target", "any_units", "no_units"),
    [
        (v * t, LENGTH, True, True),
        (x + v * t, LENGTH, True, True),
        (x + t, LENGTH, False, False),
        (x + 2 * t, LENGTH, True, False),
        (x + 1, LENGTH, True, False),
        (exp(x), Dimension(), False, False),
        (exp(2.0 * x), Dimension(), True, False),
        (exp(angle), Dimension(), True, True),
        (sin(x / (v * t)), Dimension(), True, True),
        (sin(x + 1.5), Dimension(), False, False),
        (log(x), Dimension(), False, False),
        (log(x) + 1.2, Dimension(), True, False),
        (log(x) - log(v * t), Dimension(), True, True),
        (2.5 * log(v) - 2.5 * log(u), Dimension(), True, True),
        (sqrt(x**2 + 3), LENGTH, True, False),
        (sqrt(v**2 + u**2) * t, LENGTH, True, True),
        (x**0.3, LENGTH, False, False),
        (1.7 * x**0.3, LENGTH, True, False),
        (x ** (t / (x / v)), LENGTH, False, False),
        ((v / u) ** angle * x, LENGTH, True, True),
        (abs(x), LENGTH, True, True),
        (sympy.Integer(0), LENGTH, True, True),
        (sympy.Float(3.0), LENGTH, True, False),
    ],
)
def test_what_is_possible(formula, target, any_units, no_units):
    formula = sympy.sympify(formula)
    assert Rule(known(target)).allows(formula) is any_units
    assert Rule(known(target, free=False)).allows(formula) is no_units


def test_named_constants_bring_their_units_and_no_others():
    gravity = Quantity("g", Dimension.of({"length": 1, "time": -2}), value=9.81)
    rule = Rule(known(TIME, (gravity,), free=False))
    assert rule.allows(2.006 * sqrt(x))
    assert not rule.allows(2.006 * x)
    assert not rule.allows(2.006 * sqrt(m))


def test_a_column_without_a_unit_may_have_any_but_only_one():
    free = known(LENGTH, free=False)
    columns = tuple(Quantity(q.name) if q.name == "m" else q for q in free.columns)
    rule = Rule(type(free)(columns, free.target, (), False))
    assert rule.allows(m * v)
    assert not rule.allows(m * v + m * m * v)
    assert not rule.allows(sin(m) * m)


def test_the_dimensions_of_numbers_are_found():
    c0, c1 = sympy.symbols("c0 c1")
    rule = Rule(known(LENGTH))
    found = rule.dimensions_of(c0 * exp(-c1 * t), {c0: sympy.Float(2.0), c1: sympy.Float(0.5)})
    assert found is not None
    assert found[c0] == LENGTH
    assert found[c1] == TIME**-1


def test_whole_numbers_have_a_unit_only_where_there_is_no_other_way():
    c0 = sympy.Symbol("c0")
    found = Rule(known(LENGTH)).dimensions_of(2 * c0 * t, {c0: sympy.Float(3.0)})
    assert found is not None
    assert found[c0] == LENGTH / TIME
