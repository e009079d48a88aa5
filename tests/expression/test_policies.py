"""The numbers that steer rewriting and rounding are data, which a caller can vary."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from sympy import Float, Integer, Symbol

from ceql.data.dataset import Dataset
from ceql.expression import node_count, parse_formula, readable, round_to_errors, smallest, snap
from ceql.expression.algebra.simplify_policy import SIMPLIFY
from ceql.expression.algebra.squares import root_of_square
from ceql.expression.constants.rewrites import with_simple_exponents
from ceql.expression.constants.rounding_policy import ROUNDING
from ceql.expression.constants.simpler import relatives, with_halves
from ceql.formula import POLISH, make_symbols, sketch

X = Symbol("x", real=True)
TABLE = np.linspace(0.5, 3.0, 60)[:, None]
NOISE = np.random.default_rng(2).normal(0.0, 0.02, 60)


@pytest.mark.parametrize("policy", [SIMPLIFY, ROUNDING, POLISH], ids=lambda policy: type(policy).__name__)
def test_a_policy_cannot_be_changed_in_place(policy):
    with pytest.raises(AttributeError):
        setattr(policy, fields(policy)[0].name, 1)


def test_exact_data_round_only_as_far_as_the_policy_allows():
    expr, y = parse_formula("1.2500001*x", ["x"]), 1.2500001 * TABLE[:, 0]
    assert float(snap(expr, [X], TABLE, y).as_coeff_Mul()[0]) == pytest.approx(1.2500001, abs=1e-12)
    loose = replace(ROUNDING, rounding_floor=1e-12)
    assert float(snap(expr, [X], TABLE, y, policy=loose).as_coeff_Mul()[0]) == 1.25


def test_fewer_denominators_are_fewer_fractions():
    expr, y = parse_formula("0.142857142857*x", ["x"]), TABLE[:, 0] / 7.0
    assert snap(expr, [X], TABLE, y) == X / 7
    assert snap(expr, [X], TABLE, y, policy=replace(ROUNDING, largest_denominator=6)).has(Float)


def test_more_digits_of_the_error_are_longer_numbers():
    y = 1.2345678 * TABLE[:, 0] + NOISE
    expr = parse_formula("1.2345678*x", ["x"])
    short, long = (
        round_to_errors(expr, [X], TABLE, y, policy=replace(ROUNDING, error_digits=digits)) for digits in (1, 5)
    )
    assert len(str(float(short.as_coeff_Mul()[0]))) < len(str(float(long.as_coeff_Mul()[0])))


def test_exponents_become_only_fractions_that_the_policy_knows():
    expr = X ** Float(1.2)
    assert not with_simple_exponents(expr, 1e-9).has(Float)
    assert with_simple_exponents(expr, 1e-9, replace(ROUNDING, exponent_denominator=4)) == expr
    assert with_halves(X ** Float(1.55)) != with_halves(X ** Float(1.55), replace(ROUNDING, near_half=0.01))


def test_many_numbers_are_compared_only_where_the_policy_says_so():
    expr = Float(1.5) * X + Float(1.51) * X**2
    constants = [(1.51, 0.02), (1.5, 0.02)]
    assert relatives(expr, constants)
    assert relatives(expr, constants, policy=replace(ROUNDING, most_numbers=1)) == []


def test_a_search_of_no_width_leaves_the_formula_as_it_is():
    expr = parse_formula("1.5/(x + 2.0) + 2.5/(x + 2.0)", ["x"]) + X * Float(1.1) + X**2 * Float(1.1)
    none = replace(SIMPLIFY, forms_written=0, folded_forms=0)
    assert node_count(smallest(expr, [X], TABLE)) < node_count(expr)
    assert node_count(smallest(expr, [X], TABLE, policy=none)) > node_count(smallest(expr, [X], TABLE))


def test_a_constant_is_short_only_with_as_many_digits_as_the_policy_allows():
    expr = parse_formula("1.2340000000000004*x", ["x"])
    assert readable(expr, [X]).as_coeff_Mul()[0] == Float(1.234)
    assert readable(expr, [X], policy=replace(SIMPLIFY, most_digits=2)).as_coeff_Mul()[0] != Float(1.234)


def test_a_square_is_one_to_the_tolerance_of_the_policy():
    almost = X**2 + Float(2.0001) * X + Integer(1)
    assert root_of_square(almost, [X]) is None
    assert root_of_square(almost, [X], replace(SIMPLIFY, same_coefficients=1e-2)) is not None


def test_a_formula_is_finished_by_a_policy():
    data = Dataset.of(TABLE, 2.0 * TABLE[:, 0] ** 1.5 + NOISE)
    symbols = make_symbols(data.names)
    raw = Float(2.001) * symbols[0] ** Float(1.5 + 3e-8)
    usual, rough = (sketch(raw, data, symbols, policy=p) for p in (POLISH, replace(POLISH, fitted=1e-6)))
    assert usual is not None
    assert rough is not None
    assert usual.expression.has(Float)
    assert any(power.args[1].is_Rational for power in rough.expression.atoms(type(symbols[0] ** 2)))
