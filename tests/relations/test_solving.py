"""A relation solved for a column: what comes out makes it vanish."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.errors import InputError, UnknownNameError
from ceql.expression import compile_numpy
from ceql.formula import make_symbols
from ceql.relations.finding import Number
from ceql.relations.solving import solved_for

SOLVABLE = {
    "p*V - 8.314*n*T": (("p", "V", "n", "T"), 0.0),
    "x**2 - 2*x + y**2 + 4*y": (("x", "y"), 4.0),
    "1/a + 1/b - 1/f": (("a", "b", "f"), 0.0),
    "T*log(p) - 5*T + log(p)": (("T", "p"), -3.0),
    "p - 148.4*exp(-8/(T + 1))": (("T", "p"), 0.0),
    "p*V**1.4": (("p", "V"), 5.0),
    "v**2 - 19.6*cos(a)": (("v", "a"), -10.0),
    "a**3 - M*T**2": (("a", "M", "T"), 0.0),
}


@pytest.mark.parametrize("text", SOLVABLE)
def test_every_solution_makes_it_vanish(relation, text):
    names, level = SOLVABLE[text]
    found = relation(text, names, (Number(level, 0.0),))
    x = np.random.default_rng(0).uniform(1.1, 1.9, (50, len(names)))
    for column in found.columns:
        for formula in solved_for(found, column):
            assert not formula.has(make_symbols((column,))[0])
            there = x.copy()
            there[:, names.index(column)] = compile_numpy(formula, make_symbols(names))(x)
            left = found.left_side(there) - level
            sound = np.isfinite(left)
            np.testing.assert_allclose(left[sound], 0.0, atol=1e-8)


def test_both_branches_are_given(relation):
    assert len(solved_for(relation("x**2 + y**2", ("x", "y"), (Number(1.0, 0.0),)), "y")) == 2


def test_the_level_of_groups_is_a_symbol(grouped_finding):
    (one, _) = solved_for(grouped_finding.relations[0], "v")
    assert {symbol.name for symbol in one.free_symbols} == {"a", "level"}


def test_where_there_is_no_closed_form_it_says_so(relation):
    with pytest.raises(InputError, match="cannot be solved for 'x' in closed form"):
        solved_for(relation("x + 4*y - 4*log(x)", ("x", "y")), "x")


def test_columns_that_are_not_there(relation):
    found = relation("x*y - 2", ("x", "y", "z"))
    with pytest.raises(InputError, match="does not occur"):
        solved_for(found, "z")
    with pytest.raises(UnknownNameError, match="'w'"):
        solved_for(found, "w")
