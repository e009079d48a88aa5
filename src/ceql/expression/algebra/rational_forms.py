"""The shortest ways to write a fraction of polynomials."""

from __future__ import annotations

import numpy as np

from ceql.expression.algebra import polynomial as P
from ceql.expression.algebra.drafts import ZERO, Draft, fewest, literal, product_of, raised, total
from ceql.expression.algebra.effort import charge
from ceql.expression.algebra.factoring import dense_coefficients, factor, separates
from ceql.expression.algebra.fraction_sums import Denominator, FractionSum, Region, lower
from ceql.expression.algebra.polynomial import Poly, TooLarge
from ceql.expression.algebra.polynomial_forms import PolynomialWriter, useful_scales
from ceql.expression.algebra.workspace import Workspace

FORMS = 50  # steps for the forms of a fraction, in addition to the arithmetic

# A product under construction: written factors with exponents, and the number before them.
Written = tuple[list[Draft], float]


class RationalWriter:
    """Writes fractions of one region; remembers what it has solved."""

    def __init__(self, workspace: Workspace, region: Region) -> None:
        self._policy = workspace.policy
        self._region = region
        self.polynomials = PolynomialWriter(workspace, region.blocks)
        self._best: dict[tuple, Draft] = {}

    def best(self, numerator: Poly, key: Denominator, depth: int = 0) -> Draft:
        """The shortest form of numerator / denominator."""
        if not key:
            return self.polynomials.best(numerator) if numerator else ZERO
        memory = (frozenset(numerator.items()), key)
        known = self._best.get(memory)
        if known is None:
            known = fewest(self.forms(numerator, key, depth))
            self._best[memory] = known
        return known

    def forms(self, numerator: Poly, key: Denominator, depth: int = 0) -> list[Draft]:
        charge(FORMS)
        if not key or not numerator:
            return self.polynomials.forms(numerator) if numerator else [ZERO]
        forms = self._products(numerator, key)
        methods = [self._continued, self._partial, self._peeled, self._termwise]
        if depth == 0:  # the remainder of one division gains nothing from another
            methods.append(self._divided)
        for method in methods if depth < self._policy.deepest_fraction else []:
            try:
                forms += method(numerator, key, depth)
            except (TooLarge, np.linalg.LinAlgError, OverflowError, ZeroDivisionError):
                continue
        return forms

    def sums(self, groups: FractionSum) -> list[Draft]:
        """Each denominator on its own, with all quotients gathered in one polynomial."""
        quotients, fractions = [groups.get((), {})], []
        for key, numerator in groups.items():
            if key:
                quotient, remainder = self._best_division(numerator, key)
                quotients.append(quotient)
                fractions.append(self.best(remainder, key, 1) if remainder else ZERO)
        whole = P.add(*quotients)
        plain = [self.best(numerator, key) for key, numerator in groups.items()]
        return [total(self.polynomials.best(whole) if whole else ZERO, *fractions), total(*plain)]

    def _products(self, numerator: Poly, key: Denominator) -> list[Draft]:
        forms: list[Draft] = []
        for above, first in self._written_numerators(numerator):
            for below, second in self._written_denominators(key):
                inverse = [raised(part, -1) for part in below]
                forms.append(product_of(literal(first / second), *above, *inverse))
        for below, second in self._written_denominators(key):  # the free number joins the numerator
            above = self.polynomials.best(P.scale(numerator, 1.0 / second))
            forms.append(product_of(above, *[raised(part, -1) for part in below]))
        return forms + self._number_below(numerator, key)

    def _written_numerators(self, numerator: Poly) -> list[Written]:
        whole, scale = self.polynomials.best_scaled(numerator)
        value, parts = factor(numerator)
        options: list[Written] = [([whole], scale)]
        if len(parts) > 1 or (parts and parts[0][1] > 1):
            factors, rest = self._written_factors(parts)
            options.append((factors, value * rest))
        return options

    def _written_denominators(self, key: Denominator) -> list[Written]:
        parts = [(self._region.factors[index], exponent) for index, exponent in key]
        options: list[Written] = [self._written_factors(parts)]
        if len(parts) > 1:
            whole, scale = self.polynomials.best_scaled(self._region.expanded(key))
            options.append(([whole], scale))
        return options

    def _written_factors(self, parts: list[tuple[Poly, int]]) -> Written:
        factors, value = [], 1.0
        for part, exponent in parts:
            written, scale = self.polynomials.best_scaled(part)
            factors.append(raised(written, exponent))
            value *= scale**exponent
        return factors, value

    def _number_below(self, numerator: Poly, key: Denominator) -> list[Draft]:
        """Return forms with the free number multiplied into the whole denominator or into one factor of it."""
        above, first = self._written_numerators(numerator)[-1]
        whole = self.polynomials.best(P.scale(self._region.expanded(key), 1.0 / first))
        forms = [product_of(*above, raised(whole, -1))]
        if len(key) > 1:
            for index, exponent in key:
                if exponent == 1:
                    rest, second = self._written_denominators(lower(key, index))[0]
                    part = P.scale(self._region.factors[index], second / first)
                    inverse = [raised(other, -1) for other in [self.polynomials.best(part), *rest]]
                    forms.append(product_of(*above, *inverse))
        return forms

    def _divisions(self, numerator: Poly, key: Denominator) -> list[tuple[Poly, Poly]]:
        """Return distinct ways to split off a quotient: by each variable, by degree, or only a number."""
        denominator = self._region.expanded(key)
        found: list[tuple[Poly, Poly]] = []
        orders = [P.graded] + [P.first_in(index) for index in P.variables_of(denominator)]
        for order in orders:
            quotient, remainder = P.divide(numerator, denominator, order)
            if quotient and len(remainder) < 2 * len(numerator) + 2:
                found.append((quotient, remainder))
        for monomial in numerator.keys() & denominator.keys():
            share = P.constant(numerator[monomial] / denominator[monomial], self._region.width)
            rest = P.add(numerator, P.scale(denominator, -numerator[monomial] / denominator[monomial]))
            rest.pop(monomial, None)
            found.append((share, rest))
        unique: dict[frozenset, tuple[Poly, Poly]] = {}
        for quotient, remainder in found:
            unique.setdefault(frozenset(quotient.items()), (quotient, remainder))
        return list(unique.values())

    def _divided(self, numerator: Poly, key: Denominator, depth: int) -> list[Draft]:
        forms = []
        for quotient, remainder in self._divisions(numerator, key):
            whole = self.polynomials.best(quotient)
            fraction = self.best(remainder, key, depth + 1) if remainder else ZERO
            forms.append(total(whole, fraction))
        return forms

    def _best_division(self, numerator: Poly, key: Denominator) -> tuple[Poly, Poly]:
        options: list[tuple[Poly, Poly]] = [({}, numerator), *self._divisions(numerator, key)]

        def size(option: tuple[Poly, Poly]) -> int:
            quotient, remainder = option
            whole = self.polynomials.best(quotient) if quotient else ZERO
            return total(whole, self.best(remainder, key, 1) if remainder else ZERO).count

        return min(options, key=size)

    def _continued(self, numerator: Poly, key: Denominator, depth: int) -> list[Draft]:
        """Return forms k/(q + r/n), by inverting the fraction and dividing again."""
        if P.is_constant(numerator) or len(numerator) < 2:
            return []
        denominator = self._region.expanded(key)
        if len(P.variables_of(denominator)) > 1 and len(denominator) > self._policy.most_terms_turned_over:
            return []
        value, inner = P.monic(numerator)
        forms = []
        for index in P.variables_of(inner):
            order = P.first_in(index)
            quotient, remainder = P.divide(denominator, inner, order)
            if quotient and remainder and len(remainder) <= len(inner):
                forms += self._turned_over(value, inner, quotient, remainder, depth)
        return forms

    def _turned_over(self, value: float, inner: Poly, quotient: Poly, rest: Poly, depth: int) -> list[Draft]:
        forms = []
        below = self._region.denominator(inner)
        for scale in dict.fromkeys([1.0 / value, *[1.0 / s for s in useful_scales(quotient, self._policy)]]):
            whole = self.polynomials.best(P.scale(quotient, scale))
            fraction = self.best(P.scale(rest, scale), below, depth + 1)
            forms.append(product_of(literal(value * scale), raised(total(whole, fraction), -1)))
        return forms

    def _partial(self, numerator: Poly, key: Denominator, depth: int) -> list[Draft]:
        """Return partial fractions if everything depends on one building block."""
        denominator = self._region.expanded(key)
        present = sorted(set(P.variables_of(numerator)) | set(P.variables_of(denominator)))
        parts = sum(exponent for _, exponent in key)
        if len(present) != 1 or parts < 2 or P.degree(denominator) > self._policy.highest_partial_degree:
            return []
        index = present[0]
        quotient, remainder = P.divide(numerator, denominator, P.first_in(index))
        if not remainder:
            return []
        pieces = self._residues(remainder, denominator, key, index)
        whole = self.polynomials.best(quotient) if quotient else ZERO
        written = [self.best(piece, below, self._policy.deepest_fraction) for piece, below in pieces if piece]
        return [total(whole, *written)]

    def _residues(
        self, remainder: Poly, denominator: Poly, key: Denominator, index: int
    ) -> list[tuple[Poly, Denominator]]:
        """Solve for the numerators over every power of every factor."""
        width, size = self._region.width, P.degree_in(denominator, index)
        unknowns: list[tuple[int, int, int]] = []
        columns = []
        for place, exponent in key:
            for power in range(1, exponent + 1):
                divisor = P.power(self._region.factors[place], power, width)
                cofactor = P.divide(denominator, divisor, P.first_in(index))[0]
                for shift in range(P.degree_in(self._region.factors[place], index)):
                    shifted = P.multiply(cofactor, P.variable(index, width, shift))
                    columns.append(dense_coefficients(shifted, index, size))
                    unknowns.append((place, power, shift))
        solution = np.linalg.solve(np.array(columns).T, dense_coefficients(remainder, index, size))
        pieces: dict[tuple[int, int], Poly] = {}
        for (place, power, shift), value in zip(unknowns, solution, strict=True):
            if abs(value) > 1e-12 * np.max(np.abs(solution)):
                pieces.setdefault((place, power), {}).update(P.scale(P.variable(index, width, shift), float(value)))
        return [(piece, ((place, power),)) for (place, power), piece in pieces.items()]

    def _peeled(self, numerator: Poly, key: Denominator, depth: int) -> list[Draft]:
        """N/(f g) = q/g + (r/g)/f when a linear f holds a variable that g does not."""
        forms = []
        for place, exponent in key if len(key) > 1 else ():
            others = lower(key, place)
            found = self._splitting_variable(place, others) if exponent == 1 else None
            if found is None:
                continue
            quotient, remainder = P.divide(numerator, self._region.factors[place], P.first_in(found))
            if not quotient or not remainder:
                continue
            left, above = self._region.cancel(quotient, others)
            right, residue = self._region.cancel(remainder, key)
            if left != others or right != key:
                forms.append(total(self.best(above, left, depth + 1), self.best(residue, right, depth + 1)))
        return forms

    def _splitting_variable(self, place: int, others: Denominator) -> int | None:
        poly = self._region.factors[place]
        used = {v for index, _ in others for v in P.variables_of(self._region.factors[index])}
        free = [v for v in P.variables_of(poly) if v not in used and separates(poly, v)]
        return free[0] if free else None

    def _termwise(self, numerator: Poly, key: Denominator, depth: int) -> list[Draft]:
        """(x*y + z)/(x*w) = y/w + z/(x*w): give every term its own monomial denominator."""
        if len(numerator) < 2 or all(len(self._region.factors[index]) > 1 for index, _ in key):
            return []
        groups: FractionSum = {}
        for monomial, value in numerator.items():
            reduced_key, reduced = self._region.cancel({monomial: value}, key)
            groups[reduced_key] = P.add(groups.get(reduced_key, {}), reduced)
        if len(groups) < 2:
            return []
        return [total(*[self.best(poly, below, depth + 1) for below, poly in groups.items()])]
