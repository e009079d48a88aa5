from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql import CEQLRegressor
from ceql.choice.front import gains, pareto_front
from ceql.choice.selection import RULES, TiePolicy, choose, or_simpler, or_tied
from ceql.choice.validation import held_out
from ceql.data.dataset import Dataset
from ceql.discovery import Outcome
from ceql.errors import UnknownNameError
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols, refitted

SYMBOLS = make_symbols(("x",))
POWERS = [sum((0.5 * SYMBOLS[0] ** k for k in range(1, n)), sympy.Float(1.5)) for n in range(1, 7)]


def front_of(losses):
    return [Formula(expr, SYMBOLS, loss) for expr, loss in zip(POWERS, losses, strict=False)]


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(1e-20, 1e3), min_size=1, max_size=6))
def test_nothing_on_the_front_is_dominated(losses):
    front = pareto_front(front_of(losses), 100)
    assert front
    for a in front:
        for b in front:
            assert a is b or not (b.complexity <= a.complexity and b.loss <= a.loss)
    assert min(f.loss for f in front) == min(losses)


def test_infinite_losses_never_reach_the_front():
    assert [f.loss for f in pareto_front(front_of([np.inf, 1.0, np.nan]), 100)] == [1.0]


@pytest.mark.parametrize("rule", RULES)
def test_an_exact_formula_is_chosen_by_every_rule(rule):
    front = pareto_front(front_of([2.0, 0.5, 1e-30, 1e-31]), 100)
    assert front[choose(front, rule, 100, 1.0)].loss == 1e-30


def test_a_gain_within_the_noise_does_not_buy_size():
    front = pareto_front(front_of([5.0, 1.00, 0.99, 0.985]), 100)
    assert front[choose(front, "best", 100, 1.0)].loss == 1.00
    assert front[choose(front, "accuracy", 100, 1.0)].loss == 0.985
    assert front[choose(front, "score", 100, 1.0)].loss == 1.00


def test_few_rows_buy_less():
    """Eight times better with two constants more: worth it among many rows, no more than chance among seven."""
    front = pareto_front(front_of([1.5, 1.0, 0.12]), 7)
    assert [front[choose(front, "best", rows, 1.0)].loss == 0.12 for rows in (40, 7)] == [True, False]


def test_gains_are_drops_of_the_log_loss_per_node():
    front = pareto_front(front_of([np.e**2, 1.0]), 100)
    assert gains(front)[1] == pytest.approx(2.0 / (front[1].complexity - front[0].complexity))


def test_unknown_rule():
    with pytest.raises(UnknownNameError, match="accuracy"):
        choose(front_of([1.0]), "acuracy", 10, 1.0)


def test_of_two_formulas_of_one_size_the_one_with_fewer_constants_wins_unless_it_fits_worse():
    x = SYMBOLS[0]
    decimal, whole = Formula(1.03 * x + 0.5, SYMBOLS, 1.000), Formula(2 * x + 0.5, SYMBOLS, 1.005)
    assert decimal.complexity == whole.complexity
    assert pareto_front([decimal, whole], 100) == [whole]
    assert pareto_front([decimal, Formula(2 * x + 0.5, SYMBOLS, 1.2)], 100) == [decimal]


def test_a_decimal_exponent_is_not_for_free():
    x = SYMBOLS[0]
    power, pole = Formula(1.6 / (x + 2.6) ** 1.004, SYMBOLS, 0.95), Formula(1.6 / (x + 2.6), SYMBOLS, 1.0)
    assert power.complexity == pole.complexity
    assert pareto_front([power, pole], 100) == [pole]
    assert pareto_front([Formula(1.6 / (x + 2.6) ** 1.7, SYMBOLS, 0.5), pole], 100) != [pole]


def test_a_formula_gives_way_to_a_longer_one_that_owes_its_fit_to_fewer_numbers():
    x = SYMBOLS[0]
    power, law = Formula(3.1 * x**2.2, SYMBOLS, 1.0), Formula(3 * x**2 + x, SYMBOLS, 1.01)
    mean = Formula(sympy.Float(13.8), SYMBOLS, 9.0)
    assert power.complexity < law.complexity
    assert pareto_front([mean, power, law], 100) == [mean, law]
    assert pareto_front([mean, power, Formula(3 * x**2 + x, SYMBOLS, 1.3)], 100) == [mean, power]


def test_the_constant_opens_the_front_though_a_formula_without_any_number_is_cheaper():
    x = SYMBOLS[0]
    mean, bare = Formula(sympy.Float(13.8), SYMBOLS, 1.0), Formula(sympy.sin(x), SYMBOLS, 1.0001)
    assert pareto_front([mean, bare], 1000) == [mean]


def test_a_formula_with_as_many_constants_as_rows_proves_nothing():
    """Eight planets: the law, not one of the many formulas that pass through all of them."""
    a = np.array([0.387, 0.723, 1.0, 1.524, 5.203, 9.58, 19.2, 30.05])
    period = 365.25 * a**1.5 * (1 + 0.003 * np.random.default_rng(0).standard_normal(8))
    model = CEQLRegressor(time_limit=2, verbose=False).fit(a[:, None], period)
    assert model.discovery_.outcome is not Outcome.EXACT
    assert 2 * len(model.constants_) < 8
    assert model.predict([[50.0]]) == pytest.approx(365.25 * 50**1.5, rel=0.03)


@pytest.mark.parametrize("far", [False, True])
def test_a_term_that_one_far_row_pays_for_gives_way_to_a_simpler_formula(far):
    """The power fits the far row. Where that is held out, the formula is far off. Without one it never pays."""
    rng = np.random.default_rng(5)
    x = rng.uniform(0.5, 2.0, (60, 2))
    y = 1.5 * x[:, 0] + 0.3 * rng.standard_normal(60)
    if far:
        x[7, 1], y[7] = 4.0, 1.5 * x[7, 0] + 2.1
    data = Dataset(x, y, np.ones(60), ("a", "b"))
    texts = ("1.5*a", "1.5*a + 0.002*b**9")
    symbols = make_symbols(data.names)
    formulas = [f for text in texts if (f := refitted(parse_formula(text, data.names), data, symbols)) is not None]
    chosen = choose(formulas, "best", 60, 1.0)
    assert chosen == (1 if far else 0)
    assert or_simpler(chosen, formulas, data) == 0


def test_rows_held_out_break_a_near_tie():
    """The criterion hardly tells a line from a curve in these rows: which of both predicts better is chosen."""
    rng = np.random.default_rng(5)
    x = rng.uniform(0.5, 3.0, (40, 1))
    data = Dataset(x, np.sqrt(x[:, 0]) + 0.05 * rng.standard_normal(40), np.ones(40), ("a",))
    texts = ("0.9 + 0.4*a", "0.9*log(a + 1.5)", "1.01*sqrt(a)", "0.7")
    symbols = make_symbols(data.names)
    formulas = [f for text in texts if (f := refitted(parse_formula(text, data.names), data, symbols)) is not None]
    wide = TiePolicy(apart=1e3)
    assert formulas[or_tied(0, formulas, lambda few: held_out(few, data, times=3), 40, policy=wide)] in formulas[1:3]
    assert or_tied(2, formulas, lambda few: held_out(few, data, times=3), 40, policy=replace(wide, errors=3.0)) == 2
    assert or_tied(0, formulas, lambda few: held_out(few, data), 40, policy=TiePolicy(apart=0.0)) in (0, 2)
