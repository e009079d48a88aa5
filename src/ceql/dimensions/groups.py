"""Buckingham's theorem: a law between quantities whose numbers have no dimension is one between fewer groups without.

y = y0 * f(g1, ..., gk), where y0 is a product of powers with the dimension of y and the groups are such products
without any. There are as many groups as quantities beyond the rank of their dimensions, and which quantities the others
are measured in can be chosen: every choice gives the same laws in another form.
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
    """Which choices are tried."""

    constants: int = 3  # Beside the columns at most this many constants by name take part,
    columns: int = 12  # and of more columns than this no groups are made.
    choices: int = 6  # Of groups of the columns so many choices are made,
    choices_with_constants: int = 2  # with constants by name so many,
    sets: int = 7  # for so many sets of constants, those that lead to the fewest groups first,
    most: int = 12  # and no more than these in all.
    looked_at: int = 400  # So many ways to choose the quantities to measure in are compared.
    broken: float = 2.0  # A power that is no whole number counts as so much more,
    of_both_signs: float = 2.0  # one of a column with both signs too.


@dataclass(frozen=True)
class Groups:
    """y0 and the groups, each as powers of the columns and then of the constants that take part."""

    scale: Powers
    groups: tuple[Powers, ...]
    constants: tuple[Quantity, ...] = ()


def groupings(
    dimensions: Dimensions,
    has_both_signs: Sequence[bool],
    has_zeros: Sequence[bool],
    policy: GroupPolicy = GroupPolicy(),
) -> list[Groups]:
    """Choices of y0 and groups, the simplest first; none where y cannot be made of what there is, or where a dimension
    is not known.

    Nothing is divided by a column that has zeros, and no root is taken of one with both signs.
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
    """Of small fractions, for which decimals do and are far quicker."""
    return int(np.linalg.matrix_rank(np.array(vectors, float))) if vectors and vectors[0] else 0


def reaches(dimensions: Dimensions, constants: Sequence[Quantity]) -> bool:
    """Whether y can be made of the columns and these constants."""
    bases = dimensions.bases
    own = [_vector(quantity, bases) for quantity in (*dimensions.columns, *constants)]
    return _rank([*own, _vector(dimensions.target, bases)]) == _rank(own)


def _sets(dimensions: Dimensions, policy: GroupPolicy) -> Iterator[tuple[Quantity, ...]]:
    """Sets of constants with which y can be made; in each one every constant is needed to measure something in."""
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
    """Groups for several choices of the quantities to measure in: the constants, and columns beside them."""
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
