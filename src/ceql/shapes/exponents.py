"""Exponents that a formula may have: within bounds, or from a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import E, Float, Integer, Pow, nsimplify, preorder_traversal

_SAME = 1e-9


@dataclass(frozen=True)
class Exponents:
    """The allowed exponents p of powers u**p whose base contains a column; 1 is always allowed, and 1/u is u**(-1)."""

    within: tuple[float, float] | None = None
    among: tuple[float, ...] = ()

    def __bool__(self) -> bool:
        return self.within is not None or bool(self.among)

    def holds(self, exponent: float) -> bool:
        if abs(exponent - 1.0) <= _SAME:
            return True
        inside = self.within is None or self.within[0] <= exponent <= self.within[1]
        return inside and (not self.among or any(abs(exponent - one) <= _SAME for one in self.among))

    def allow(self, expression: Any) -> bool:
        return all(self.holds(float(power.exp)) for power in powers(expression)) if self else True

    def nearest(self, exponent: float, count: int) -> list[float]:
        """The `count` allowed exponents nearest to this one."""
        known = [*self.among, 1.0] if self.among else [*(self.within or ()), 1.0, 2.0, 0.5, -1.0, -0.5, -2.0]
        fine = sorted({one for one in known if self.holds(one)}, key=lambda one: (abs(one - exponent), one))
        return fine[:count]


def powers(expression: Any) -> Iterator[Any]:
    """The powers in an expression with a number as exponent and a column in the base."""
    for part in preorder_traversal(expression):
        if isinstance(part, Pow) and part.base is not E and part.exp.is_number and part.base.free_symbols:
            yield part


def with_exponent(expression: Any, power: Any, exponent: float) -> Any:
    """The expression with another exponent for this power; the new exponent is part of the structure and not fitted."""
    exact = Integer(int(exponent)) if float(exponent).is_integer() else nsimplify(exponent, rational=True)
    return expression.xreplace({power: Pow(power.base, exact)})


def with_allowed(expression: Any, exponents: Exponents, tried: int, most: int) -> list[Any]:
    """Versions of the expression in which forbidden exponents are replaced by allowed ones, the nearest first."""
    left, done = [expression], []
    while left and len(done) < most:
        form = left.pop(0)
        wrong = next((power for power in powers(form) if not exponents.holds(float(power.exp))), None)
        if wrong is None:
            done.append(form)
        else:
            near: Sequence[float] = exponents.nearest(float(wrong.exp), tried)
            left += [with_exponent(form, wrong, one) for one in near]
        if len(left) > 4 * most:
            break
    return [form for form in done if form.free_symbols and not form.has(Float("nan"))]
