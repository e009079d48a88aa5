"""Implicit relations with rows that keep them: the problems of `relations_suite.py`.

The first ten were written down before anything was tuned. A problem says how exact rows are made from hidden numbers,
what relation they keep, and which columns take part in it; other columns are there to mislead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq

ROWS = 200
Points = dict[str, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """`truth` is zero, or the same within each group, in every row that `points` makes."""

    name: str
    truth: str
    columns: tuple[str, ...]  # that take part
    points: Callable[[np.random.Generator, int], Points]
    groups: str = ""  # the column of labels, where the relation has a constant for each
    more: tuple[str, ...] = ()  # further relations that the same rows keep

    def table(self, seed: int, noise: float = 0.0, rows: int = ROWS) -> pd.DataFrame:
        """Rows with normal noise in every column but the labels, as a share of its standard deviation."""
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(self.points(rng, rows))
        for name in table.columns.drop(self.groups or []):
            table[name] += noise * table[name].std() * rng.normal(size=rows)
        return table


def gas(rng: np.random.Generator, rows: int) -> Points:
    volume, amount, heat = rng.uniform(0.01, 0.05, rows), rng.uniform(0.5, 2.0, rows), rng.uniform(250, 400, rows)
    return {"p": 8.314 * amount * heat / volume, "V": volume, "n": amount, "T": heat}


def van_der_waals(rng: np.random.Generator, rows: int) -> Points:
    volume, heat = rng.uniform(0.6, 3.0, rows), rng.uniform(0.9, 1.5, rows)
    return {"p": 8.0 * heat / (3.0 * volume - 1.0) - 3.0 / volume**2, "V": volume, "T": heat}


def lens(rng: np.random.Generator, rows: int) -> Points:
    a = rng.uniform(60.0, 300.0, rows)
    return {"a": a, "b": 1.0 / (1.0 / 50.0 - 1.0 / a), "height": rng.uniform(5.0, 20.0, rows)}


def lenses(rng: np.random.Generator, rows: int) -> Points:
    f = rng.uniform(20.0, 100.0, rows)
    a = f * rng.uniform(1.2, 5.0, rows)
    return {"f": f, "a": a, "b": 1.0 / (1.0 / f - 1.0 / a)}


def pendulum(rng: np.random.Generator, rows: int) -> Points:
    amplitudes = np.array([1.0, 1.7, 2.3, 2.8])
    run = np.arange(rows) % len(amplitudes)
    far, phase = amplitudes[run], rng.uniform(0.0, 2.0 * np.pi, rows)
    theta = far * np.cos(phase)
    omega = np.sign(np.sin(phase)) * np.sqrt(2.0 * 9.81 * (np.cos(theta) - np.cos(far)))
    return {"run": run, "theta": theta, "omega": omega}


def circle(rng: np.random.Generator, rows: int) -> Points:
    turn = rng.uniform(0.0, 2.0 * np.pi, rows)
    return {"x": 1.0 + 3.0 * np.cos(turn), "y": 3.0 * np.sin(turn) - 2.0, "z": rng.uniform(-1.0, 2.0, rows)}


def ellipse(rng: np.random.Generator, rows: int) -> Points:
    turn = rng.uniform(0.0, 2.0 * np.pi, rows)
    y = 4.0 / np.sqrt(7.0) * np.sin(turn)
    return {"x": 2.0 * np.cos(turn) - y / 2.0, "y": y}


def prey_and_predator(rng: np.random.Generator, rows: int) -> Points:
    """One orbit of x' = x*(1.1 - 0.4*y), y' = y*(0.1*x - 0.4), on rays from the point that stands still."""
    still = np.log([0.4 / 0.1, 1.1 / 0.4])

    def level(at: np.ndarray) -> float:
        x, y = np.exp(at)
        return 0.1 * x - 0.4 * np.log(x) + 0.4 * y - 1.1 * np.log(y)

    begin = level(np.log([10.0, 5.0]))
    turn = rng.uniform(0.0, 2.0 * np.pi, rows)
    rays = np.column_stack([np.cos(turn), np.sin(turn)])
    far = [brentq(lambda r, ray=ray: level(still + r * ray) - begin, 0.0, 20.0, xtol=1e-14) for ray in rays]
    x, y = np.exp(still + np.array(far)[:, None] * rays).T
    return {"x": x, "y": y}


def cubic(rng: np.random.Generator, rows: int) -> Points:
    x = rng.uniform(-2.1, 2.5, rows)
    side = rng.choice([-1.0, 1.0], rows)
    return {"x": x, "y": side * np.sqrt(x**3 - 3.0 * x + 3.0)}


def vapour(rng: np.random.Generator, rows: int) -> Points:
    heat = rng.uniform(0.5, 4.0, rows)
    return {"T": heat, "p": np.exp(5.0 - 8.0 / (heat + 1.0)), "h": rng.uniform(0.0, 1.0, rows)}


FROZEN = (
    Problem("gas", "p*V - 8.314*n*T", ("p", "V", "n", "T"), gas),
    Problem("van_der_waals", "(p + 3/V**2)*(3*V - 1) - 8*T", ("p", "V", "T"), van_der_waals),
    Problem("lens", "1/a + 1/b - 1/50", ("a", "b"), lens),
    Problem("lenses", "1/a + 1/b - 1/f", ("f", "a", "b"), lenses),
    Problem("pendulum", "omega**2/2 - 9.81*cos(theta)", ("theta", "omega"), pendulum, groups="run"),
    Problem("circle", "(x - 1)**2 + (y + 2)**2 - 9", ("x", "y"), circle),
    Problem("ellipse", "x**2 + x*y + 2*y**2 - 4", ("x", "y"), ellipse),
    Problem("prey_and_predator", "0.1*x - 0.4*log(x) + 0.4*y - 1.1*log(y)", ("x", "y"), prey_and_predator),
    Problem("cubic", "y**2 - x**3 + 3*x - 3", ("x", "y"), cubic),
    Problem("vapour", "log(p) - 5 + 8/(T + 1)", ("T", "p"), vapour),
)
SETS = {"frozen": FROZEN}
