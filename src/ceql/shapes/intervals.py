"""Interval arithmetic: intervals that contain all values of a formula over boxes, for many boxes at once.

All results are rounded outwards: sums, products, quotients and roots by one unit in the last place, the error of IEEE
arithmetic, and library functions by a few units. What these intervals say is therefore proved. Where a formula is
undefined in part of a box, its interval is unbounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from sympy import Add, Mul, Pow, Symbol
from sympy import E as EULER

from ceql.operators import functions
from ceql.operators.functions import Course, ElementaryFunction

Array = np.ndarray
_LIBRARY = 8  # largest error of library functions, in units in the last place
WHOLE, AT_EDGE, INSIDE = 0, 1, 2  # defined in the whole box; undefined at its edge; undefined inside
_LONGEST = 1e6  # largest argument of a sine that is still accurate enough


class NoEnclosure(ValueError):
    """Raised for a part of a formula for which intervals are not implemented."""


@dataclass(frozen=True, eq=False)
class Interval:
    """Intervals from `low` to `high`, one for each box; `lost` says where the formula is undefined in part of the
    box."""

    low: Array
    high: Array
    lost: Any = WHOLE

    @classmethod
    def of(cls, low: Any, high: Any, lost: Any = WHOLE) -> Interval:
        """Intervals between these ends, unbounded where an end is NaN."""
        low, high = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
        unknown = np.isnan(low) | np.isnan(high)
        return cls(np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high), lost)

    def unless(self, undefined: Array) -> Interval:
        """The intervals, unbounded where the formula is undefined inside the box."""
        low, high = np.where(undefined, -np.inf, self.low), np.where(undefined, np.inf, self.high)
        return Interval(low, high, np.maximum(self.lost, np.where(undefined, INSIDE, WHOLE)))

    def at_edge(self, touches: Array) -> Interval:
        """The intervals, marked as undefined at the edge of the box where `touches` is set."""
        return Interval(self.low, self.high, np.maximum(self.lost, np.where(touches, AT_EDGE, WHOLE)))

    def below(self, *parts: Interval) -> Interval:
        """The intervals, marked as undefined wherever one of these parts is, whatever a function makes of it."""
        return Interval(self.low, self.high, reduce(np.maximum, [self.lost, *(part.lost for part in parts)]))

    def widened(self, units: int = 1) -> Interval:
        low, high = self.low, self.high
        for _ in range(units):
            low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        return Interval(low, high, self.lost)


def enclosure(expression: Any, boxes: Mapping[Symbol, Interval]) -> Interval:
    """The interval of the expression over each box; raises `NoEnclosure` for what is not implemented."""
    known: dict[Any, Interval] = {}

    def of(part: Any) -> Interval:
        if part not in known:
            inner = [of(argument) for argument in part.args if argument.free_symbols]
            known[part] = _enclosed(part, of, boxes).below(*inner)
        return known[part]

    with np.errstate(all="ignore"):
        return of(expression)


def _enclosed(part: Any, of: Callable[[Any], Interval], boxes: Mapping[Symbol, Interval]) -> Interval:
    if part in boxes:
        return boxes[part]
    if part.is_number:
        return _number(part)
    if isinstance(part, Add):
        return reduce(add, map(of, part.args))
    if isinstance(part, Mul):
        return _product(part, of)
    if isinstance(part, Pow):
        return _power(part, of)
    function = functions.of_kind(part.func)
    rule = _FUNCTIONS.get(part.func.__name__ if function is None else function.name)
    if rule is None and function is not None:
        rule = _by_course(function)
    if rule is None:
        raise NoEnclosure(f"intervals of {part.func.__name__!r} are not known")
    return rule(of(part.args[0]))


def _number(part: Any) -> Interval:
    try:
        value = float(part)
    except (TypeError, OverflowError) as error:
        raise NoEnclosure(f"{part} is no real number") from error
    is_exact = part.is_Integer or part.is_Float
    number = Interval.of(value, value)
    return number if is_exact and np.isfinite(value) else number.widened()


def add(a: Interval, b: Interval) -> Interval:
    """The sum of intervals. Zero sums are not rounded, and an overflow does not become an infinite lower or upper
    limit."""
    low, high = a.low + b.low, a.high + b.high
    low = np.where((low == 0.0) | np.isposinf(a.low) | np.isposinf(b.low), low, np.nextafter(low, -np.inf))
    high = np.where((high == 0.0) | np.isneginf(a.high) | np.isneginf(b.high), high, np.nextafter(high, np.inf))
    return Interval.of(low, high).below(a, b)


def multiply(a: Interval, b: Interval) -> Interval:
    """The product of intervals. Zero times an unbounded end is zero, unless the interval is infinity itself."""
    pairs = [(p, q) for p in (a.low, a.high) for q in (b.low, b.high)]
    products = [_product_of_ends(p, q) for p, q in pairs]
    at_infinity = (np.isinf(a.low) & (a.low == a.high) & (b.low <= 0) & (b.high >= 0)) | (
        np.isinf(b.low) & (b.low == b.high) & (a.low <= 0) & (a.high >= 0)
    )
    low = reduce(np.minimum, (down for down, _ in products))
    high = reduce(np.maximum, (up for _, up in products))
    found = Interval.of(low, high).below(a, b)
    return Interval(np.where(at_infinity, -np.inf, found.low), np.where(at_infinity, np.inf, found.high), found.lost)


def _product_of_ends(p: Array, q: Array) -> tuple[Array, Array]:
    """The product rounded down and up; it keeps its sign even if it underflows or overflows."""
    is_exact = (p == 0.0) | (q == 0.0) | np.isinf(p) | np.isinf(q)
    product = np.where((p == 0.0) | (q == 0.0), 0.0, p * q)
    is_positive = (p > 0.0) == (q > 0.0)
    down, up = np.nextafter(product, -np.inf), np.nextafter(product, np.inf)
    down = np.where(is_exact, product, np.where(is_positive, np.maximum(down, 0.0), down))
    return down, np.where(is_exact, product, np.where(is_positive, up, np.minimum(up, 0.0)))


def reciprocal(a: Interval) -> Interval:
    """The reciprocal, with one finite bound if the interval touches zero, and none if it contains zero inside."""
    inside = (a.low < 0.0) & (a.high > 0.0)
    is_zero = (a.low == 0.0) & (a.high == 0.0)
    low = np.where(a.high == 0.0, -np.inf, _rounded(a.high, -np.inf))
    high = np.where(a.low == 0.0, np.inf, _rounded(a.low, np.inf))
    touches = (a.low == 0.0) | (a.high == 0.0)
    return Interval.of(low, high).below(a).at_edge(touches).unless(inside | is_zero)


def _rounded(end: Array, towards: float) -> Array:
    """The reciprocal of an end, rounded in this direction without changing its sign."""
    value = 1.0 / end
    beside = np.nextafter(value, towards)
    kept = np.where(end > 0.0, np.maximum(beside, 0.0), np.minimum(beside, 0.0))
    return np.where(np.isinf(end), 0.0, kept)


def _product(part: Mul, of: Callable[[Any], Interval]) -> Interval:
    above, below = [], []
    for factor in part.args:
        base, exponent = factor.as_base_exp()
        if base is not EULER and exponent.is_Number and exponent.is_negative:
            below.append(of(Pow(base, -exponent)))
        else:
            above.append(of(factor))
    inverse = [reciprocal(reduce(multiply, below))] if below else []
    return reduce(multiply, [*above, *inverse])


def _power(part: Pow, of: Callable[[Any], Interval]) -> Interval:
    base, exponent = part.args
    if base is EULER:
        return _exp(of(exponent))
    if not exponent.is_Number:
        return _exp(multiply(of(exponent), _log(of(base))))
    if exponent.is_negative:
        return reciprocal(of(Pow(base, -exponent)))
    inner, value = of(base), float(exponent)
    if value.is_integer():
        return _whole_power(inner, int(value))
    if value == 0.5:
        return _sqrt(inner)
    undefined = inner.low < 0.0
    low, high = np.maximum(inner.low, 0.0) ** value, np.maximum(inner.high, 0.0) ** value
    wide = Interval.of(low, high).widened(_LIBRARY)
    low = np.where(inner.low <= 0.0, 0.0, np.maximum(wide.low, 0.0))
    return Interval.of(low, np.where(inner.high == 0.0, 0.0, wide.high)).unless(undefined)


def _whole_power(inner: Interval, exponent: int) -> Interval:
    if exponent == 0:
        return Interval.of(np.ones_like(inner.low), np.ones_like(inner.high))
    if exponent % 2 == 0:
        inner = _abs(inner)
    wide = Interval.of(inner.low**exponent, inner.high**exponent).widened(_LIBRARY)
    low = np.where(inner.low >= 0.0, np.where(inner.low == 0.0, 0.0, np.maximum(wide.low, 0.0)), wide.low)
    high = np.where(inner.high <= 0.0, np.where(inner.high == 0.0, 0.0, np.minimum(wide.high, 0.0)), wide.high)
    return Interval.of(low, high)


def _rising(function: Callable[[Array], Array], least: float = -np.inf, most: float = np.inf) -> Any:
    """The interval rule of an increasing function with values from `least` to `most`, whose only zero, if any, is at
    zero."""

    def rule(inner: Interval) -> Interval:
        ends = Interval.of(function(inner.low), function(inner.high))
        wide = ends.widened(_LIBRARY)
        low = np.where(ends.low == 0.0, np.where(inner.low == 0.0, 0.0, wide.low), wide.low)
        high = np.where(ends.high == 0.0, np.where(inner.high == 0.0, 0.0, wide.high), wide.high)
        return Interval.of(np.clip(low, least, most), np.clip(high, least, most))

    return rule


_exp = _rising(np.exp, 0.0)


def _log(inner: Interval) -> Interval:
    positive = Interval(np.maximum(inner.low, 0.0), np.maximum(inner.high, 0.0))
    wide = Interval.of(np.log(positive.low), np.log(positive.high)).widened(_LIBRARY)
    low, high = np.where(positive.low == 1.0, 0.0, wide.low), np.where(positive.high == 1.0, 0.0, wide.high)
    return Interval.of(low, high).at_edge(inner.low == 0.0).unless((inner.low < 0.0) | (inner.high <= 0.0))


def _sqrt(inner: Interval) -> Interval:
    root = _rising(np.sqrt, 0.0)(Interval(np.maximum(inner.low, 0.0), np.maximum(inner.high, 0.0)))
    return root.unless(inner.low < 0.0)


def _by_course(function: ElementaryFunction) -> Callable[[Interval], Interval] | None:
    """The interval rule of a function that declares where it increases or decreases; None if it does not."""
    value, lower, upper = function.value, function.domain.lower, function.domain.upper
    rises, falls = _rising(value, *function.within), _falling(value, *function.within)
    rules: dict[Course, Callable[[Interval], Interval]] = {
        Course.RISES: rises,
        Course.FALLS: falls,
        Course.EVEN: lambda inner: rises(_abs(inner)),
        Course.RISES_BETWEEN_POLES: lambda inner: rises(inner).unless(_may_hold_poles(inner)),
    }
    rule = rules.get(function.course)

    def bounded(inner: Interval) -> Interval:
        assert rule is not None
        inside = Interval(np.clip(inner.low, lower, upper), np.clip(inner.high, lower, upper))
        return rule(inside).unless((inner.low < lower) | (inner.high > upper))

    return None if rule is None else bounded


def _falling(function: Callable[[Array], Array], least: float, most: float) -> Callable[[Interval], Interval]:
    def rule(inner: Interval) -> Interval:
        wide = Interval.of(function(inner.high), function(inner.low)).widened(_LIBRARY)
        return Interval.of(np.clip(wide.low, least, most), np.clip(wide.high, least, most))

    return rule


def _may_hold_poles(inner: Interval) -> Array:
    """Whether the interval may contain an odd multiple of pi/2."""
    turns_low, turns_high = np.floor(inner.low / np.pi + 0.5 - 1e-9), np.floor(inner.high / np.pi + 0.5 + 1e-9)
    return (turns_low != turns_high) | ~(np.maximum(np.abs(inner.low), np.abs(inner.high)) < _LONGEST)


def _cos(inner: Interval) -> Interval:
    """The interval of a cosine, which is 1 at whole turns and -1 half a turn after them."""
    ends = Interval.of(
        np.minimum(np.cos(inner.low), np.cos(inner.high)), np.maximum(np.cos(inner.low), np.cos(inner.high))
    ).widened(_LIBRARY)
    unsure = ~(np.maximum(np.abs(inner.low), np.abs(inner.high)) < _LONGEST)
    low, high = np.where(unsure, 0.0, inner.low), np.where(unsure, 0.0, inner.high)
    slack = 1e-9  # tolerance in turns for ends close to an extremum
    has_top = np.floor(high / (2 * np.pi) + slack) >= np.ceil(low / (2 * np.pi) - slack)
    has_bottom = np.floor(high / (2 * np.pi) - 0.5 + slack) >= np.ceil(low / (2 * np.pi) - 0.5 - slack)
    return Interval.of(
        np.where(has_bottom | unsure, -1.0, np.maximum(ends.low, -1.0)),
        np.where(has_top | unsure, 1.0, np.minimum(ends.high, 1.0)),
    )


def _sin(inner: Interval) -> Interval:
    is_zero = (inner.low == 0.0) & (inner.high == 0.0)
    shifted = add(inner, Interval.of(-np.pi / 2, -np.pi / 2).widened())
    found = _cos(shifted)
    within = (inner.low >= 0.0) & (inner.high <= np.pi)  # where the sine is not negative
    return Interval.of(
        np.where(is_zero, 0.0, np.where(within, np.maximum(found.low, 0.0), found.low)),
        np.where(is_zero, 0.0, found.high),
    )


def _abs(inner: Interval) -> Interval:
    crosses = (inner.low <= 0.0) & (inner.high >= 0.0)
    sizes = np.abs(inner.low), np.abs(inner.high)
    return Interval.of(np.where(crosses, 0.0, np.minimum(*sizes)), np.maximum(*sizes))


def _sign(inner: Interval) -> Interval:
    return Interval.of(np.sign(inner.low), np.sign(inner.high))


_FUNCTIONS: dict[str, Callable[[Interval], Interval]] = {
    "exp": _exp,
    "log": _log,
    "sin": _sin,
    "cos": _cos,
    "abs": _abs,
    "Abs": _abs,
    "sign": _sign,
}
