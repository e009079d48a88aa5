"""The grammar of the suite `sums`: the ranges of columns, the terms, and how the numbers inside them are drawn.

    formula  = amplitude * term + amplitude * term [+ ...]         two to five terms
    term     = one line of TERMS, in one column x or in two, x and z
    constant = a number inside a term: a rate, a width, a frequency, a phase, an exponent, a place on the axis

Terms are those of rate laws, growth, oscillators and materials. A formula has one to four constants in total, whatever
its number of terms, so many terms have none. Scales are drawn relative to the range of the column, so that a
saturation, a decay or a period is visible in the data. Constants have three digits and amplitudes three or four, the
last one neither 0 nor 5. Exponents stay away from whole numbers, halves, thirds and quarters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Rng = np.random.Generator
Ends = tuple[float, float]
Draw = Callable[[Rng, Ends], float]

RANGES: tuple[Ends, ...] = ((0, 10), (0, 5), (0.1, 5), (0.5, 8), (1, 6), (-3, 3), (-5, 5), (-2, 4))
APART = 0.03  # least distance of exponents from simple fractions
# Requirements on the range of a column: a name, and whether a range satisfies it.
SIDES: Mapping[str, Callable[[Ends], bool]] = {
    "any": lambda ends: True,
    "from zero": lambda ends: ends[0] >= 0,
    "positive": lambda ends: ends[0] > 0,
    "both": lambda ends: ends[0] < 0,
}


def part(low: float, high: float) -> Draw:
    """A length: this share of the largest absolute value in the column."""
    return lambda rng, ends: rng.uniform(low, high) * max(map(abs, ends))


def rate(low: float, high: float) -> Draw:
    """An inverse length: this much over the whole range."""
    return lambda rng, ends: rng.uniform(low, high) / (ends[1] - ends[0])


def place(rng: Rng, ends: Ends) -> float:
    """A place well inside the range."""
    return ends[0] + rng.uniform(0.15, 0.85) * (ends[1] - ends[0])


def plain(*intervals: Ends) -> Draw:
    """A number that does not depend on the range."""
    return lambda rng, ends: rng.uniform(*intervals[rng.integers(len(intervals))])


def exponent(low: float, high: float) -> Draw:
    """An exponent that is not close to a simple fraction, since noise would make them indistinguishable."""

    def draw(rng: Rng, ends: Ends) -> float:
        while True:
            value = rng.uniform(low, high)
            if min(abs(value * below - round(value * below)) / below for below in (1, 2, 3, 4)) >= APART:
                return value

    return draw


FREQUENCY, WIDTH, DECAY = rate(4, 16), part(0.15, 0.6), rate(1.5, 8)
PHASE, SLOPE = plain((0.3, 1.3), (1.8, 2.8)), plain((0.3, 0.8), (1.2, 2.5))
POWER, INVERSE, STEEP = exponent(0.15, 2.5), exponent(-1.95, -0.5), exponent(1.2, 3.95)


@dataclass(frozen=True)
class Term:
    """A term without its amplitude: its text, the ranges that suit its columns, and how its constants are drawn.

    `singular` is the expression that vanishes inside the data. Constants are drawn relative to the range of `z` if
    there is one, since `x` is then only a factor.
    """

    text: str
    x: str = "any"
    z: str | None = None
    constants: Mapping[str, Draw] = field(default_factory=dict)
    singular: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return ("x",) if self.z is None else ("x", "z")

    def suits(self, *ranges: Ends) -> bool:
        sides = (self.x,) if self.z is None else (self.x, self.z)
        return len(sides) == len(ranges) and all(SIDES[side](ends) for side, ends in zip(sides, ranges, strict=True))


def _terms(x: str, z: str | None, *rows: tuple[str, Mapping[str, Draw]]) -> tuple[Term, ...]:
    return tuple(Term(text, x, z, constants) for text, constants in rows)


TERMS: tuple[Term, ...] = (
    *_terms("any", None, ("{x}", {}), ("{x}**2", {}), ("{x}**3", {}), ("sin({x})", {}), ("cos({x})", {})),
    *_terms("from zero", None, ("sqrt({x})", {}), ("{x}**(1/3)", {}), ("{x}**(2/3)", {}), ("{x}**(3/2)", {})),
    *_terms("from zero", None, ("exp(-{x})", {}), ("{x}*exp(-{x})", {}), ("log(1 + {x})", {}), ("{x}/(1 + {x})", {})),
    *_terms("positive", None, ("1/{x}", {}), ("log({x})", {}), ("{x}*log({x})", {}), ("1/{x}**2", {})),
    *_terms("both", None, ("abs({x})", {}), ("{x}*abs({x})", {}), ("cbrt({x})", {}), ("tanh({x})", {})),
    *_terms("both", None, ("atan({x})", {}), ("exp(-{x}**2)", {}), ("1/(1 + {x}**2)", {}), ("exp({x})", {})),
    *_terms(
        "any",
        None,
        ("tanh({x}/{k})", {"k": WIDTH}),
        ("atan({k}*{x})", {"k": rate(4, 20)}),
        ("sin({w}*{x})", {"w": FREQUENCY}),
        ("cos({w}*{x})", {"w": FREQUENCY}),
        ("1/(1 + ({x}/{k})**2)", {"k": WIDTH}),
        ("exp(-({x}/{k})**2)", {"k": WIDTH}),
        ("sqrt({x}**2 + {k}**2)", {"k": WIDTH}),
        ("exp({k}*{x})", {"k": rate(1.5, 4)}),
        ("sin({w}*{x} + {p})", {"w": FREQUENCY, "p": PHASE}),
        ("exp(-(({x} - {a})/{k})**2)", {"a": place, "k": part(0.1, 0.4)}),
        ("1/(1 + (({x} - {a})/{k})**2)", {"a": place, "k": part(0.1, 0.4)}),
        ("1/(1 + exp(-({x} - {a})/{k}))", {"a": place, "k": part(0.05, 0.2)}),
    ),
    *_terms(
        "from zero",
        None,
        ("{x}**{p}", {"p": POWER}),
        ("exp(-{k}*{x})", {"k": DECAY}),
        ("{x}*exp(-{x}/{k})", {"k": part(0.1, 0.5)}),
        ("{x}/({k} + {x})", {"k": part(0.05, 0.6)}),
        ("1/({k} + {x})", {"k": part(0.05, 0.4)}),
        ("log(1 + {x}/{k})", {"k": part(0.03, 0.4)}),
        ("{x}**{n}/({k}**{n} + {x}**{n})", {"k": WIDTH, "n": STEEP}),
        ("exp(-{k}*{x})*sin({w}*{x})", {"k": rate(1, 4), "w": rate(6, 18)}),
        ("exp(-{k}*{x})*cos({w}*{x})", {"k": rate(1, 4), "w": rate(6, 18)}),
        ("exp(-{k}*{x})*sin({w}*{x} + {p})", {"k": rate(1, 4), "w": rate(6, 18), "p": PHASE}),
    ),
    *_terms("positive", None, ("{x}**({p})", {"p": INVERSE})),
    *_terms("both", None, ("abs({x})**{p}", {"p": POWER}), ("{x}*abs({x})**{p}", {"p": POWER})),
    *_terms(
        "any",
        "any",
        ("{x}*{z}", {}),
        ("({x} - {z})**2", {}),
        ("abs({x} - {z})", {}),
        ("{x}**2*{z}", {}),
        ("sqrt({x}**2 + {z}**2)", {}),
        ("{x}*sin({z})", {}),
        ("sin({x} - {z})", {}),
        ("{x}*sin({w}*{z})", {"w": FREQUENCY}),
        ("{x}*cos({w}*{z})", {"w": FREQUENCY}),
        ("{x}*tanh({z}/{k})", {"k": WIDTH}),
        ("exp(-({x} - {z})**2/{k})", {"k": WIDTH}),
        ("sqrt(({x} - {z})**2 + {k}**2)", {"k": WIDTH}),
        ("{x}*sin({w}*{z} + {p})", {"w": FREQUENCY, "p": PHASE}),
    ),
    *_terms("any", "positive", ("{x}/{z}", {}), ("{x}*log({z})", {}), ("{x}/{z}**2", {})),
    *_terms(
        "any",
        "from zero",
        ("{x}*sqrt({z})", {}),
        ("{x}*exp(-{z})", {}),
        ("{x}*exp(-{k}*{z})", {"k": DECAY}),
        ("{x}*{z}/({k} + {z})", {"k": part(0.05, 0.6)}),
        ("{x}/({k} + {z})", {"k": part(0.05, 0.4)}),
        ("{x}*{z}**{p}", {"p": POWER}),
        ("{x}*log(1 + {z}/{k})", {"k": part(0.03, 0.4)}),
        ("{x}*exp(-{k}*{z})*cos({w}*{z})", {"k": rate(1, 4), "w": rate(6, 18)}),
        ("{x}*exp(-{k}*{z})*sin({w}*{z} + {p})", {"k": rate(1, 4), "w": rate(6, 18), "p": PHASE}),
    ),
    *_terms("from zero", "from zero", ("sqrt({x}*{z})", {}), ("{x}**{p}*{z}**{q}", {"p": POWER, "q": POWER})),
)

POLES: tuple[Term, ...] = (
    Term("1/({x} - {a})", constants={"a": place}, singular="{x} - {a}"),
    Term("{x}/({x} - {a})", constants={"a": place}, singular="{x} - {a}"),
    Term("1/({x} - {a})**2", constants={"a": place}, singular="{x} - {a}"),
    Term("log(abs({x} - {a}))", constants={"a": place}, singular="{x} - {a}"),
    Term("1/({x}**2 - {a}**2)", "from zero", constants={"a": place}, singular="{x}**2 - {a}**2"),
    Term("{x}/({z} - {a})", z="any", constants={"a": place}, singular="{z} - {a}"),
    Term("{x}*log(abs({z} - {a}))", z="any", constants={"a": place}, singular="{z} - {a}"),
    Term("1/({x} - {z} + {a})", z="any", constants={"a": part(0.05, 0.5)}, singular="{x} - {z} + {a}"),
    Term("{x}/({x} - {z} + {a})", z="any", constants={"a": part(0.05, 0.5)}, singular="{x} - {z} + {a}"),
    Term(
        "1/({x} - {k}*{z} + {a})", z="any", constants={"k": SLOPE, "a": part(0.05, 0.5)}, singular="{x} - {k}*{z} + {a}"
    ),
    Term("exp(-{k}*{x})/({x} - {a})", "from zero", constants={"k": rate(1, 3), "a": place}, singular="{x} - {a}"),
    Term("sin({w}*{x})/({x} - {a})", constants={"w": rate(4, 10), "a": place}, singular="{x} - {a}"),
)
