"""Writes the suite `poles`: formulas with poles, logs and roots inside the range they are sampled from.

    python benchmarks/make_poles_suite.py [FILE]

Coefficients follow the paper: a random sign times a number from U(0.5, 3), with two decimals. A draft is drawn again if
it is not well posed (no pole inside the range, a numerator that cancels the pole, a variable without effect). The
generator is seeded, so it always writes the same file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from poles_families import FAMILIES, Draft, Make, Rng, names

from ceql.bench.definitions import PAPER_EXTRAP, PAPER_TRAIN, Intervals, Problem, Range, Spread
from ceql.bench.points import draw, formula, target, usable
from ceql.bench.posed import complaints

SEED = 2026
TARGET = Path(__file__).parents[1] / "src" / "ceql" / "bench" / "suites" / "poles.toml"


def box(low: float, high: float) -> tuple[Intervals, Intervals]:
    """A range and its neighbours: on both sides, or only above if negative numbers make no sense."""
    if low >= 0:
        return ((low, high),), ((high, 2 * high),)
    return ((low, high),), ((2 * low, low), (high, 2 * high))


SIGNED, POSITIVE = box(-3, 3), box(0.2, 3)
# A velocity in units of the speed of light: the formula exists only below 1, so it extrapolates on one side.
BETA: tuple[Intervals, Intervals] = ((-0.7, 3),), ((-0.99, -0.7),)

# name: formula, columns with their ranges, denominators, arguments of logs and roots that change sign
PHYSICS = {
    "thin-lens": ("d1*d2/(d1 + d2)", {"d1": SIGNED, "d2": SIGNED}, ["d1 + d2"], []),
    "lorentz-factor": ("1/sqrt(1 - v**2/c**2)", {"v": SIGNED, "c": POSITIVE}, [], ["1 - v**2/c**2"]),
    "relativistic-doppler": ("f*sqrt((1 + b)/(1 - b))", {"f": POSITIVE, "b": BETA}, [], ["(1 + b)/(1 - b)"]),
    "sound-doppler": ("f*(1 + u)/(1 - v)", {"f": POSITIVE, "u": SIGNED, "v": SIGNED}, ["1 - v"], []),
    "driven-oscillator": (
        "f/(w0**2 - w**2)",
        {"f": SIGNED, "w0": POSITIVE, "w": POSITIVE},
        ["w0**2 - w**2"],
        [],
    ),
    "breit-wigner": (
        "1/((w - m)**2 + 0.25*g**2)",
        {"w": box(-1.5, 1.5), "m": box(-1.5, 1.5), "g": box(0.3, 2)},
        [],
        [],
    ),
    "van-der-waals": ("8*t/(3*v - 1) - 3/v**2", {"t": box(0.5, 3), "v": box(0.15, 2)}, ["3*v - 1"], []),
    "nernst": ("u + 0.86*t*log(a/b)", {"u": SIGNED, "t": POSITIVE, "a": POSITIVE, "b": POSITIVE}, [], []),
    "bose-einstein": ("1/(exp((w - m)/t) - 1)", {"w": SIGNED, "m": SIGNED, "t": box(0.5, 3)}, ["w - m"], []),
    "low-pass-decibel": ("-4.34*log(1 + w**2*k**2)", {"w": POSITIVE, "k": POSITIVE}, [], []),
    "velocity-addition": ("(u + v)/(1 + u*v)", {"u": SIGNED, "v": SIGNED}, ["1 + u*v"], []),
    "gravitational-redshift": (
        "f*sqrt(1 - k/r)",
        {"f": POSITIVE, "k": POSITIVE, "r": POSITIVE},
        [],
        ["1 - k/r"],
    ),
}


def problem(name: str, family: str, draft: Draft) -> Problem:
    variables = draft.variables or tuple(n for n in names(8) if n in draft.expression)
    count = len(variables)
    return Problem(
        name,
        family,
        draft.expression,
        variables,
        draft.train or (PAPER_TRAIN,) * count,
        draft.extrap or (PAPER_EXTRAP,) * count,
        n_train=128 if count <= 2 else 256 if count <= 4 else 512,
        singular=draft.denominators + draft.domains,
    )


def well_posed(candidate: Problem, denominators: Sequence[str]) -> bool:
    """Whether the formula is well posed by stricter rules than a suite's: poles must be visible from both sides."""
    if next(complaints(candidate, rate=0.2, share=0.08, influence=0.05), None):
        return False
    rng = np.random.default_rng(SEED)
    X = draw(rng, candidate.train, 20_000)
    y = target(candidate)(X)
    defined = np.isfinite(y)
    middle = np.median(np.abs(y[usable(candidate, y)]))
    near: list[np.ndarray] = []
    for text in denominators:
        d = formula(text, candidate.variables)(X)
        # The 1 % of points nearest to the pole must stand out on both sides of it.
        close = defined & (np.abs(d) < np.quantile(np.abs(d[defined]), 0.01))
        sides = [close & (d > 0), close & (d < 0)]
        if any(s.sum() < 20 or np.median(np.abs(y[s])) < 8 * middle for s in sides):
            return False
        near.append(close)
    return not any((a & b).sum() > 0.2 * a.sum() for i, a in enumerate(near) for b in near[:i])


def settled(rng: Rng, make: Make, name: str, family: str) -> Problem:
    for _ in range(5000):
        draft = make(rng)
        candidate = problem(name, family, draft)
        if well_posed(candidate, draft.denominators):
            return candidate
    raise SystemExit(f"{name}: no well-posed draft found")


def physics() -> Iterator[Problem]:
    for name, (expression, ranges, denominators, domains) in PHYSICS.items():
        train, extrap = zip(*ranges.values(), strict=True)
        draft = Draft(expression, tuple(denominators), tuple(domains), train, extrap, tuple(ranges))
        yield problem(name, "physics", draft)


def toml(p: Problem) -> str:
    def listed(texts: Sequence[str]) -> str:
        return "[" + ", ".join(f'"{t}"' for t in texts) + "]"

    def ranges(values: Sequence[Range]) -> str:
        intervals = [value for value in values if not isinstance(value, Spread)]  # these problems have no others
        each = [str([[float(a), float(b)] for a, b in value]) for value in intervals]
        return "{ " + ", ".join(f"{n} = {e}" for n, e in zip(p.variables, each, strict=True)) + " }"

    lines = ["[[problem]]", f'name = "{p.name}"', f'family = "{p.family}"', f'expression = "{p.expression}"']
    lines += [f"variables = {listed(p.variables)}"]
    lines += [f"train = {ranges(p.train)}"] if set(p.train) != {PAPER_TRAIN} else []
    lines += [f"extrap = {ranges(p.extrap)}"] if set(p.extrap) != {PAPER_EXTRAP} else []
    lines += [f"n_train = {p.n_train}"]
    lines += [f"singular = {listed(p.singular)}"] if p.singular else []
    return "\n".join(lines)


HEAD = """\
# Written by benchmarks/make_poles_suite.py: change that, not this.
title = "Poles, logs and roots inside the range"
methods = ["ceql", "ceql-real", "operon"]
seeds = "0-2"
time_limit = 30

[settings.operon]
operators = ["add", "sub", "mul", "div", "log", "sqrt", "square", "exp", "sin", "cos"]
max_length = 50

[settings.gplearn]
operators = ["add", "sub", "mul", "div", "log", "sqrt", "sin", "cos"]

[settings.pysr]
unary = ["log", "sqrt", "square", "exp", "sin", "cos"]
max_size = 40

[defaults]
train = [[-2, 2]]
extrap = [[-4, -2], [2, 4]]
"""


def main(path: Path) -> None:
    rng = np.random.default_rng(SEED)
    problems = []
    for family, (prefix, makers) in FAMILIES.items():
        problems += [settled(rng, make, f"{prefix}-{i}", family) for i, make in enumerate(makers(), start=1)]
    problems += list(physics())
    path.write_text("\n\n".join([HEAD.rstrip(), *map(toml, problems)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
