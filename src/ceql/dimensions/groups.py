"""Buckingham's theorem: a law whose numbers are dimensionless is a law between fewer, dimensionless groups.

y = y0 * f(g1, ..., gk), where y0 is a product of powers with the dimension of y, and the groups are dimensionless
products of powers. There are as many groups as quantities beyond the rank of their dimensions. There is a choice of the
quantities that serve as units for the others; all choices yield the same laws in different forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from ceql.dimensions.dimension import Dimension
from ceql.dimensions.elimination import coordinates
from ceql.dimensions.quantities import Dimensions, Quantity

Powers = tuple[Fraction, ...]  # of the columns, then of the constants


@dataclass(frozen=True)
class GroupPolicy:
    """Which choices of groups are tried."""

    constants: int = 3  # most named constants that take part besides the columns
    columns: int = 12  # with more columns, no groups are made
    choices: int = 6  # choices of groups that are made from the columns alone
    choices_with_constants: int = 2  # the same for each set of named constants
    sets: int = 7  # sets of constants that are used, those that lead to the fewest groups first
    most: int = 12  # most choices in all
    looked_at: int = 400  # ways of choosing the quantities to measure in that are compared
    broken: float = 2.0  # extra cost of a power that is not a whole number
    of_both_signs: float = 2.0  # factor on the cost of a power of a column with both signs


@dataclass(frozen=True)
class Groups:
    """y0 and the groups, each as powers of the columns and then of the named constants that take part."""

    scale: Powers
    groups: tuple[Powers, ...]
    constants: tuple[Quantity, ...] = ()


def groupings(
    dimensions: Dimensions,
    has_both_signs: Sequence[bool],
    has_zeros: Sequence[bool],
    policy: GroupPolicy = GroupPolicy(),
) -> list[Groups]:
    """Choices of y0 and groups, the simplest first; none if y0 cannot be formed or a dimension is unknown.

    No group divides by a column with zeros or contains a root of a column with both signs.
    """
    known = [*dimensions.columns, dimensions.target]
    if len(dimensions.columns) > policy.columns or any(quantity.dimension is None for quantity in known):
        return []
    sets = [(_group_count(dimensions, chosen), len(chosen), chosen) for chosen in _sets(dimensions, policy)]
    sets.sort(key=lambda one: one[:2])
    found: list[list[Groups]] = []
    for count, _, chosen in sets:
        choices = _choices(dimensions, chosen, has_both_signs, has_zeros, policy) if count else []
        found += [choices] if choices else []
        if len(found) == policy.sets:
            break
    return [groups for choices in found for groups in choices][: policy.most]


def _rank(vectors: Sequence[Sequence[Fraction]]) -> int:
    """The rank of vectors of small fractions, computed in floating point, which is accurate enough and much faster."""
    return int(np.linalg.matrix_rank(np.array(vectors, float))) if vectors and vectors[0] else 0


def reaches(dimensions: Dimensions, constants: Sequence[Quantity]) -> bool:
    """Whether products of powers of the columns and these constants can have the dimension of y."""
    bases = dimensions.bases
    own = [_vector(quantity, bases) for quantity in (*dimensions.columns, *constants)]
    return _rank([*own, _vector(dimensions.target, bases)]) == _rank(own)


def _sets(dimensions: Dimensions, policy: GroupPolicy) -> Iterator[tuple[Quantity, ...]]:
    """Sets of independent named constants with which y0 can be formed."""
    bases = dimensions.bases
    for size in range(policy.constants + 1):
        for chosen in combinations(dimensions.constants, size):
            vectors = [_vector(constant, bases) for constant in chosen]
            if _rank(vectors) == size and reaches(dimensions, chosen):
                yield chosen


def _group_count(dimensions: Dimensions, chosen: Sequence[Quantity]) -> int:
    bases = dimensions.bases
    vectors = [_vector(quantity, bases) for quantity in (*dimensions.columns, *chosen)]
    return len(vectors) - _rank(vectors)


def _choices(
    dimensions: Dimensions,
    chosen: tuple[Quantity, ...],
    has_both_signs: Sequence[bool],
    has_zeros: Sequence[bool],
    policy: GroupPolicy,
) -> list[Groups]:
    """Groups for several choices of the quantities that serve as units: the constants, and columns beside them."""
    bases, count = dimensions.bases, len(dimensions.columns)
    vectors = [_vector(quantity, bases) for quantity in (*dimensions.columns, *chosen)]
    others = [k for k in range(count) if any(vectors[k]) and not has_zeros[k]]
    needed = _rank(vectors) - len(chosen)
    target = _vector(dimensions.target, bases)
    found: list[tuple[float, Groups]] = []
    for tried, extra in enumerate(combinations(others, needed)):
        if tried >= policy.looked_at:
            break
        measures = [*extra, *range(count, count + len(chosen))]
        rest = [k for k in range(count) if k not in extra]
        solution = coordinates([vectors[k] for k in measures], [target, *(vectors[k] for k in rest)])
        if solution is None or _rank([vectors[k] for k in measures]) < len(measures):
            continue
        scale, *powers = (_spread(one, measures, len(vectors)) for one in solution)
        groups = tuple(
            tuple(Fraction(int(j == k)) - power for j, power in enumerate(own))
            for k, own in zip(rest, powers, strict=True)
        )
        takes_part = [any(own[k] for own in (scale, *groups)) for k in range(count, len(vectors))]
        if all(takes_part) and all(_has_values(own, has_both_signs) for own in (scale, *groups)):
            cost = sum(_cost(own, has_both_signs, policy) for own in (scale, *groups))
            found.append((cost, Groups(scale, groups, chosen)))
    found.sort(key=lambda one: one[0])
    is_single = len(vectors) - len(chosen) - needed == 1  # all choices of a single group are powers of each other
    most = 1 if is_single else policy.choices_with_constants if chosen else policy.choices
    return [groups for _, groups in found[:most]]


def _has_values(powers: Powers, has_both_signs: Sequence[bool]) -> bool:
    """Whether no root is taken of a column with both signs."""
    return all(power.denominator == 1 for power, both in zip(powers, has_both_signs, strict=False) if both)


def _cost(powers: Powers, has_both_signs: Sequence[bool], policy: GroupPolicy) -> float:
    signs = [*has_both_signs, *([False] * (len(powers) - len(has_both_signs)))]
    total = 0.0
    for power, both in zip(powers, signs, strict=True):
        total += abs(float(power)) * (policy.of_both_signs if both else 1.0)
        total += policy.broken if power.denominator > 1 else 0.0
    return total


def _spread(powers: Sequence[Fraction], places: Sequence[int], size: int) -> Powers:
    whole = [Fraction(0)] * size
    for place, power in zip(places, powers, strict=True):
        whole[place] = power
    return tuple(whole)


def _vector(quantity: Quantity, bases: Sequence[str]) -> tuple[Fraction, ...]:
    return (quantity.dimension or Dimension()).along(bases)
