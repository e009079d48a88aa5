"""Plain formulas that have a shape by construction, as a start: of one column, or of two for a symmetry.

In the texts `u` is the column, or its distance from the place of a limit, point or pole, `v` the second column, and `L`
the value required there. `a`, `b` and `c` are constants to be fitted, and `s` is a length along the column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import sympy

from ceql.expression import parse_formula
from ceql.expression.constants.refit import best_of_starts
from ceql.shapes.grid import Array, Frame
from ceql.shapes.limits import sides
from ceql.shapes.policy import POLICY, ShapePolicy
from ceql.shapes.shape import Kind, Shape

_FAR = ("L + a*exp(-u/s)", "L + a/(u + s)", "L + a/(u + s)**2", "L + a*exp(-(u/s)**2)", "L + a*exp(-u/s)*(b + u)")
_NEAR = (
    "L + a*u",
    "L + a*sqrt(u)",
    "L + a*u + b*u**2",
    "L + a*u + b*sqrt(u)",
    "L + a*u/(u + s)",
    "L + a*(1 - exp(-u/s))",
    "L + a*log(1 + u/s)",
    "L + a*tanh(u/s)",
)
_SMOOTH = ("a + b*u", "a + b*exp(-u/s)", "a + b/(u + s)", "a + b*log(u + s)", "a + b*sqrt(u + s)", "a + b*tanh(u/s)")
_BENT = ("a + b*u + c*u**2", *_SMOOTH)
SEEDS: dict[Kind, tuple[str, ...]] = {
    Kind.ABOVE: ("L + a*exp(-u/s)", "L + a*exp(u/s)", "L + a/(u + s)", "L + a*exp(-(u/s)**2)", "L + a/(1 + exp(u/s))"),
    Kind.BELOW: ("L - a*exp(-u/s)", "L - a*exp(u/s)", "L - a/(u + s)", "L - a*exp(-(u/s)**2)", "L - a/(1 + exp(u/s))"),
    Kind.INCREASING: _SMOOTH,
    Kind.DECREASING: _SMOOTH,
    Kind.CONVEX: _BENT,
    Kind.CONCAVE: _BENT,
    Kind.EVEN: ("a + b*u**2", "a + b*exp(-(u/s)**2)", "a + b/(1 + (u/s)**2)", "a + b*cos(u/s)", "a*cosh(u/s)"),
    Kind.ODD: ("a*u", "a*u + b*u**3", "a*tanh(u/s)", "a*sin(u/s)", "a*atan(u/s)", "a*u/(1 + (u/s)**2)", "a*sinh(u/s)"),
    Kind.SYMMETRIC: ("a + b*u*v", "a + b*(u + v)", "a*u*v/(u + v)", "a + b*(u + v) + c*u*v", "a + b*sqrt(u**2 + v**2)"),
    Kind.POLE: ("a/u + b", "a/u**2 + b", "a/u + b + c*u"),
    Kind.NO_POLES: ("a + b*exp(-u/s)", "a + b*exp(-(u/s)**2)", "a + b*u + c*u**2", "a + b/(1 + (u/s)**2)"),
}


def seeds(
    shapes: Sequence[Shape],
    symbols: Sequence[sympy.Symbol],
    frame: Frame,
    table: tuple[Array, Array, Array],
    policy: ShapePolicy = POLICY,
) -> list[Any]:
    """Formulas fitted to the rows, the best first; none for shapes that do not involve all columns of the table."""
    found: dict[Any, float] = {}
    for shape in shapes:
        for expression, scale in _of(shape, symbols, frame):
            fitted, misfit = _fitted(expression, scale, symbols, table, policy)
            if math.isfinite(misfit):
                found[fitted] = misfit
    return sorted(found, key=lambda expression: found[expression])[: policy.seeds]


def _of(shape: Shape, symbols: Sequence[sympy.Symbol], frame: Frame) -> Iterator[tuple[Any, float]]:
    """Each seed formula with the length of its column's range."""
    named = [name for name, _ in shape.point] or list(shape.columns) or list(frame.names)
    if len(frame.names) != len(named) or len(named) != (2 if shape.kind is Kind.SYMMETRIC else 1):
        return
    by = {symbol.name: symbol for symbol in symbols}
    place = frame.names.index(named[0])
    low, high = frame.lower[place], frame.upper[place]
    column, level = by[named[0]], _exact(shape.value)
    u, texts = column, SEEDS.get(shape.kind, ())
    if shape.kind is Kind.LIMIT and math.isinf(shape.place):
        u, texts = (column if shape.place > 0 else -column), _FAR
        level = sympy.Symbol("a0") if not math.isfinite(shape.value) else level
    elif shape.kind in (Kind.LIMIT, Kind.POINT):
        at = shape.place if shape.kind is Kind.LIMIT else shape.point[0][1]
        u, texts = sides(at, low, high)[0] * (column - _exact(at)), _NEAR
        level = sympy.Symbol("a0") if not math.isfinite(shape.value) else level
    elif shape.kind is Kind.POLE:
        u = column - _exact(shape.place)
    names = {"u": u, "v": by[named[-1]], "L": level}
    for text in texts:
        read = parse_formula(text, ["u", "v", "L", "a", "b", "c", "s"])
        placed = {symbol: names[symbol.name] for symbol in read.free_symbols if symbol.name in names}
        yield read.xreplace(placed), (high - low) or 1.0


def _exact(value: float) -> Any:
    return sympy.Integer(int(value)) if math.isfinite(value) and value.is_integer() else sympy.Float(value)


def _fitted(
    expression: Any,
    scale: float,
    symbols: Sequence[sympy.Symbol],
    table: tuple[Array, Array, Array],
    policy: ShapePolicy,
) -> tuple[Any, float]:
    unknown = sorted(expression.free_symbols - set(symbols), key=lambda symbol: symbol.name)
    size = float(np.std(table[1])) or 1.0
    lengths = [length * scale for length in policy.seed_lengths] if any(s.name == "s" for s in unknown) else [1.0]
    starts = np.array([[length if s.name == "s" else size for s in unknown] for length in lengths])
    return best_of_starts(expression, unknown, starts, symbols, *table)
