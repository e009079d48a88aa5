"""The shortest way to write a polynomial over building blocks."""

from __future__ import annotations

from sympy import Pow

from ceql.expression.algebra import polynomial as P
from ceql.expression.algebra.drafts import ZERO, Draft, fewest, leaf, literal, product_of, raised, total
from ceql.expression.algebra.effort import charge
from ceql.expression.algebra.factoring import factor
from ceql.expression.algebra.polynomial import Monomial, Poly, TooLarge
from ceql.expression.algebra.simplify_policy import SIMPLIFY, SimplifyPolicy
from ceql.expression.algebra.workspace import Workspace
from ceql.expression.symbolic import Expr

FORMS, WRITTEN = 50, 20  # steps for the forms of a polynomial, and further ones per term


class PolynomialWriter:
    """Writes polynomials in the given blocks; remembers every subproblem."""

    def __init__(self, workspace: Workspace, blocks: list[Expr]) -> None:
        self._workspace = workspace
        self._blocks = blocks
        self._best: dict[frozenset, Draft] = {}
        self._powers: dict[tuple[int, int], Draft] = {}
        self._scaled: dict[frozenset, tuple[Draft, float]] = {}

    def _block_power(self, index: int, exponent: int) -> Draft:
        """Return a power of a block, written by SymPy, which simplifies powers of logs, roots and exponentials."""
        known = self._powers.get((index, exponent))
        if known is None:
            expr = Pow(self._blocks[index], exponent)
            known = self._powers[index, exponent] = leaf(expr, self._workspace.count(expr))
        return known

    def monomial(self, monomial: Monomial, value: float = 1.0) -> Draft:
        parts = [self._block_power(i, e) for i, e in enumerate(monomial) if e]
        return product_of(literal(value), *parts)

    def expanded(self, poly: Poly) -> Draft:
        return total(*[self.monomial(monomial, value) for monomial, value in poly.items()])

    def best(self, poly: Poly) -> Draft:
        """The form with the fewest nodes among expanded, nested, factored and completed squares."""
        key = frozenset(poly.items())
        known = self._best.get(key)
        if known is None:
            known = self._best[key] = fewest(self.forms(poly))
        return known

    def forms(self, poly: Poly) -> list[Draft]:
        charge(FORMS + WRITTEN * len(poly))
        if len(poly) < 2:
            return [self.expanded(poly)]
        forms = [self.expanded(poly)]
        if P.degree(poly) < 2:
            return forms
        common, rest = P.without_content(poly)
        if any(common):
            return [*forms, product_of(self.monomial(common), self.best(rest))]
        forms += [self._nested(poly, index) for index in self._choices(poly)]
        forms += self._completed_squares(poly)
        forms += self._factored(poly)
        return forms

    def _choices(self, poly: Poly) -> list[int]:
        """Return the variables worth factoring out of the terms that contain them, the most frequent first."""
        uses = {i: sum(1 for m in poly if m[i]) for i in P.variables_of(poly)}
        useful = sorted((i for i in uses if uses[i] > 1), key=lambda i: -uses[i])
        return useful if len(poly) <= self._workspace.policy.most_terms_for_search else useful[:1]

    def _nested(self, poly: Poly, index: int) -> Draft:
        """Return v**k * (...) + rest, with the largest k possible for all terms that contain v."""
        lowest = min(monomial[index] for monomial in poly if monomial[index])
        inner = {(*m[:index], m[index] - lowest, *m[index + 1 :]): value for m, value in poly.items() if m[index]}
        rest = {monomial: value for monomial, value in poly.items() if not monomial[index]}
        taken = product_of(self._block_power(index, lowest), self.best(inner))
        return total(taken, self.best(rest)) if rest else taken

    def _completed_squares(self, poly: Poly) -> list[Draft]:
        """Return a*(v + b/(2a))**2 + rest for every variable v whose square has a number a as its coefficient."""
        if len(poly) > self._workspace.policy.most_terms_for_search:
            return []
        forms = []
        for index in P.variables_of(poly):
            parts = P.coefficients_in(poly, index)
            if set(parts) <= {0, 1, 2} and 1 in parts and 2 in parts and P.is_constant(parts[2]):
                forms.append(self._square(parts, index))
        return forms

    def _square(self, parts: dict[int, Poly], index: int) -> Draft:
        (a,) = parts[2].values()
        half = P.scale(parts[1], 0.5 / a)
        width = len(self._blocks)
        inner = P.add(P.variable(index, width), half)
        rest = P.add(parts.get(0, {}), P.scale(P.multiply(half, half), -a))
        square = product_of(literal(a), raised(self.expanded(inner), 2))
        return total(square, self.best(rest) if rest else ZERO)

    def _factored(self, poly: Poly) -> list[Draft]:
        try:
            value, parts = factor(poly)
        except TooLarge:
            return []
        if len(parts) == 1 and parts[0][1] == 1:
            return []
        factors = []
        for part, exponent in parts:
            written, scale = self.best_scaled(part)
            value *= scale**exponent
            factors.append(raised(written, exponent))
        return [product_of(literal(value), *factors)]

    def best_scaled(self, poly: Poly) -> tuple[Draft, float]:
        """The shortest form of poly/s over useful scales s, and that s."""
        key = frozenset(poly.items())
        known = self._scaled.get(key)
        if known is None:
            options = [(self.best(P.scale(poly, 1.0 / s)), s) for s in useful_scales(poly, self._workspace.policy)]
            known = self._scaled[key] = min(options, key=lambda option: option[0].count)
        return known


def useful_scales(poly: Poly, policy: SimplifyPolicy = SIMPLIFY) -> list[float]:
    """Return scales that turn some coefficient into one, those of leading terms first."""
    ordered = sorted(poly, key=P.graded, reverse=True)
    # In a long polynomial, one more unit coefficient hardly matters.
    tried = ordered if len(ordered) <= policy.most_terms_for_scales else ordered[:2]
    return list(dict.fromkeys(poly[monomial] for monomial in tried))
