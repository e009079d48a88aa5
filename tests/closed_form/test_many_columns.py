"""Closed forms of many columns: a bounded number of terms is laid out, and the right ones are among them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from ceql.closed_form import images, noisy_forms, product, sparse_sum
from ceql.formula import make_symbols

FUNCTIONS = ("sqrt", "log", "sin", "cos", "exp")
MOST = 200 * 2**20  # bytes
COLUMNS = 60
SYMBOLS = make_symbols(tuple(f"x{k}" for k in range(COLUMNS)))


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).uniform(0.5, 3.0, (150, COLUMNS))


def peak_of(step: Callable, *arguments) -> tuple[object, int]:
    tracemalloc.start()
    try:
        found = step(*arguments)
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("step", [product, sparse_sum, noisy_forms])
def test_no_step_lays_out_more_than_fits(step, table):
    _, peak = peak_of(step, table, np.random.default_rng(1).uniform(1, 2, len(table)), SYMBOLS, FUNCTIONS)
    assert peak < MOST


def test_a_sum_with_functions_is_found_among_many_columns(table):
    found = sparse_sum(table, 2.0 * table[:, 7] * np.sin(table[:, 41]) - table[:, 3], SYMBOLS, FUNCTIONS)
    assert {symbol.name for symbol in found.free_symbols} == {"x3", "x7", "x41"}


def test_a_product_with_a_difference_is_found_among_many_columns(table):
    found = product(table, 2.0 * table[:, 5] / (table[:, 7] - table[:, 41]), SYMBOLS, FUNCTIONS)
    assert {symbol.name for symbol in found.free_symbols} == {"x5", "x7", "x41"}


@pytest.mark.parametrize("shift", [0.0, -1.75], ids=["of one sign", "of both signs"])
def test_a_product_of_two_of_many_columns_is_proposed_in_noise(table, shift):
    x = table + shift
    y = 1.5 * x[:, 11] * x[:, 52] + 0.05 * np.random.default_rng(2).normal(size=len(x))
    factors = SYMBOLS[11] * SYMBOLS[52]
    assert any((expression / factors).is_number for expression in noisy_forms(x, y, SYMBOLS, FUNCTIONS))


def test_no_functions_stand_in_for_many_columns(table):
    assert list(images(table, SYMBOLS, table, SYMBOLS, FUNCTIONS)) == []
    few = table[:, :3], SYMBOLS[:3]
    assert len(list(images(*few, *few, ("sin", "cos")))) == 6
