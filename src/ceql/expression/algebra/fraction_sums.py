"""Formulas as sums of polynomial fractions over building blocks, with denominators kept factored."""

from __future__ import annotations

from functools import reduce

from sympy import Rational

from ceql.expression.algebra import polynomial as P
from ceql.expression.algebra.factoring import factor
from ceql.expression.algebra.generators import Generators, is_rational_step
from ceql.expression.algebra.polynomial import Poly, TooLarge
from ceql.expression.algebra.precision import accuracy
from ceql.expression.algebra.workspace import Workspace
from ceql.expression.symbolic import Expr

# A denominator: sorted pairs (index of a monic factor, power).
Denominator = tuple[tuple[int, int], ...]
# A formula: numerators by denominator.
FractionSum = dict[Denominator, Poly]


class Undefined(ArithmeticError):
    """The formula divides by zero everywhere."""


class Region:
    """Reads formulas that share building blocks and denominator factors."""

    def __init__(self, workspace: Workspace, roots: list[Expr], tolerance: float | None = None) -> None:
        self._tolerance = accuracy(10.0) if tolerance is None else tolerance
        self._largest_power = workspace.policy.largest_power
        self._generators = Generators(workspace, self._tolerance)
        for root in roots:
            self._collect(root)
        self.width = len(self._generators.blocks)
        self.factors: list[Poly] = []

    @property
    def blocks(self) -> list[Expr]:
        return self._generators.blocks

    def _collect(self, expr: Expr) -> None:
        if expr.is_number:
            return
        if is_rational_step(expr):
            for argument in expr.args:
                self._collect(argument)
            return
        self._generators.combination(expr)

    def read(self, expr: Expr) -> FractionSum:
        if expr.is_number:
            return self._polynomial(P.constant(float(expr), self.width))
        if expr.is_Add:
            return self.add(*[self.read(term) for term in expr.args])
        if expr.is_Mul:
            return self._product([self.read(part) for part in expr.args])
        if is_rational_step(expr):
            return self._power(self.read(expr.base), int(expr.exp))
        return self._block(expr)

    def _polynomial(self, poly: Poly) -> FractionSum:
        return {(): poly} if poly else {}

    def _block(self, expr: Expr) -> FractionSum:
        parts = []
        for term in self._generators.combination(expr):
            if term.generator is None:
                parts.append(self._polynomial(P.constant(term.coefficient, self.width)))
                continue
            base = self._polynomial(P.variable(term.generator, self.width))
            powered = self._power(base, term.exponent)
            parts.append({key: P.scale(poly, term.coefficient) for key, poly in powered.items()})
        return self.add(*parts)

    def add(self, *sums: FractionSum) -> FractionSum:
        gathered: dict[Denominator, list[Poly]] = {}
        for fraction_sum in sums:
            for key, poly in fraction_sum.items():
                gathered.setdefault(key, []).append(poly)
        added = {key: self._lower_roots(P.add(*polys)) for key, polys in gathered.items()}
        return {key: poly for key, poly in added.items() if poly}

    def _lower_roots(self, poly: Poly) -> Poly:
        """Replace sqrt(q)**2 by q where q is a polynomial in the blocks, so that terms can merge."""
        if len(poly) < 2:
            return poly
        for index, block in enumerate(self.blocks):
            if block.is_Pow and isinstance(block.exp, Rational) and P.degree_in(poly, index) >= block.exp.q:
                poly = self._lower_root(poly, index, block)
        return poly

    def _lower_root(self, poly: Poly, index: int, block: Expr) -> Poly:
        base = self._as_polynomial(block.base)
        if base is None:
            return poly
        order = block.exp.q
        parts = []
        for monomial, value in poly.items():
            whole, rest = divmod(monomial[index], order)
            lowered = {(*monomial[:index], rest, *monomial[index + 1 :]): value}
            parts.append(P.multiply(lowered, P.power(base, whole, self.width)))
        return P.add(*parts)

    def _as_polynomial(self, expr: Expr) -> Poly | None:
        if not expr.free_symbols <= set(self.blocks):
            return None
        read = self.read(expr)
        return read[()] if set(read) == {()} else None

    def _product(self, parts: list[FractionSum]) -> FractionSum:
        return reduce(self._times, parts, self._polynomial(P.constant(1.0, self.width)))

    def _times(self, left: FractionSum, right: FractionSum) -> FractionSum:
        products: list[FractionSum] = []
        for first, a in left.items():
            for second, b in right.items():
                key, cancelled = self.cancel(P.multiply(a, b), merge(first, second))
                products.append({key: cancelled})
        return self.add(*products)

    def cancel(self, numerator: Poly, key: Denominator) -> tuple[Denominator, Poly]:
        for index, exponent in key:
            for _ in range(exponent):
                quotient = P.divides(self.factors[index], numerator) if numerator else None
                if quotient is None:
                    break
                numerator, key = quotient, lower(key, index)
        return key, numerator

    def _power(self, base: FractionSum, exponent: int) -> FractionSum:
        if abs(exponent) > self._largest_power:
            raise TooLarge
        if exponent < 0:
            return self._power(self._reciprocal(base), -exponent)
        return self._product([base] * exponent)

    def _reciprocal(self, fraction_sum: FractionSum) -> FractionSum:
        numerator, key = self.together(fraction_sum)
        if not numerator:
            raise Undefined
        value, _ = P.monic(numerator)
        below = self.denominator(numerator)
        above = P.scale(self.expanded(key), 1.0 / value)
        reduced_key, reduced = self.cancel(above, below)
        return {reduced_key: reduced}

    def denominator(self, poly: Poly) -> Denominator:
        """The registered monic factors of ``poly``, whose leading coefficient is left out."""
        key: Denominator = ()
        for part, exponent in factor(poly)[1]:
            key = merge(key, ((self._factor_index(part), exponent),))
        return key

    def _factor_index(self, poly: Poly) -> int:
        for index, known in enumerate(self.factors):
            if P.close(known, poly, self._tolerance * 10.0):
                return index
        self.factors.append(poly)
        return len(self.factors) - 1

    def expanded(self, key: Denominator) -> Poly:
        return P.product([P.power(self.factors[i], e, self.width) for i, e in key], self.width)

    def together(self, fraction_sum: FractionSum) -> tuple[Poly, Denominator]:
        """One fraction over the least common denominator, with common factors cancelled."""
        common: dict[int, int] = {}
        for key in fraction_sum:
            for index, exponent in key:
                common[index] = max(common.get(index, 0), exponent)
        parts = []
        for key, numerator in fraction_sum.items():
            own = dict(key)
            missing = tuple((i, e - own.get(i, 0)) for i, e in sorted(common.items()) if e > own.get(i, 0))
            parts.append(P.multiply(numerator, self.expanded(missing)))
        total = self._lower_roots(P.add(*parts))
        reduced_key, reduced = self.cancel(total, tuple(sorted(common.items())))
        return reduced, reduced_key if reduced else ()


def merge(left: Denominator, right: Denominator) -> Denominator:
    powers = dict(left)
    for index, exponent in right:
        powers[index] = powers.get(index, 0) + exponent
    return tuple(sorted(powers.items()))


def lower(key: Denominator, index: int) -> Denominator:
    return tuple((i, e - (i == index)) for i, e in key if e - (i == index) > 0)
