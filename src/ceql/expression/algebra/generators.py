"""The building blocks a formula is rational in: its symbols, logs, roots, exponentials, sines.

Two blocks that differ only by a constant, such as log(2*u) and log(u), become one; whether they do
is decided from the values of their arguments at the sample points, which no notation can hide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sympy import Pow, Rational, S, cos, exp, log, sin

from ceql.expression.algebra.workspace import Array, Workspace, typical_size
from ceql.expression.symbolic import Expr


@dataclass(frozen=True)
class Term:
    """coefficient * generator**exponent; a generator of None is the number one."""

    coefficient: float
    generator: int | None
    exponent: int = 1


Combination = tuple[Term, ...]
LEAST_POINTS = 4  # least number of points needed to decide whether two blocks differ only by a constant


def _both_finite(u: Array, v: Array) -> tuple[Array, Array]:
    usable = np.isfinite(u) & np.isfinite(v)
    return u[usable], v[usable]


def constant_ratio(u: Array, v: Array, tolerance: float) -> float | None:
    """s with u = s*v at all sample points, or None."""
    a, b = _both_finite(u, v)
    if len(a) < LEAST_POINTS:
        return None
    pivot = int(np.argmax(np.abs(b)))
    if b[pivot] == 0.0:
        return None
    ratio = a[pivot] / b[pivot]
    floor = typical_size(a)
    same = np.abs(a - ratio * b) <= tolerance * (np.abs(a) + floor)
    return float(ratio) if bool(np.all(same)) and ratio != 0.0 else None


def constant_shift(u: Array, v: Array, tolerance: float) -> float | None:
    """c with u = v + c at all sample points, or None."""
    a, b = _both_finite(u, v)
    if len(a) < LEAST_POINTS:
        return None
    shift = float(np.mean(a - b))
    scale = np.abs(a) + np.abs(b) + typical_size(a)
    return shift if bool(np.all(np.abs(a - b - shift) <= tolerance * scale)) else None


class Generators:
    """Registers blocks and expresses each new one by an earlier one where possible."""

    def __init__(self, workspace: Workspace, tolerance: float) -> None:
        self._workspace = workspace
        self._tolerance = tolerance
        self.blocks: list[Expr] = []
        self._known: dict[Expr, Combination] = {}

    def combination(self, block: Expr) -> Combination:
        known = self._known.get(block)
        if known is None:
            known = self._known[block] = self._register(block)
        return known

    def _register(self, block: Expr) -> Combination:
        if block.is_Symbol:
            return (Term(1.0, self._append(block)),)
        if isinstance(block, log):
            return self._log(block)
        if isinstance(block, exp):
            return self._exp(block)
        if isinstance(block, sin | cos):
            return self._wave(block)
        if isinstance(block, Pow) and block.exp.is_Number:
            return self._root(block)
        return self._opaque(block)

    def _append(self, block: Expr) -> int:
        if block in self.blocks:
            return self.blocks.index(block)
        self.blocks.append(block)
        return len(self.blocks) - 1

    def _of(self, kind: type) -> list[tuple[int, Expr]]:
        return [(index, block) for index, block in enumerate(self.blocks) if isinstance(block, kind)]

    def _argument(self, block: Expr) -> Array:
        return self._workspace.values(block.args[0])

    def _log(self, block: Expr) -> Combination:
        mine = self._argument(block)
        for index, other in self._of(log):
            theirs = self._argument(other)
            for sign, partner in ((1.0, theirs), (-1.0, _reciprocal(theirs))):
                ratio = constant_ratio(mine, partner, self._tolerance)
                if ratio is not None and ratio > 0.0:
                    return (Term(sign, index), Term(math.log(ratio), None))
        return (Term(1.0, self._append(block)),)

    def _exp(self, block: Expr) -> Combination:
        mine = self._argument(block)
        for index, other in self._of(exp):
            theirs = self._argument(other)
            for exponent in (1, -1, 2, -2):
                shift = constant_shift(mine, exponent * theirs, self._tolerance)
                if shift is not None and abs(shift) < 300.0:
                    return (Term(math.exp(shift), index, exponent),)
        return (Term(1.0, self._append(block)),)

    def _root(self, block: Pow) -> Combination:
        exponent, whole = block.exp, 1
        if isinstance(exponent, Rational):
            whole, exponent = exponent.p, Rational(1, exponent.q)
        mine = self._workspace.values(block.base)
        for index, other in self._of(Pow):
            if other.exp == exponent:
                ratio = constant_ratio(mine, self._workspace.values(other.base), self._tolerance)
                if ratio is not None and ratio > 0.0:
                    return (Term(ratio ** float(block.exp), index, whole),)
        return (Term(1.0, self._append(Pow(block.base, exponent)), whole),)

    def _wave(self, block: Expr) -> Combination:
        """Express waves of equal frequency by a sine and a cosine of one argument."""
        mine, quarter = self._argument(block), math.pi / 2.0 if isinstance(block, cos) else 0.0
        for _, other in self._of(sin) + self._of(cos):
            if other.func is block.func and other.args == block.args:
                continue
            for sign in (1.0, -1.0):
                shift = constant_shift(mine, sign * self._argument(other), self._tolerance)
                if shift is not None:
                    return self._phase(other.args[0], sign, shift + quarter)
        return (Term(1.0, self._append(block)),)

    def _phase(self, argument: Expr, sign: float, phase: float) -> Combination:
        """sin(sign*u + phase) = sign*cos(phase)*sin(u) + sin(phase)*cos(u)."""
        terms = []
        for weight, function in ((sign * math.cos(phase), sin), (math.sin(phase), cos)):
            if abs(weight) > self._tolerance:
                terms.append(Term(weight, self._append(function(argument))))
        return tuple(terms)

    def _opaque(self, block: Expr) -> Combination:
        """Register any other function; two are the same block only if their values are equal."""
        mine = self._workspace.values(block)
        for index, other in self._of(block.func):
            ratio = constant_ratio(mine, self._workspace.values(other), self._tolerance)
            if ratio is not None and abs(ratio - 1.0) <= self._tolerance:
                return (Term(1.0, index),)
        return (Term(1.0, self._append(block)),)


def _reciprocal(values: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.where(values == 0.0, np.nan, 1.0 / values)


def is_rational_step(expr: Expr) -> bool:
    """Return whether the node is arithmetic that rational forms can represent."""
    if expr.is_Add or expr.is_Mul:
        return True
    return expr.is_Pow and expr.exp.is_Integer and expr.base is not S.Exp1
