"""Splits float polynomials into factors, which are verified by multiplying them."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import lru_cache

import numpy as np

from ceql.expression.algebra import polynomial as P
from ceql.expression.algebra.effort import OutOfSteps, allowing, charge
from ceql.expression.algebra.polynomial import Monomial, Poly, TooLarge
from ceql.expression.algebra.precision import accuracy

Factors = list[tuple[Poly, int]]
ROOT_CLUSTER = 1e-4
SPLIT_STEPS = 200_000  # most steps for splitting one polynomial
ROOT_STEPS, LINES_STEPS = 1000, 200  # steps for finding all roots, and two linear forms


def factor(poly: Poly) -> tuple[float, Factors]:
    """Return a number and monic factors with multiplicities, whose product is ``poly``."""
    width = len(next(iter(poly)))
    common, rest = P.without_content(poly)
    factors: Factors = [(P.variable(index, width), exponent) for index, exponent in enumerate(common) if exponent]
    number, monic_rest = P.monic(rest)
    if P.is_constant(monic_rest):
        return number, factors
    parts = _split(monic_rest)
    return number, factors + parts


def _split(poly: Poly) -> Factors:
    """Return the factors of a monic polynomial without monomial content; the polynomial itself if none are found."""
    parts, steps = _remembered_split(tuple(sorted(poly.items())), accuracy())
    charge(steps)  # even if remembered: the result of a search must not depend on earlier searches
    return list(parts)


@lru_cache(maxsize=4096)
def _remembered_split(terms: tuple[tuple[Monomial, float], ...], known_to: float) -> tuple[Factors, int]:
    """Return the factors, and the number of steps that finding them takes."""
    # The search meets the same polynomial many times, and factors are never changed in place.
    poly = dict(terms)
    if P.degree(poly) < 2:
        return [(poly, 1)], 0
    with allowing(SPLIT_STEPS) as allowance:
        # A polynomial that is too large or too extreme to factor stays as it is.
        with suppress(TooLarge, OutOfSteps, np.linalg.LinAlgError, OverflowError):
            for method in (_by_independent_variables, _by_roots, _two_linear_forms):
                parts = method(poly)
                if parts is not None and _multiplies_back(parts, poly):
                    return parts, allowance.spent
        return [(poly, 1)], allowance.spent


def _multiplies_back(parts: Factors, poly: Poly) -> bool:
    width = len(next(iter(poly)))
    whole = P.product([part for part, exponent in parts for _ in range(exponent)], width)
    return P.close(whole, poly, accuracy(100.0))


def _by_independent_variables(poly: Poly) -> Factors | None:
    """Split products p(x) q(y): for these f f_xy = f_x f_y everywhere, which is tested at one random point."""
    present = P.variables_of(poly)
    if len(present) < 2:
        return None
    generator = random.Random(20240229)
    point = [generator.uniform(0.6, 1.9) * generator.choice((-1.0, 1.0)) for _ in next(iter(poly))]
    groups = _dependent_groups(poly, present, point)
    if len(groups) < 2:
        return None
    parts: Factors = []
    for group in groups:
        restricted = _restrict(poly, group, point)
        if not restricted:
            return None
        parts.extend(_split(P.monic(restricted)[1]))
    return parts


def _dependent_groups(poly: Poly, present: list[int], point: list[float]) -> list[set[int]]:
    charge(len(poly) * len(present) ** 2)
    value = P.evaluate(poly, point)
    slopes = {index: P.derivative(poly, index) for index in present}
    groups = [{index} for index in present]
    for position, first in enumerate(present):
        for second in present[position + 1 :]:
            mixed = P.evaluate(P.derivative(slopes[first], second), point) * value
            separate = P.evaluate(slopes[first], point) * P.evaluate(slopes[second], point)
            if abs(mixed - separate) > max(1e-8, accuracy(1000.0)) * max(abs(mixed), abs(separate)):
                groups = _joined(groups, first, second)
    return groups


def _joined(groups: list[set[int]], first: int, second: int) -> list[set[int]]:
    touched = [group for group in groups if first in group or second in group]
    return [group for group in groups if group not in touched] + [set().union(*touched)]


def _restrict(poly: Poly, group: set[int], point: list[float]) -> Poly:
    """Return the polynomial in the variables of one group, with the others fixed at the point."""
    result: Poly = {}
    for monomial, value in poly.items():
        kept = tuple(exponent if index in group else 0 for index, exponent in enumerate(monomial))
        for index, exponent in enumerate(monomial):
            if exponent and index not in group:
                value *= point[index] ** exponent
        result[kept] = result.get(kept, 0.0) + value
    top = max(abs(value) for value in result.values())
    return {monomial: value for monomial, value in result.items() if abs(value) > accuracy(10.0) * top}


def _by_roots(poly: Poly) -> Factors | None:
    """Split a polynomial in one variable into real linear and quadratic factors, from its roots."""
    present = P.variables_of(poly)
    if len(present) != 1 or P.degree(poly) < 2 or P.degree(poly) > 12:
        return None
    charge(ROOT_STEPS)
    index, width = present[0], len(next(iter(poly)))
    dense = dense_coefficients(poly, index)
    if len(dense) == 3 and dense[1] ** 2 - 4.0 * dense[0] * dense[2] < -accuracy(100.0) * dense[1] ** 2:
        return None  # a quadratic without real roots cannot be split
    parts: Factors = []
    for root, multiplicity in clustered_roots(dense):
        if root.imag == 0.0:
            coefficients = [1.0, -root.real]
        elif root.imag > 0.0:
            coefficients = [1.0, -2.0 * root.real, abs(root) ** 2]
        else:
            continue
        powers = range(len(coefficients) - 1, -1, -1)
        terms = zip(powers, coefficients, strict=True)
        parts.append(({P.power_of(index, width, power): value for power, value in terms if value}, multiplicity))
    return parts


def dense_coefficients(poly: Poly, index: int, size: int | None = None) -> np.ndarray:
    """Return the coefficients of a polynomial in one variable, highest power first, padded with leading zeros."""
    dense = np.zeros(P.degree_in(poly, index) + 1 if size is None else size)
    for monomial, value in poly.items():
        dense[-1 - monomial[index]] += value
    return dense


def clustered_roots(dense: np.ndarray) -> list[tuple[complex, int]]:
    """Return the roots with multiplicities; the mean of a cluster is far more accurate than its members."""
    pending = sorted(np.roots(dense), key=lambda root: (root.real, root.imag))
    result: list[tuple[complex, int]] = []
    while pending:
        seed = pending[0]
        near = [root for root in pending if abs(root - seed) <= ROOT_CLUSTER * (1.0 + abs(seed))]
        pending = [root for root in pending if abs(root - seed) > ROOT_CLUSTER * (1.0 + abs(seed))]
        mean = complex(np.mean(near))
        if abs(mean.imag) <= 1e-9 * (1.0 + abs(mean)):
            mean = complex(mean.real, 0.0)
        result.append((_polished(dense, mean, len(near)), len(near)))
    return result


def _polished(dense: np.ndarray, root: complex, multiplicity: int) -> complex:
    """Refine a root by a few Newton steps on the derivative in which it is simple."""
    target = dense
    for _ in range(multiplicity - 1):
        target = np.polyder(target)
    slope = np.polyder(target)
    for _ in range(3):
        steepness = np.polyval(slope, root)
        if steepness == 0:
            break
        root = complex(root - np.polyval(target, root) / steepness)
    return root


def _two_linear_forms(poly: Poly) -> Factors | None:
    """Split a quadratic in several variables into two linear forms, if its symmetric matrix has rank 1 or 2."""
    present = P.variables_of(poly)
    if P.degree(poly) != 2 or len(present) < 2:
        return None
    charge(LINES_STEPS)
    size, width = len(present) + 1, len(next(iter(poly)))
    matrix = np.zeros((size, size))
    for monomial, value in poly.items():
        places = [p + 1 for p, index in enumerate(present) for _ in range(monomial[index])]
        row, column = [0, 0, *places][-2:]
        matrix[row, column] += value / 2.0
        matrix[column, row] += value / 2.0
    eigenvalues, vectors = np.linalg.eigh(matrix)
    top = np.max(np.abs(eigenvalues))
    significant = [i for i in range(size) if abs(eigenvalues[i]) > accuracy(10.0) * top]
    if len(significant) == 1:
        return [(_linear(vectors[:, significant[0]], present, width), 2)]
    if len(significant) != 2 or eigenvalues[significant[0]] * eigenvalues[significant[1]] >= 0.0:
        return None
    first, second = (np.sqrt(abs(eigenvalues[i])) * vectors[:, i] for i in significant)
    return [
        (_linear(first + second, present, width), 1),
        (_linear(first - second, present, width), 1),
    ]


def _linear(vector: np.ndarray, present: list[int], width: int) -> Poly:
    top = np.max(np.abs(vector))
    poly: Poly = {}
    for place, value in enumerate(vector):
        if abs(value) > accuracy(10.0) * top:
            poly[P.power_of(present[place - 1], width, 1 if place else 0)] = float(value)
    return poly if P.is_constant(poly) else P.monic(poly)[1]


def separates(poly: Poly, index: int) -> bool:
    """Return whether a variable appears only linearly, with a number as its coefficient."""
    parts = P.coefficients_in(poly, index)
    return set(parts) <= {0, 1} and 1 in parts and P.is_constant(parts[1])
