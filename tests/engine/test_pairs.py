"""The scan of pairs of terms says what least squares say of every pair, and finds the same whoever looks."""

from __future__ import annotations

import numpy as np
import pytest

from ceql import _core
from ceql.engine.pairs import Directions, PairRules, best_pairs

RULES = PairRules(most=12, weight=25.0, least_left=1e-3, too_much=1.01, rounding=1e-12)


def directions(rng: np.random.Generator, width: int, rows: int, terms: int, missing: bool = False) -> Directions:
    """Orthonormal for each term; of some the second is missing."""
    columns = np.linalg.qr(rng.normal(size=(terms, rows, width)))[0].transpose(2, 1, 0).copy()
    if missing and width > 1:
        columns[1, :, ::3] = 0.0
    return Directions(columns, rng.uniform(1.0, 9.0, terms), np.any(columns != 0.0, axis=1))


def explained(one: Directions, other: Directions, rest: np.ndarray, i: int, j: int) -> float:
    both = np.concatenate([one.columns[:, :, i], other.columns[:, :, j]]).T
    return float(rest @ both @ np.linalg.pinv(both) @ rest)


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    rest = rng.normal(size=rows)
    return rest / np.linalg.norm(rest)


@pytest.mark.parametrize("isa", _core.instruction_sets())
@pytest.mark.parametrize(("width", "other_width"), [(1, 1), (2, 1), (2, 2), (3, 2), (4, 1)])
@pytest.mark.parametrize(("count", "others"), [(1, 1), (7, 33), (37, 19), (90, 40)])
def test_the_best_pairs_are_those_of_least_squares(isa, width, other_width, count, others):
    rng = np.random.default_rng([width, other_width, count])
    one, other = directions(rng, width, 24, count), directions(rng, other_width, 24, others, missing=True)
    rest = unit(rng, 24)
    gains = np.array([[explained(one, other, rest, i, j) for j in range(others)] for i in range(count)])
    scores = one.prices[:, None] + other.prices + RULES.weight * np.log(1.0 - gains)
    before = _core.instruction_set()
    _core.use_instruction_set(isa)
    try:
        found = best_pairs(one, other, rest, RULES)
    finally:
        _core.use_instruction_set(before)
    places = {(i, j) for _, i, j in found}
    for gain, i, j in found:
        assert gain == pytest.approx(gains[i, j], abs=2e-5)
    for key in (-gains, scores):
        wanted = np.argsort(key, axis=None)[: RULES.most]
        assert places.issuperset((k // others, k % others) for k in wanted.tolist())


def test_a_pair_of_one_list_counts_once():
    rng = np.random.default_rng(0)
    one, rest = directions(rng, 2, 20, 45), unit(rng, 20)
    found = best_pairs(one, one, rest, RULES, ordered=True)
    assert len(found) >= RULES.most
    assert all(i < j for _, i, j in found)
    everything = PairRules(most=10**6, weight=25.0, least_left=1e-3, too_much=1.01, rounding=1e-12)
    assert len(best_pairs(one, one, rest, everything, ordered=True)) == 45 * 44 // 2
    alone = Directions(one.columns[:, :, :1], one.prices[:1], one.present[:, :1])
    assert best_pairs(alone, alone, rest, RULES, ordered=True) == []


def test_a_term_twice_explains_no_more_than_once():
    rng = np.random.default_rng(1)
    one, rest = directions(rng, 1, 20, 5), unit(rng, 20)
    everything = PairRules(most=100, weight=25.0, least_left=1e-3, too_much=1.01, rounding=1e-12)
    for gain, i, j in best_pairs(one, one, rest, everything):
        if i == j:
            assert gain == pytest.approx(float(rest @ one.columns[0, :, i]) ** 2, abs=1e-6)


def test_threads_find_the_same():
    rng = np.random.default_rng(2)
    one, other, rest = directions(rng, 2, 30, 120), directions(rng, 2, 30, 90), unit(rng, 30)
    assert best_pairs(one, other, rest, RULES, threads=3) == best_pairs(one, other, rest, RULES)


def test_a_term_that_is_not_finite_adds_nothing():
    rng = np.random.default_rng(3)
    one, other, rest = directions(rng, 1, 12, 6), directions(rng, 2, 12, 6), unit(rng, 12)
    other.columns[0, 3, 2] = np.nan
    everything = PairRules(most=100, weight=25.0, least_left=1e-3, too_much=1.01, rounding=1e-12)
    found = best_pairs(one, other, rest, everything)
    assert len(found) == 36
    for gain, i, _ in (place for place in found if place[2] == 2):
        assert gain == pytest.approx(float(rest @ one.columns[0, :, i]) ** 2, abs=1e-6)


@pytest.mark.parametrize("wrong", ["rows", "width", "prices"])
def test_sizes_that_do_not_agree_are_refused(wrong):
    rng = np.random.default_rng(4)
    one, other, rest = directions(rng, 1, 12, 6), directions(rng, 1, 12, 6), unit(rng, 12)
    match wrong:
        case "rows":
            other = directions(rng, 1, 13, 6)
        case "width":
            other = directions(rng, 3, 12, 6)
        case "prices":
            one = Directions(one.columns, one.prices[:3], one.present)
    with pytest.raises(ValueError, match=r"rows|directions|entry|matmul"):
        best_pairs(one, other, rest, RULES)
