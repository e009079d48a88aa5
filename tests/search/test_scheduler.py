"""Whose turn it is, and what the other aims bring."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.data.dataset import Dataset
from ceql.discovery import Outcome, Settings
from ceql.engine.deadline import NEVER
from ceql.engine.dispatch import Workers
from ceql.formula import make_symbols
from ceql.network.libraries import DEFAULT_OPERATORS, search_network
from ceql.pipeline import discover
from ceql.search.policy import SearchPolicy
from ceql.search.scheduler import Turns
from ceql.search.target_search import Hunt
from ceql.transforms import plain

QUICK = SearchPolicy(round_size=32, chunk_size=32)


def turns_for(x: np.ndarray, y: np.ndarray, operators: tuple[str, ...] = DEFAULT_OPERATORS) -> Turns:
    data = Dataset.of(x, y)

    def hunt_for(_, aim):
        return Hunt(data, aim, search_network(aim.x.shape[1], operators), QUICK, 0, Workers(None, 1), NEVER)

    return Turns(plain(data, make_symbols(data.names)), operators, hunt_for)


def test_y_itself_comes_first_and_every_other_round():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 3, (100, 2))
    turns = turns_for(x, x[:, 0] * np.exp(np.sin(5 * x[:, 1])) + np.cos(7 * x[:, 0] * x[:, 1]))
    assert len(turns.hunts) == 1  # the others wait until they are needed
    order = []
    for _ in range(6):
        hunt = turns.next_hunt()
        hunt.next_round()
        order.append(hunt)
    assert order[0] is turns.mains[0]
    assert sum(hunt is turns.mains[0] for hunt in order) >= 3
    assert len(turns.hunts) > 1


def test_fewer_variables_are_the_only_other_aim_where_no_operator_can_be_undone():
    x = np.random.default_rng(0).uniform(-2, 2, (100, 2))
    turns = turns_for(x, x[:, 0] * np.sin(3 * x[:, 1]) + 0.0, ("sin",))
    order = []
    for _ in range(12):
        hunt = turns.next_hunt()
        hunt.next_round()
        order.append(hunt)
    assert len(turns.hunts) == 2
    assert turns.hunts[1] in order


def test_many_columns_are_searched_in_part_and_as_a_whole():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (128, 20))
    turns = turns_for(x, x[:, 4] / (x[:, 11] - 0.5))
    assert [hunt.aim.x.shape[1] for hunt in turns.mains] == [2, 20]
    assert [str(s) for s in turns.mains[0].aim.symbols] == ["x5", "x12"]
    assert turns.next_hunt() is turns.mains[0]
    assert turns.next_hunt() is turns.mains[1]


def test_a_hunt_that_has_not_begun_sees_no_noise():
    """The first of two hunts may fit so well in its first round that the second is asked before it had one."""
    x = np.random.default_rng(3).uniform(0.5, 2, (50, 10))
    turns = turns_for(x, np.sqrt(x[:, 3] * x[:, 7] + 0.4) * x[:, 3], ("mul", "sqrt"))
    turns.next_hunt().next_round()
    assert not turns.mains[1].sees_noise()
    assert not turns.have_settled()


@pytest.mark.parametrize(
    ("formula", "columns", "nodes"),
    [
        (lambda a, b, c, d: a * np.exp(-b * c / d), 4, 12),
        (lambda a, b, c: 2.5 * a * np.log(b / c), 3, 10),
        (lambda a, b, c, d: a**2 * b / (c * np.sqrt(d)), 4, 14),
    ],
)
def test_formulas_in_several_variables_come_through_other_aims(formula, columns, nodes):
    x = np.random.default_rng(0).uniform(0.5, 3, (200, columns))
    found = discover(Dataset.of(x, formula(*x.T)), Settings(time_limit=60.0))
    assert found.outcome is Outcome.EXACT
    assert found.best.complexity <= nodes


def test_a_formula_among_many_columns():
    x = np.random.default_rng(1).uniform(-2, 2, (128, 25))
    y = (1.2 * x[:, 3] - 0.7) / (x[:, 17] + 0.4 * x[:, 3] - 0.5)
    found = discover(Dataset.of(x, y), Settings(time_limit=60.0))
    assert found.outcome is Outcome.EXACT
    assert {str(s) for s in found.best.expression.free_symbols} == {"x4", "x18"}
