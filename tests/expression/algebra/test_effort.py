"""Work is counted: the same steps, and the same form, whatever was computed before and however long it takes."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from ceql.expression import BRIEF, Effort, node_count, parse_formula, readable, smallest
from ceql.expression.algebra.effort import OutOfSteps, allowing, charge
from ceql.expression.algebra.factoring import factor
from ceql.expression.algebra.polynomial import TooLarge, divide, multiply
from ceql.formula import make_symbols

NAMES = ("x1", "x2", "x3", "x4")
SYMBOLS = make_symbols(NAMES)
X = np.random.default_rng(3).uniform(0.5, 3.0, (60, 4))
FACTORS = "*".join(f"(x1+{k}.3*x2+x3*{k}.7+0.{k}*x4+1)" for k in range(1, 8))
HARD = parse_formula(f"1/({FACTORS}) + sin({FACTORS})", NAMES)


def test_without_an_allowance_nothing_is_charged():
    charge(10**12)


def test_an_allowance_ends_and_the_one_around_it_stays():
    with allowing(100) as outer:
        charge(60)
        with allowing(10) as inner, pytest.raises(OutOfSteps):
            charge(11)
        assert inner.spent > 10
        assert outer.spent == 60
        charge(40)
        with pytest.raises(OutOfSteps):
            charge(1)


def test_every_thread_has_an_allowance_of_its_own():
    spent = []

    def work():
        charge(10**9)
        spent.append(0)

    with allowing(1):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert spent == [0]


def test_what_is_remembered_costs_the_same_as_the_first_time():
    poly = {(2, 0): 1.37, (1, 1): 2.91, (0, 2): -0.4, (1, 0): 0.77, (0, 0): 3.3}
    costs = []
    for _ in range(2):
        with allowing(10**9) as allowance:
            factor(poly)
        costs.append(allowance.spent)
    assert costs[0] == costs[1] > 0


def test_arithmetic_is_charged_before_it_is_done():
    line = {(k,): 1.0 for k in range(100)}
    with allowing(100), pytest.raises(OutOfSteps):
        multiply(line, line)


def test_a_division_that_grows_without_end_is_given_up():
    wide = {(j, k): 1.0 + j - 0.3 * k for j in range(20) for k in range(20)}
    tall = {(j, 30 - j): 1.7 * j + 1.0 for j in range(31)} | {(j, 0): 0.3 + j for j in range(29)}
    with pytest.raises(TooLarge), allowing(10**8):
        divide(multiply(tall, tall), {**tall, **{k: v for k, v in wide.items() if sum(k) < 30}})


@pytest.mark.parametrize("steps", [0, 100, 3_000, 30_000, 100_000])
def test_a_hard_formula_comes_out_the_same_every_time_and_never_longer(steps):
    first, again = (smallest(HARD, SYMBOLS, X, Effort(steps, 1000)) for _ in range(2))
    assert first == again
    assert node_count(first) <= node_count(HARD)


def test_a_formula_beyond_the_size_is_left_alone():
    loose = parse_formula("1.0*x1 + 0.0*x2", NAMES)
    assert smallest(loose, SYMBOLS, X, Effort(10**6, most_nodes=2)) == loose
    assert readable(loose, SYMBOLS, X, effort=Effort(10**6, most_nodes=2)) == loose
    assert smallest(loose, SYMBOLS, X, BRIEF) == SYMBOLS[0]
