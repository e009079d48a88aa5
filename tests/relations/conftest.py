"""A circle and a pendulum, and relations as if they had been found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from ceql.expression import parametrise, parse_formula
from ceql.relations.finding import Number, Relation, RelationsFinding


@pytest.fixture
def circle() -> pd.DataFrame:
    """(x - 1)**2 + y**2 = 4 with 1 % noise in both columns."""
    rng = np.random.default_rng(0)
    turn = rng.uniform(0.0, 2.0 * np.pi, 80)
    x = np.column_stack([1.0 + 2.0 * np.cos(turn), 2.0 * np.sin(turn)])
    return pd.DataFrame(x + 0.014 * rng.normal(size=x.shape), columns=pd.Index(["x", "y"]))


@pytest.fixture
def pendulum() -> pd.DataFrame:
    """v**2/2 - 9.81*cos(a) has one level in each of two runs."""
    rng = np.random.default_rng(1)
    far = np.repeat([1.2, 2.5], 40)
    angle = far * np.cos(rng.uniform(0.0, np.pi, 80))
    speed = rng.choice([-1.0, 1.0], 80) * np.sqrt(19.62 * (np.cos(angle) - np.cos(far)))
    return pd.DataFrame({"run": np.repeat(["low", "high"], 40), "a": angle, "v": speed})


def made(left: str, names: tuple[str, ...], levels: tuple[Number, ...] = (Number(0.0, 0.0),)) -> Relation:
    expression = parse_formula(left, names)
    taking_part = {symbol.name for symbol in expression.free_symbols}
    constants = tuple(Number(float(value), 0.01) for value in parametrise(expression).values)
    shares = tuple((name, 0.99) for name in names if name in taking_part)
    return Relation(expression, names, levels, constants, 0.01, 0.012, 0.99, shares, -500.0, False)


@pytest.fixture
def relation() -> Callable[..., Relation]:
    """left = level, as if it had been found."""
    return made


@pytest.fixture
def grouped_finding() -> RelationsFinding:
    levels = (Number(1.5, 0.1), Number(-2.0, 0.1))
    one = made("v**2 - 19.6*cos(a)", ("a", "v"), levels)
    return RelationsFinding((one,), ("a", "v"), "run", ("high", "low"), 80, 20, 1.0, ("a note",))
