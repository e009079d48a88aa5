"""The core's own elementary functions, through one-node tapes, against NumPy over wide ranges."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.engine import fit
from ceql.operators import functions
from ceql.operators.tape import TapeBuilder

PRECISIONS = {"float64": False, "float32": True}
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}


def through_the_core(name: str, *columns: np.ndarray, single: bool = False) -> np.ndarray:
    builder = TapeBuilder(len(columns))
    tape = builder.finish(builder.operator(name, *range(len(columns))))
    samples = fit.Samples.of(np.column_stack(columns), np.zeros(len(columns[0])), single_precision=single)
    return fit.values(tape, samples, np.zeros((1, 0)))[0]


def spread(precision: str, low: float, high: float, seed: int = 0, n: int = 4000) -> np.ndarray:
    """Magnitudes from 10^low to 10^high, both signs, exact in the precision asked for."""
    rng = np.random.default_rng(seed)
    return exact(precision, rng.choice([-1.0, 1.0], n) * 10 ** rng.uniform(low, high, n))


def even(precision: str, low: float, high: float, n: int = 4000) -> np.ndarray:
    return exact(precision, np.linspace(low, high, n))


def exact(precision: str, x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32).astype(float) if PRECISIONS[precision] else x


def check(precision: str, name: str, expected: np.ndarray, *columns: np.ndarray, relative=0.0, absolute=0.0):
    """Tolerances are in units of the precision's epsilon."""
    got = through_the_core(name, *columns, single=PRECISIONS[precision])
    epsilon = EPSILON[precision]
    assert np.all(np.abs(got - expected) <= epsilon * (relative * np.abs(expected) + absolute))


DECADES = {"float64": 300, "float32": 30}
EXPONENTS = {"float64": 700, "float32": 86}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_exp(instruction_set, precision):
    x = even(precision, -EXPONENTS[precision], EXPONENTS[precision])
    check(precision, "exp", np.exp(x), x, relative=3)
    x = spread(precision, -20, 0)
    check(precision, "exp", np.exp(x), x, relative=3)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_log(instruction_set, precision):
    x = spread(precision, -DECADES[precision], DECADES[precision])
    check(precision, "log", np.log(np.abs(x)), x, relative=4)
    near_one = exact(precision, 1 + spread(precision, -6, -1))
    check(precision, "log", np.log(near_one), near_one, relative=6)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_log_of_a_complex_number(instruction_set, precision):
    a, b = (spread(precision, -8, 8, seed) for seed in (1, 2))
    check(precision, "log", np.real(np.log(a + 1j * b)), a, b, relative=4, absolute=8)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_sqrt(instruction_set, precision):
    x = np.abs(spread(precision, -DECADES[precision], DECADES[precision]))
    check(precision, "sqrt", np.sqrt(x), x, relative=1)
    check(precision, "sqrt", np.zeros_like(x), -x)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_sqrt_of_a_complex_number(instruction_set, precision):
    a, b = (spread(precision, -8, 8, seed) for seed in (3, 4))
    root = np.sqrt(a + 1j * b)
    check(precision, "sqrt", np.real(root), a, b, relative=8)
    check(precision, "sqrt_im", np.imag(root), a, b, relative=8)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("reach", [0.1, 10.0, 1e3])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine(instruction_set, name, reach, precision):
    x = even(precision, -reach, reach)
    check(precision, name, getattr(np, name)(x), x, absolute=2)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_of_large_numbers(instruction_set, name):
    x = even("float64", -1e6, 1e6)
    check("float64", name, getattr(np, name)(x), x, absolute=4)
    x = even("float32", -1e4, 1e4)
    check("float32", name, getattr(np, name)(x), x, absolute=30)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_tanh(instruction_set, precision):
    x = spread(precision, -8, 2)
    check(precision, "tanh", np.tanh(x), x, absolute=2)
    assert np.all(np.abs(through_the_core("tanh", x)) <= 1)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_sinh_and_cosh(instruction_set, precision):
    x = spread(precision, -8, 1.8)
    check(precision, "sinh", np.sinh(x), x, relative=70)  # of the exponential of a rounded number up to 63
    check(precision, "cosh", np.cosh(x), x, relative=70)
    small = spread(precision, -8, 0)
    check(precision, "sinh", np.sinh(small), small, relative=4)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_arc_functions(instruction_set, precision):
    x = spread(precision, -8, 8)
    check(precision, "atan", np.arctan(x), x, relative=4)
    inside = even(precision, -1, 1)
    check(precision, "asin", np.arcsin(inside), inside, absolute=8)
    check(precision, "acos", np.arccos(inside), inside, absolute=8)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_arc_functions_of_a_complex_number(instruction_set, precision):
    a, b = (spread(precision, -3, 3, seed) for seed in (13, 14))
    check(precision, "asin", np.real(np.arcsin(a + 1j * b)), a, b, absolute=8)
    check(precision, "acos", np.real(np.arccos(a + 1j * b)), a, b, absolute=8)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_cbrt(instruction_set, precision):
    x = spread(precision, -8, 8)
    check(precision, "cbrt", np.cbrt(x), x, relative=6)
    assert np.array_equal(through_the_core("cbrt", np.zeros(2)), np.zeros(2))
    assert np.all(np.isfinite(through_the_core("cbrt", np.array([1e200, -1e300]))))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_tan(instruction_set, precision):
    x = even(precision, -1.5, 1.5)
    check(precision, "tan", np.tan(x), x, relative=60)  # a digit and more is lost near the pole
    a, b = even(precision, -9, 9), spread(precision, -3, 2)
    z = a + 1j * np.clip(b, -300, 300)
    check(precision, "tan", np.real(np.tan(z)), a, z.imag, relative=60, absolute=60)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_angle(instruction_set, precision):
    a, b = (spread(precision, -15, 15, seed) for seed in (5, 6))
    check(precision, "angle", np.arctan2(b, a), a, b, relative=4)


def test_angle_on_the_axes(instruction_set):
    a, b = np.array([1.0, 0.0, -1.0, 0.0, 0.0, 2.0, -2.0]), np.array([0.0, 1.0, 0.0, -1.0, 0.0, 2.0, -2.0])
    check("float64", "angle", np.arctan2(b, a), a, b, absolute=2)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_pow(instruction_set, precision):
    a, b = (spread(precision, -3, 3, seed) for seed in (7, 8))
    c = even(precision, -3, 3)
    power = np.exp(c * np.log(a + 1j * b))
    # the exponent times the logarithm is rounded before exp; a value near zero is judged by the whole number
    got = through_the_core("pow", a, b, c, single=PRECISIONS[precision])
    assert np.all(np.abs(got - np.real(power)) <= 100 * EPSILON[precision] * np.abs(power))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("exponent", [-2.0, -1.0, 1.0, 2.0, 3.0, 4.0])
def test_pow_of_a_negative_number_with_a_whole_exponent(instruction_set, exponent, precision):
    a = spread(precision, -2, 2, 9)
    zero = np.zeros_like(a)
    check(precision, "pow", a**exponent, a, zero, zero + exponent, relative=100)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_products_and_quotients(instruction_set, precision):
    a, b, c = (spread(precision, -5, 5, seed) for seed in (10, 11, 12))
    check(precision, "mul", a * b, a, b, relative=1)
    check(precision, "square", a * a, a, relative=1)
    check(precision, "cube", a**3, a, relative=2)
    check(precision, "div", (a / (b + 1j * c)).real, a, b, c, relative=8)
    check(precision, "abs", np.abs(a), a)
    check(precision, "shortfall", np.maximum(0, -a), a)
    check(precision, "excess", np.maximum(0, np.abs(a) - 1), a)


def test_division_by_zero_is_infinite(instruction_set):
    one, zero = np.ones(3), np.zeros(3)
    builder = TapeBuilder(2)
    tape = builder.finish(builder.operator("div", 0, 1, None))
    values = fit.values(tape, fit.Samples.of(np.column_stack([one, zero]), zero), np.zeros((1, 0)))
    assert np.all(np.isinf(values))


@pytest.mark.parametrize("name", functions.names())
def test_nan_in_is_nan_out(name):
    assert np.all(np.isnan(through_the_core(name, np.array([np.nan, np.nan]))))


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_a_sine_stays_within_one(name):
    assert np.all(np.abs(through_the_core(name, 10.0 ** np.arange(6, 300))) <= 1)
