"""Formulas of every operator, and rows at which they are compared."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols

NAMES = ("lambda", "x y", "E")
SINGLE = [
    "lambda",
    "7.9",
    "-2",
    "-lambda",
    "-1.5*lambda",
    "lambda - (`x y` - E)",
    "lambda/(`x y`*E)",
    "lambda/`x y`/E",
    "-(lambda + E)/(`x y` - 3)",
    "1/`x y`",
    "-(lambda**2)",
    "(-lambda)**3",
    "(lambda*E)**2",
    "lambda**17",
    "lambda**2.5",
    "lambda**(-1.5)",
    "abs(lambda)**(1/3)",
    "(lambda**2)**0.3",
    "2.5**lambda",
    "abs(E)**`x y`",
    "(lambda**2 + 1)**(-`x y`)",
    "log(E)",
    "sqrt(lambda)",
    "1/sqrt(E)",
    "exp(-lambda)",
    "1/(1 + exp(-3*lambda))",
    "sin(3*lambda + 0.1)**2",
    "cos(lambda) - cos(lambda)**2",
    "tan(E)",
    "tanh(lambda)*tanh(lambda)/3 + tanh(lambda)",
    "abs(lambda - E)",
    "asin(lambda/4) + acos(E/4) + atan(`x y`)",
    "sinh(lambda) + cosh(E)/3",
    "cbrt(lambda - E)**2 - 1.5/cbrt(2*`x y` + 1)",
    "pi*lambda + 1/3",
    "3.2*E/(E - 3.2)",
    "0.12345678901234568*lambda - 1.2345678901234567e-17*E + 6.02214076e23",
    "lambda - 1e-07*`x y`",
    "log(abs(sin(lambda)*exp(`x y`))) - sqrt(E**2 + 2.1)",
]
_FUNCTIONS = ("sqrt", "log", "exp", "sin", "cos", "tanh", "abs")


def drawn(draw: random.Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(["lambda", "`x y`", "E", f"{draw.uniform(-3, 3)!r}", f"{draw.randint(-4, 4)}"])
    first, second = drawn(draw, depth - 1), drawn(draw, depth - 1)
    kind = draw.randrange(8)
    if kind < 4:
        return f"({first} {'+-*/'[kind]} {second})"
    if kind == 4:
        return f"({first})**{draw.choice(['2', '3', '4', '(-1)', '(-2)', '0.5', '1.3', '(1/3)'])}"
    return f"{draw.choice(_FUNCTIONS)}({first})"


def formula(text: str, names: tuple[str, ...] = NAMES, loss: float = 0.25) -> Formula:
    return Formula(parse_formula(text, names), make_symbols(names), loss)


def _random_formulas(count: int) -> list[Formula]:
    draw, found = random.Random(5), []
    while len(found) < count:
        try:
            candidate = formula(drawn(draw, 4))
            values = candidate(ROWS)
        except ValueError:  # SymPy saw 1/0 or a root of -1 in it
            continue
        if np.isfinite(values).mean() > 0.3:
            found.append(candidate)
    return found


ROWS = np.vstack([np.random.default_rng(1).uniform(-3, 3, (20, 3)), np.random.default_rng(2).uniform(0.1, 3, (20, 3))])
AWKWARD = np.array(
    [
        [0.0, 0.0, 0.0],
        [-1.0, -1.0, -1.0],
        [1.0, 2.0, -0.0],
        [800.0, 2.0, 3.2],
        [-800.0, -0.5, 1.0],
        [1e200, 1e-200, 1e200],
        [-1e200, 1.0, 1e-320],
        [3.0, 3.0, 3.0],
        [5.0, 1e308, 5.0],
    ]
)


@pytest.fixture(scope="session")
def formulas() -> list[Formula]:
    return [formula(text) for text in SINGLE] + _random_formulas(80)


@pytest.fixture(scope="session")
def rows() -> np.ndarray:
    return np.vstack([ROWS, AWKWARD])


def assert_same(ours: np.ndarray, expected: np.ndarray, what: object) -> None:
    """Equal to 1e-12, with NaN and infinity at the same places."""
    assert np.array_equal(np.isnan(ours), np.isnan(expected)), (what, ours, expected)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(ours - expected) <= 1e-12 * np.abs(expected)
    same = (ours == expected) | np.isnan(expected) | near
    assert same.all(), (what, ours[~same], expected[~same])
