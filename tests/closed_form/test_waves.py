"""Standing and travelling waves over two columns are found without a search, and nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ceql.closed_form import wave
from ceql.expression import compile_numpy

U, V, W = SYMBOLS = sympy.symbols("u v w", real=True)
cos, sin = sympy.cos, sympy.sin

SLOW = [
    sin(1.5 * U) * cos(0.5 * V),
    3 - 2 * cos(1.3 * U) * cos(2 * V),
    0.7 * sin(3 * U - 2 * V + 0.4) + 1,
    sin(3 * U - 2 * V + 0.4) + 0.3 * cos(3 * U + 2 * V),
]
FAST = [2 - 2.1 * cos(9.8 * U) * sin(1.3 * W), sin(7 * V + 0.31 * W + 1)]


def found(truth, x: np.ndarray):
    return wave(x, compile_numpy(truth, SYMBOLS)(x), SYMBOLS)


def assert_same(formula, truth, x: np.ndarray) -> None:
    np.testing.assert_allclose(compile_numpy(formula, SYMBOLS)(x), compile_numpy(truth, SYMBOLS)(x), atol=1e-8)


@pytest.mark.parametrize("truth", SLOW)
def test_slow_waves_in_few_rows(truth):
    rng = np.random.default_rng(1)
    formula = found(truth, rng.uniform(0, 1, (24, 3)))
    assert_same(formula, truth, rng.uniform(-2, 2, (50, 3)))


@pytest.mark.parametrize("truth", FAST)
def test_fast_waves_far_apart(truth):
    rng = np.random.default_rng(2)
    formula = found(truth, rng.uniform(-50, 50, (120, 3)))
    assert_same(formula, truth, rng.uniform(-60, 60, (50, 3)))


def test_a_wave_is_written_in_its_shortest_way():
    x = np.random.default_rng(3).uniform(0, 2, (60, 3))
    assert len(found(0.7 * sin(3 * U - 2 * V + 0.4), x).atoms(sympy.sin, sympy.cos)) == 1
    product = found(sin(1.5 * U) * cos(0.5 * V), x)
    assert product.is_Mul
    assert len(product.atoms(sympy.sin)) == len(product.atoms(sympy.cos)) == 1


@pytest.mark.parametrize(
    "truth", [sympy.exp(U * V), U * V, sin(3 * U * V), sin(2 * U) + sin(3 * V), sympy.Float(1.0) + U]
)
def test_what_is_no_wave_is_refused(truth):
    assert found(truth, np.random.default_rng(4).uniform(0, 1, (60, 3))) is None


def test_noise_is_refused():
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 1, (100, 2))
    y = np.sin(3 * x[:, 0]) * np.cos(2 * x[:, 1]) + 1e-4 * rng.normal(size=100)
    assert wave(x, y, SYMBOLS[:2]) is None


def test_few_rows_prove_nothing():
    x = np.random.default_rng(6).uniform(0, 1, (12, 3))
    assert found(SLOW[0], x) is None
