"""The vocabulary of sums: functions of one column with none, one or two numbers inside, and their starting values.

A kind is written in `u`, the column or a combination of two, and in `p` and `q`, the numbers that are not linear.
Several columns of a kind share its numbers: sine and cosine represent amplitude and phase, and the two parts of a
complex pole allow it to lie inside the data, away from the real axis, until the rows show where on the axis it belongs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ceql.expression.prices import structure_price
from ceql.expression.text.compiled import compiled
from ceql.expression.text.parse import parse_formula
from ceql.operators.program import Instruction, Tangent, run

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Span:
    """What a grid of numbers depends on: where the values of a column lie, and how many there are."""

    low: float
    high: float
    distinct: int

    @property
    def length(self) -> float:
        return self.high - self.low

    @property
    def size(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def squared(self) -> Span:
        """Of the squares."""
        nearest = 0.0 if self.has_both_signs else min(abs(self.low), abs(self.high))
        return Span(nearest**2, self.size**2, self.distinct)

    @property
    def is_positive(self) -> bool:
        return self.low > 0.0

    @property
    def has_both_signs(self) -> bool:
        return self.low < 0.0 < self.high

    @classmethod
    def of(cls, values: np.ndarray) -> Span:
        return cls(float(values.min()), float(values.max()), len(np.unique(values)))


def _always(span: Span) -> bool:
    return True


@dataclass(frozen=True)
class Kind:
    """A function of the vocabulary."""

    columns: tuple[str, ...]  # its linear parts
    begin: Callable[[Span], list[Numbers]] = lambda span: [()]  # numbers to begin with
    fits: Callable[[Span], bool] = _always  # whether it can be had of such a column
    real: str | None = None  # what it becomes once q is zero
    # Others with a pole at p + i q, and for which numbers: beside smooth functions they look the same.
    same_pole: tuple[tuple[str, Callable[[float, float], Numbers]], ...] = ()
    joined: str | None = None  # its two columns as one, with a phase r
    freed: tuple[str, Numbers] | None = (
        None  # the kind, by its first column, that it is a case of, and for which numbers
    )
    cases: tuple[str, ...] = ()  # others with fewer numbers, of which it keeps the first, that it comes close to

    @cached_property
    def price(self) -> float:
        """In nats, but for its numbers, as the criterion counts it."""
        return structure_price(parse_formula(self.real or self.columns[0], ("u", "p", "q")))

    @cached_property
    def names(self) -> tuple[str, ...]:
        words = re.findall(r"[a-z]+", " ".join(self.columns))
        return tuple(name for name in ("p", "q") if name in words)

    @cached_property
    def programs(self) -> tuple[tuple[Instruction, ...], ...]:
        return tuple(compiled(text, ["u"], self.names).instructions for text in self.columns)

    @cached_property
    def functions(self) -> frozenset[str]:
        """The operators that it takes beside sums and products."""
        steps = [step for program in self.programs for step in program]
        named = {"power": "pow", "real_power": "pow", "divide": "div"}
        found = {named[step.operation] for step in steps if step.operation in named}
        return frozenset(found | {str(step.payload) for step in steps if step.operation == "function"})

    def values(self, u: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Per row of numbers the columns, (rows, numbers, columns), and their slopes by each number beside them."""
        shape = len(u), len(numbers)
        values, slopes = [], []
        for program in self.programs:
            tangents: list[Tangent] = []
            value = run(program, u[:, None, None], numbers.T, tangents)
            values.append(np.broadcast_to(value, shape))
            slopes.append([np.broadcast_to(tangents[-1].get(k, 0.0), shape) for k in range(len(self.names))])
        by_number = np.array(slopes).reshape(len(self.columns), len(self.names), *shape)
        return np.stack(values, axis=2), by_number.transpose(2, 3, 0, 1)


def _ones(values: np.ndarray | list[float]) -> list[Numbers]:
    return [(float(value),) for value in values]


def _pairs(first: np.ndarray | list[float], second: np.ndarray | list[float]) -> list[Numbers]:
    return [(float(p), float(q)) for p in first for q in second]


def _inside(span: Span, count: int) -> np.ndarray:
    return span.low + span.length * (np.arange(count) + 0.5) / count


def _outside(span: Span, shares: tuple[float, ...]) -> np.ndarray:
    return np.concatenate([span.low - span.length * np.array(shares), span.high + span.length * np.array(shares)])


def _both_signs(sizes: tuple[float, ...]) -> np.ndarray:
    return np.concatenate([-np.array(sizes[::-1]), sizes])


def _frequencies(span: Span, step: float, most: float) -> np.ndarray:
    """In steps that the slopes bridge, as far as the rows can show them."""
    most = min(most, np.pi * (span.distinct - 1) / 2)
    return np.arange(step, most, step) / span.length if most > step else np.array([])


_RATES = (0.15, 0.4, 0.8, 1.5, 2.5, 4.0, 6.0, 9.0, 14.0, 20.0)  # times the largest |u|
_BEYOND = (0.004, 0.02, 0.08, 0.25, 0.7, 2.0)  # distances from the data, in lengths of their range
_POWERS = np.array([-3.5, -2.5, -1.75, -1.5, -1.25, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.25, 1.5, 1.75, 2.5, 3.5])


def _positive(span: Span) -> bool:
    return span.is_positive


def _mixed(span: Span) -> bool:
    return span.has_both_signs


def _unsigned(span: Span) -> bool:
    return span.low >= 0.0


def _moderate(span: Span) -> bool:
    return span.size < 40.0 and span.length > 0.3


def _is_above(bound: float) -> Callable[[Span], bool]:
    return lambda span: span.low > bound


FREE: tuple[Kind, ...] = (
    Kind(("1",)),
    Kind(("abs(u)",), fits=_mixed, freed=("abs(u)**p", (1.0,))),
    Kind(("sqrt(u)",), fits=_unsigned, freed=("u**p", (0.5,))),
    Kind(("sqrt(abs(u))",), fits=_mixed, freed=("abs(u)**p", (0.5,))),
    Kind(("cbrt(u)",)),
    Kind(("abs(u)**(2/3)",), freed=("abs(u)**p", (2 / 3,))),
    Kind(("u/sqrt(abs(u))",), fits=_mixed, freed=("u*abs(u)**p", (-0.5,))),
    Kind(("log(u)",), fits=_positive, freed=("log(u - p)", (0.0,))),
    Kind(("log(abs(u))",), fits=_mixed, freed=("log(abs(u - p))", (0.0,))),
    Kind(("log(1 + u)",), fits=_is_above(-1.0), freed=("log(u - p)", (-1.0,))),
    Kind(("log(1 + abs(u))",), fits=_mixed),
    Kind(("log(1 + u**2)",)),
    Kind(("exp(u)",), fits=_moderate, freed=("exp(p*u)", (1.0,))),
    Kind(("exp(-u)",), fits=_moderate, freed=("exp(p*u)", (-1.0,))),
    Kind(("exp(-abs(u))",), fits=_mixed, freed=("exp(p*abs(u))", (-1.0,))),
    Kind(("exp(-u**2)",), fits=_moderate, freed=("exp(-p*u**2)", (1.0,))),
    Kind(("sin(u)",), fits=_moderate, freed=("sin(p*u)", (1.0,))),
    Kind(("cos(u)",), fits=_moderate, freed=("sin(p*u)", (1.0,))),
    Kind(("sin(u)**2",), fits=_moderate, freed=("sin(p*u)", (2.0,))),
    Kind(("sin(u**2)",), fits=lambda span: span.size < 6.0),
    Kind(("cos(u**2)",), fits=lambda span: span.size < 6.0),
    Kind(("sin(sqrt(abs(u)))",)),
    Kind(("cos(sqrt(abs(u)))",)),
    Kind(("sin(log(1 + u))",), fits=_is_above(-1.0)),
    Kind(("cos(log(1 + u))",), fits=_is_above(-1.0)),
    Kind(("1/(1 + u)",), fits=_is_above(-1.0), freed=("1/(u - p)", (-1.0,))),
    Kind(("1/(1 + abs(u))",), fits=_mixed),
    Kind(("1/(1 + u**2)",), freed=("1/(u**2 + p**2)", (1.0,))),
    Kind(("1/(1 + exp(-u))",), fits=_moderate, freed=("1/(1 + exp((p - u)/q))", (0.0, 1.0))),
    Kind(("tanh(u)",), fits=_moderate, freed=("tanh(p*u)", (1.0,))),
    Kind(("atan(u)",), fits=_moderate, freed=("atan(p*u)", (1.0,))),
    Kind(("sqrt(1 + u)",), fits=_is_above(-1.0), freed=("sqrt(u - p)", (-1.0,))),
    Kind(("sqrt(1 + u**2)",), freed=("sqrt(u**2 + p**2)", (1.0,))),
    Kind(("asin(u)",), fits=lambda span: span.size <= 1.0),
    Kind(("tan(u)",), fits=lambda span: span.size < 1.55),
)

PARAMETRIC: tuple[Kind, ...] = (
    Kind(("u**p",), lambda s: _ones(_POWERS), _positive, cases=("log(u)", "cbrt(u)", "abs(u)**(2/3)")),
    Kind(("abs(u)**p",), lambda s: _ones(_POWERS[_POWERS > 0.0]), lambda s: not s.is_positive),
    Kind(("u*abs(u)**p",), lambda s: _ones(_POWERS[_POWERS > -0.9]), _mixed),
    Kind(("exp(p*u)",), lambda s: _ones(_both_signs(_RATES) / s.size)),
    Kind(("exp(p*abs(u))",), lambda s: _ones(-np.array(_RATES) / s.size), _mixed),
    Kind(("exp(-p*u**2)",), lambda s: _ones(np.geomspace(0.3, 40.0, 9) / s.size**2)),
    Kind(
        ("exp(-((u - p)/q)**2)",),
        lambda s: _pairs(_inside(s, 10), s.length * np.array([0.05, 0.1, 0.2, 0.4, 0.8])),
    ),
    Kind(
        ("exp(p/u)",),
        lambda s: _ones(_both_signs((0.2, 0.6, 1.5, 3.5, 8.0)) * np.sqrt(s.low * s.high)),
        _positive,
    ),
    Kind(("sin(p*u)", "cos(p*u)"), lambda s: _ones(_frequencies(s, 1.2, 110.0)), joined="sin(p*u + r)"),
    Kind(
        ("exp(-q*u)*sin(p*u)", "exp(-q*u)*cos(p*u)"),
        lambda s: _pairs(_frequencies(s, 2.0, 50.0), np.array([1.5, 4.0]) / s.length),
        joined="exp(-q*u)*sin(p*u + r)",
    ),
    Kind(("log(u - p)",), lambda s: _ones(s.low - s.length * np.array(_BEYOND))),
    Kind(("log(p - u)",), lambda s: _ones(s.high + s.length * np.array(_BEYOND))),
    Kind(("log(abs(u - p))",), lambda s: []),
    Kind(
        ("log((u - p)**2 + q**2)",),
        lambda s: _pairs(_inside(s, 24), [s.length / 24]),
        real="log(abs(u - p))",
    ),
    Kind(("1/(u - p)",), lambda s: _ones(_outside(s, _BEYOND))),
    Kind(
        ("(u - p)/((u - p)**2 + q**2)", "1/((u - p)**2 + q**2)"),
        lambda s: [*_pairs(_inside(s, 30), [s.length / 30]), *_pairs(_inside(s, 6), [s.length / 6])],
        real="1/(u - p)",
        same_pole=(
            ("1/(1 + exp((p - u)/q))", lambda p, q: (p, q / np.pi)),
            ("1/(1 + (p/u)**q)", lambda p, q: (np.hypot(p, q), np.pi / np.arctan2(q, p))),
            ("tanh(p*u)", lambda p, q: (0.5 * np.pi / q,)),
            ("1/(u**2 + p**2)", lambda p, q: (q,)),
        ),
    ),
    Kind(("1/(u**2 + p**2)",), lambda s: _ones(s.size * np.geomspace(0.03, 1.3, 11))),
    Kind(("1/(u**2 - p**2)",), lambda s: _ones(s.size * np.array([1.05, 1.3, 2.0]))),
    Kind(("1/(u - p)**2",), lambda s: _ones(_outside(s, _BEYOND))),
    Kind(("tanh(p*u)",), lambda s: _ones(np.geomspace(0.5, 16.0, 10) / s.size)),
    Kind(
        ("1/(1 + exp((p - u)/q))",),
        lambda s: _pairs(_inside(s, 10), s.length * np.array([0.02, 0.06, 0.15, 0.35])),
    ),
    Kind(("atan(p*u)",), lambda s: _ones(np.geomspace(0.5, 16.0, 10) / s.size)),
    Kind(("sqrt(u - p)",), lambda s: _ones(s.low - s.length * np.array(_BEYOND))),
    Kind(("sqrt(p - u)",), lambda s: _ones(s.high + s.length * np.array(_BEYOND))),
    Kind(("sqrt(u**2 + p**2)",), lambda s: _ones(s.size * np.geomspace(0.05, 1.5, 8))),
    Kind(
        ("(u - p)**q",),
        lambda s: _pairs(s.low - s.length * np.array([0.02, 0.15, 0.8]), [-1.5, -0.5, 0.3, 0.7, 1.5, 2.5]),
        cases=("log(u - p)", "sqrt(u - p)", "1/(u - p)", "1/(u - p)**2"),
    ),
    Kind(
        ("1/(1 + (p/u)**q)",),
        lambda s: _pairs(s.size * np.array([0.06, 0.18, 0.4, 0.8]), [0.5, 1.5, 2.0, 2.7, 4.0]),
        _positive,
    ),
    Kind(
        ("(u**2 - p)/((u**2 - p)**2 + q**2)", "1/((u**2 - p)**2 + q**2)"),
        lambda s: _pairs(_inside(s.squared, 20), [s.squared.length / 20]),
        real="1/(u**2 - p)",
    ),
    Kind(("1/(u**2 - p)",), lambda s: []),  # beyond the data other kinds begin with it
    Kind(
        ("log((u**2 - p)**2 + q**2)",),
        lambda s: _pairs(_inside(s.squared, 16), [s.squared.length / 16]),
        real="log(abs(u**2 - p))",
    ),
    Kind(("log(abs(u**2 - p))",), lambda s: _ones([*-np.geomspace(1e-3, 2.0, 6) * s.size**2, 1.05 * s.size**2])),
    Kind(("sqrt(p - u**2)",), lambda s: _ones(s.size**2 * np.array([1.005, 1.05, 1.3, 2.0]))),
)

KINDS: tuple[Kind, ...] = (*FREE, *PARAMETRIC)
_BY_TEXT = {kind.columns[0]: index for index, kind in enumerate(KINDS)}
ON_AXIS = {index: _BY_TEXT[kind.real] for index, kind in enumerate(KINDS) if kind.real is not None}
POLES = frozenset(_BY_TEXT[text] for text in ("1/(u - p)", "1/(u**2 - p)"))  # on the axis, perhaps inside the data
SAME_POLE = {
    index: tuple((_BY_TEXT[text], numbers) for text, numbers in kind.same_pole)
    for index, kind in enumerate(KINDS)
    if kind.same_pole
}
FREED = {index: (_BY_TEXT[kind.freed[0]], kind.freed[1]) for index, kind in enumerate(KINDS) if kind.freed is not None}

# Kinds with fewer numbers that a kind is, or comes close to, for some of its numbers.
SIMPLER = {
    index: (
        *(free for free, (kind_of_free, _) in FREED.items() if kind_of_free == index),
        *(_BY_TEXT[text] for text in kind.cases),
    )
    for index, kind in enumerate(KINDS)
}
