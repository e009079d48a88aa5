"""Which columns act together, with poles in the data too."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.sums.interactions import InteractionPolicy, interacting

POLICY = InteractionPolicy()
CASES = {
    "none": (lambda a, b, c, d: np.sin(a) + b**2 - np.exp(-c) + np.sqrt(d), set()),
    "a product": (lambda a, b, c, d: np.sin(a) * d + b**2 - c, {(0, 3)}),
    "two pairs": (lambda a, b, c, d: np.hypot(a - c, 2.0) + b * np.log(d), {(0, 2), (1, 3)}),
    "beside a pole": (lambda a, b, c, d: 0.1 / (a - 2.13) + b * c + d, {(1, 2)}),
}


def acting_together(function, rows: int = 300) -> frozenset[tuple[int, int]]:
    x = np.random.default_rng(1).uniform(0.5, 5.0, (rows, 4))
    y = function(*x.T)
    weight = 1.0 / np.hypot(y, np.median(np.abs(y)))
    return interacting(x, y * weight, np.zeros((rows, 0)), weight, POLICY)


@pytest.mark.parametrize("name", CASES)
def test_pairs_are_read_off_the_rows(name: str) -> None:
    function, expected = CASES[name]
    found = acting_together(function)
    assert found >= expected
    assert len(found) <= len(expected) + 2  # by chance, or where a product is no polynomial


def test_what_is_known_is_left_out_of_account() -> None:
    x = np.random.default_rng(1).uniform(0.5, 5.0, (300, 3))
    y = x[:, 0] * x[:, 1] + np.sin(x[:, 2])
    known = (x[:, 0] * x[:, 1])[:, None]
    assert interacting(x, y, known, np.ones(300), POLICY).isdisjoint({(0, 1)})


def test_few_rows_tell_nothing() -> None:
    assert len(acting_together(CASES["none"][0], rows=40)) == 6
