"""Implicit relations with rows that satisfy them: the problems of `relations_suite.py`.

The first ten were written down before anything was tuned. A problem defines how exact rows are made from hidden
numbers, the relation between them, and the columns that take part in it; other columns are distractors.
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
    """`truth` is zero, or constant within each group, in every row that `points` makes."""

    name: str
    truth: str
    columns: tuple[str, ...]  # columns that take part
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
    """One orbit of x' = x*(1.1 - 0.4*y), y' = y*(0.1*x - 0.4), along rays from its fixed point."""
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


# ---- written down after the search was tuned, and before it had seen them --------------------------------------------


def planets(rng: np.random.Generator, rows: int) -> Points:
    axis, mass = rng.uniform(1.0, 6.0, rows), rng.uniform(0.5, 3.0, rows)
    return {"T": np.sqrt(0.37 * axis**3 / mass), "a": axis, "M": mass, "e": rng.uniform(0.0, 0.9, rows)}


def saturation(rng: np.random.Generator, rows: int) -> Points:
    amount = rng.uniform(0.2, 12.0, rows)
    return {"S": amount, "v": 3.3 * amount / (1.7 + amount), "pH": rng.uniform(6.0, 8.0, rows)}


def ellipsoid(rng: np.random.Generator, rows: int) -> Points:
    way = rng.normal(size=(rows, 3))
    x, y, z = (way / np.linalg.norm(way, axis=1)[:, None]).T
    return {"x": 0.8 + 2.3 * x, "y": 1.4 * y, "z": 1.1 * z}


def double_well(rng: np.random.Generator, rows: int) -> Points:
    """Levels of v**2/2 - 0.9*x**2 + 0.35*x**4 that pass through both wells."""
    levels = np.array([0.4, 1.3, 2.9])
    run = np.arange(rows) % len(levels)
    farthest = np.sqrt((0.9 + np.sqrt(0.81 + 1.4 * levels)) / 0.7)[run]
    x = farthest * np.cos(rng.uniform(0.0, np.pi, rows))
    v = rng.choice([-1.0, 1.0], rows) * np.sqrt(2.0 * np.maximum(levels[run] + 0.9 * x**2 - 0.35 * x**4, 0.0))
    return {"run": run, "x": x, "v": v}


def relativity(rng: np.random.Generator, rows: int) -> Points:
    p, m = rng.uniform(0.3, 4.0, rows), rng.uniform(0.3, 2.0, rows)
    return {"E": np.sqrt(p**2 + m**2), "p": p, "m": m}


def resistors(rng: np.random.Generator, rows: int) -> Points:
    one, two, three = rng.uniform(10.0, 80.0, (3, rows))
    return {"R": 1.0 / (1.0 / one + 1.0 / two + 1.0 / three), "R1": one, "R2": two, "R3": three}


def refraction(rng: np.random.Generator, rows: int) -> Points:
    inner, index = rng.uniform(0.05, 0.6, rows), rng.uniform(1.2, 1.7, rows)
    return {"outer": np.arcsin(index * np.sin(inner)), "inner": inner, "n": index}


def lemniscate(rng: np.random.Generator, rows: int) -> Points:
    turn = rng.uniform(0.0, 2.0 * np.pi, rows)
    size = 2.2 / (1.0 + np.sin(turn) ** 2)
    return {"x": size * np.cos(turn), "y": size * np.cos(turn) * np.sin(turn)}


def diode(rng: np.random.Generator, rows: int) -> Points:
    voltage = rng.uniform(-0.5, 1.6, rows)
    return {"U": voltage, "I": 0.23 * (np.exp(1.9 * voltage) - 1.0), "lux": rng.uniform(100.0, 900.0, rows)}


def rectangles(rng: np.random.Generator, rows: int) -> Points:
    a, b = rng.uniform(1.0, 5.0, (2, rows))
    return {"a": a, "b": b, "round": 2.0 * (a + b), "area": a * b}


UNSEEN = (
    Problem("planets", "T**2*M - 0.37*a**3", ("T", "a", "M"), planets),
    Problem("saturation", "v*(1.7 + S) - 3.3*S", ("S", "v"), saturation),
    Problem("ellipsoid", "((x - 0.8)/2.3)**2 + (y/1.4)**2 + (z/1.1)**2 - 1", ("x", "y", "z"), ellipsoid),
    Problem("double_well", "v**2/2 - 0.9*x**2 + 0.35*x**4", ("x", "v"), double_well, groups="run"),
    Problem("relativity", "E**2 - p**2 - m**2", ("E", "p", "m"), relativity),
    Problem("resistors", "1/R - 1/R1 - 1/R2 - 1/R3", ("R", "R1", "R2", "R3"), resistors),
    Problem("refraction", "sin(outer) - n*sin(inner)", ("outer", "inner", "n"), refraction),
    Problem("lemniscate", "(x**2 + y**2)**2 - 4.84*(x**2 - y**2)", ("x", "y"), lemniscate),
    Problem("diode", "I - 0.23*(exp(1.9*U) - 1)", ("U", "I"), diode),
    Problem("rectangles", "a*b - area", ("a", "b", "round", "area"), rectangles, more=("2*a + 2*b - round",)),
)


# ---- written down after the second ten had shown what was missing, and before the search had seen them --------------


def adiabat(rng: np.random.Generator, rows: int) -> Points:
    volume = rng.uniform(0.5, 4.0, rows)
    return {"p": 2.9 * volume**-1.37, "V": volume, "n": rng.uniform(1.0, 2.0, rows)}


def epidemic(rng: np.random.Generator, rows: int) -> Points:
    """The quantity S + I - 0.3*log(S), which is constant during an epidemic."""
    levels = np.array([0.98, 1.1, 1.3])
    run = np.arange(rows) % len(levels)
    left = rng.uniform(0.12, 0.95, rows)
    return {"run": run, "S": left, "I": levels[run] - left + 0.3 * np.log(left)}


def catenary(rng: np.random.Generator, rows: int) -> Points:
    x = rng.uniform(-3.0, 3.0, rows)
    return {"x": x, "y": 1.7 * np.cosh(x / 1.7)}


def hyperbola(rng: np.random.Generator, rows: int) -> Points:
    x = rng.uniform(-0.3, 4.0, rows)
    return {"x": x, "y": (2.1 + 1.3 * x) / (x + 0.7), "z": rng.normal(size=rows)}


def bernoulli(rng: np.random.Generator, rows: int) -> Points:
    speed, density, height = rng.uniform(0.5, 8.0, rows), rng.uniform(0.7, 1.3, rows), rng.uniform(0.0, 5.0, rows)
    return {"p": 120.0 - density * speed**2 / 2.0 - 9.81 * density * height, "v": speed, "rho": density, "h": height}


def triangle(rng: np.random.Generator, rows: int) -> Points:
    a, b, angle = rng.uniform(1.0, 4.0, rows), rng.uniform(1.0, 4.0, rows), rng.uniform(0.4, 2.7, rows)
    return {"a": a, "b": b, "c": np.sqrt(a**2 + b**2 - 2.0 * a * b * np.cos(angle)), "angle": angle}


def folium(rng: np.random.Generator, rows: int) -> Points:
    slope = np.tan(rng.uniform(-0.5, 2.07, rows))
    x = 4.2 * slope / (1.0 + slope**3)
    return {"x": x, "y": slope * x}


def arrhenius(rng: np.random.Generator, rows: int) -> Points:
    heat = rng.uniform(280.0, 360.0, rows)
    return {"T": heat, "k": 5.0e4 * np.exp(-3400.0 / heat), "pH": rng.uniform(5.0, 9.0, rows)}


def charges(rng: np.random.Generator, rows: int) -> Points:
    one, two, far = rng.uniform(1.0, 5.0, rows), rng.uniform(1.0, 5.0, rows), rng.uniform(0.5, 2.0, rows)
    return {"F": 0.899 * one * two / far**2, "q1": one, "q2": two, "r": far}


def braking(rng: np.random.Generator, rows: int) -> Points:
    begin, slower, way = rng.uniform(10.0, 30.0, rows), rng.uniform(1.0, 6.0, rows), rng.uniform(0.0, 8.0, rows)
    return {"v": np.sqrt(begin**2 - 2.0 * slower * way), "v0": begin, "b": slower, "s": way}


LATER = (
    Problem("adiabat", "p*V**1.37 - 2.9", ("p", "V"), adiabat),
    Problem("epidemic", "S + I - 0.3*log(S)", ("S", "I"), epidemic, groups="run"),
    Problem("catenary", "y - 0.85*(exp(x/1.7) + exp(-x/1.7))", ("x", "y"), catenary),
    Problem("hyperbola", "x*y + 0.7*y - 1.3*x - 2.1", ("x", "y"), hyperbola),
    Problem("bernoulli", "p + rho*v**2/2 + 9.81*rho*h - 120", ("p", "v", "rho", "h"), bernoulli),
    Problem("triangle", "c**2 - a**2 - b**2 + 2*a*b*cos(angle)", ("a", "b", "c", "angle"), triangle),
    Problem("folium", "x**3 + y**3 - 4.2*x*y", ("x", "y"), folium),
    Problem("arrhenius", "log(k) + 3400/T - log(50000)", ("T", "k"), arrhenius),
    Problem("charges", "F*r**2 - 0.899*q1*q2", ("F", "q1", "q2", "r"), charges),
    Problem("braking", "v**2 - v0**2 + 2*b*s", ("v", "v0", "b", "s"), braking),
)
SETS = {"frozen": FROZEN, "unseen": UNSEEN, "later": LATER}
