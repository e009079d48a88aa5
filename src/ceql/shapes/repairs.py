"""Variants of a formula that violates required shapes, which are more likely to have them once fitted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Any

from sympy import Add, Float, Integer, Symbol

from ceql.expression.evaluate.poles import singular_factors
from ceql.expression.symbolic import terms_of
from ceql.shapes.exponents import Exponents, with_allowed
from ceql.shapes.grid import Frame
from ceql.shapes.policy import POLICY, ShapePolicy
from ceql.shapes.shape import Kind, Shape


def repaired(
    expression: Any,
    broken: Sequence[Shape],
    exponents: Exponents,
    symbols: Sequence[Symbol],
    frame: Frame,
    policy: ShapePolicy = POLICY,
) -> list[Any]:
    """Variants of an expression that may have the violated shapes, the nearest first; their constants are not
    fitted."""
    forms = [expression]
    if not exponents.allow(expression):
        forms = with_allowed(expression, exponents, policy.exponents, policy.repairs)
    by = {symbol.name: symbol for symbol in symbols}
    found: dict[Any, None] = {}
    for form in forms:
        if form != expression:
            found[form] = None
        for other in _others(form, broken, by, frame, policy):
            if other != expression and other.free_symbols & set(symbols) and exponents.allow(other):
                found[other] = None
    return list(islice(found, policy.repairs))


def _others(f: Any, broken: Sequence[Shape], by: dict[str, Symbol], frame: Frame, policy: ShapePolicy) -> Iterator[Any]:
    kinds = {shape.kind for shape in broken}
    for shape in broken:
        if shape.kind is Kind.POINT:
            yield from _through(f, shape, by)
        elif shape.kind is Kind.POLE:
            yield from _with_pole(f, shape, by)
        elif shape.kind is Kind.NO_POLES or (shape.is_finite_limit and math.isfinite(shape.place)):
            yield from _shifted(f, shape, by, frame)
        elif shape.kind is Kind.LIMIT and math.isfinite(shape.value):
            yield from _levelled(f, shape)
    if kinds & {Kind.LIMIT, Kind.EVEN, Kind.ODD, Kind.SYMMETRIC, Kind.POINT}:
        yield from _fewer_terms(f, policy)


def _through(f: Any, shape: Shape, by: dict[str, Symbol]) -> Iterator[Any]:
    """The formula shifted vertically through the point; with other free columns, for each of their values."""
    at = {by[name]: Float(number) if not number.is_integer() else Integer(int(number)) for name, number in shape.point}
    there = f.xreplace(at)
    value = Float(shape.value) if not float(shape.value).is_integer() else Integer(int(shape.value))
    if there.is_number and there.is_finite and there.is_real:
        yield f + Float(float(value - there))
    elif there.free_symbols:
        yield f - there + value


def _with_pole(f: Any, shape: Shape, by: dict[str, Symbol]) -> Iterator[Any]:
    column = by[shape.columns[0]]
    place = Float(shape.place) if not float(shape.place).is_integer() else Integer(int(shape.place))
    yield f / (column - place)
    yield f + Float(1.0) / (column - place)
    yield Float(1.0) / (column - place) + Float(1.0)


def _shifted(f: Any, shape: Shape, by: dict[str, Symbol], frame: Frame) -> Iterator[Any]:
    """The formula with a number added to each denominator, or with the denominator squared plus a number."""
    for name in shape.columns or frame.names:
        span = frame.upper[frame.names.index(name)] - frame.lower[frame.names.index(name)] or 1.0
        column = by[name]
        for _, factor in dict.fromkeys(singular_factors(f)):
            if column in factor.free_symbols:
                yield f.xreplace({factor: factor + Float(0.1 * span)})
                yield f.xreplace({factor: factor**2 + Float(0.1 * span**2)})


def _levelled(f: Any, shape: Shape) -> Iterator[Any]:
    """The formula with the limit in place of its additive constant."""
    changing = [term for term in terms_of(f) if not term.is_number]
    value = Float(shape.value) if not float(shape.value).is_integer() else Integer(int(shape.value))
    yield Add(*changing) + value


def _fewer_terms(f: Any, policy: ShapePolicy) -> Iterator[Any]:
    terms = terms_of(f)
    if not 2 <= len(terms) <= policy.terms:
        return
    for count in (1, 2):
        for gone in combinations(range(len(terms)), count):
            yield Add(*(term for k, term in enumerate(terms) if k not in gone))
