"""Gradient and Jacobian equal differences of the value, and the complex step where a formula is analytic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ceql.engine import fit
from ceql.network import Network
from ceql.network.recording import DomainPenalty, network_tape
from ceql.operators import functions
from ceql.operators.tape import OPCODES, Tape, TapeBuilder

# Each operator as an analytic formula of its slots, where the first is positive and the second not zero.
ANALYTIC = {
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "mul": lambda a, b: a * b,
    "div": lambda a, b, c: a * b / (b**2 + c**2),
    "log": lambda a, b: np.log(a**2 + b**2) / 2,
    "sqrt": lambda a, b: np.sqrt((np.sqrt(a**2 + b**2) + a) / 2),
    "sqrt_im": lambda a, b: b / np.sqrt(2 * (np.sqrt(a**2 + b**2) + a)),
    "exp": np.exp,
    "sin": lambda a, b: np.sin(a) * np.exp(-(b**2) / 2),
    "cos": lambda a, b: np.cos(a) * np.exp(-(b**2) / 2),
    "tan": lambda a, b: np.sin(a) * np.cos(a) / (np.cos(a) ** 2 + np.sinh(b) ** 2),
    "asin": lambda a, b: np.pi / 2 - _arc_cosine(a, b),
    "acos": lambda a, b: _arc_cosine(a, b),
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "cbrt": lambda a, b: a * (a**2 + b**2) ** (-1 / 3),
    "abs": lambda a: a,
    "pow": lambda a, b, c: np.exp(c * np.log(a**2 + b**2) / 2) * np.cos(c * np.arctan(b / a)),
    "angle": lambda a, b: np.arctan(b / a),
    "shortfall": lambda a: 0 * a,
    "excess": lambda a: a - 1,
}


def _arc_cosine(a, b):
    """Re acos(a + ib) through the distances from 1 and -1; the angle itself is analytic in a and b."""
    focus = np.sqrt((a + 1) ** 2 + b**2) - np.sqrt((a - 1) ** 2 + b**2)
    return np.arctan(np.sqrt(4 - focus**2) / focus)


ON_THE_REAL_AXIS = {
    "div": lambda a, b: a / b,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "cbrt": lambda a: np.exp(np.log(a) / 3),
    "pow": lambda a, c: np.exp(c * np.log(a)),
    "angle": lambda a: 0 * a,
}
BELOW_ZERO = {
    "abs": lambda a: -a,
    "shortfall": lambda a: -a,
    "excess": lambda a: -a - 1,
    "log": lambda a: np.log(-a),
    "sqrt": lambda a: 0 * a,
    "cbrt": lambda a: -np.exp(np.log(-a) / 3),
}
PRECISIONS = {"float64": (False, 1e-12), "float32": (True, 3e-5)}


def sums_into(name: str, arguments: int, missing: int | None = None) -> Tape:
    """One operator on sums p*x + q, one sum per argument."""
    builder = TapeBuilder(1)
    sums = []
    for _ in range(arguments):
        slope, offset = builder.parameter(), builder.parameter()
        sums.append(builder.linear([(0, slope, 1.0), (builder.one, offset, 1.0)]))
    if missing is not None:
        sums.insert(missing, None)
    return builder.finish(builder.operator(name, *sums))


def check_complex_step(tape: Tape, formula, params: np.ndarray, x: np.ndarray, single: bool, tolerance: float):
    def value(p: np.ndarray) -> np.ndarray:
        return formula(*(p[k] * x + p[k + 1] for k in range(0, len(p), 2))) + 0 * x

    step = 1e-200j * np.eye(len(params))
    expected = np.column_stack([np.imag(value(params + row)) * 1e200 for row in step])
    samples = fit.Samples.of(x[:, None], np.zeros(len(x)), single_precision=single)
    values, jacobian = fit.jacobian(tape, samples, params)
    assert np.allclose(values, value(params), rtol=tolerance, atol=tolerance)
    assert np.allclose(jacobian, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(initial=1.0))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ANALYTIC)
def test_jacobian_equals_the_complex_step(instruction_set, name, precision):
    formula = ANALYTIC[name]
    pairs = {*ON_THE_REAL_AXIS, "sqrt_im", "asin", "acos"}
    arguments = {"div": 3, "pow": 3, "mul": 2}.get(name, 2 if name in pairs else 1)
    params = np.array([0.4, 1.5, -0.3, 0.9, 0.2, 0.7])[: 2 * arguments]
    x = np.linspace(-1, 1, 45)
    check_complex_step(sums_into(name, arguments), formula, params, x, *PRECISIONS[precision])


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ON_THE_REAL_AXIS)
def test_jacobian_without_an_imaginary_part(instruction_set, name, precision):
    missing = {"div": 2}.get(name, 1)
    arguments = {"div": 2, "pow": 2}.get(name, 1)
    params = np.array([0.4, 1.5, -0.3, 0.9])[: 2 * arguments]
    tape = sums_into(name, arguments, missing)
    check_complex_step(tape, ON_THE_REAL_AXIS[name], params, np.linspace(-1, 1, 45), *PRECISIONS[precision])


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("name", "formula"), [("asin", np.arcsin), ("acos", np.arccos)])
def test_jacobian_of_an_arc_sine_on_the_real_axis(instruction_set, name, formula, precision):
    tape = sums_into(name, 1, 1)
    check_complex_step(tape, formula, np.array([0.4, 0.3]), np.linspace(-1, 1, 45), *PRECISIONS[precision])


@pytest.mark.parametrize("name", ["asin", "acos"])
def test_an_arc_sine_is_flat_outside_its_domain(instruction_set, name):
    tape, x = sums_into(name, 1, 1), np.array([1.5, 4.0, -1.5, -4.0])
    values, jacobian = fit.jacobian(tape, fit.Samples.of(x[:, None], 0 * x), np.array([1.0, 0.0]))
    end = np.pi / 2 * np.sign(x)
    assert np.allclose(values, end if name == "asin" else np.pi / 2 - end)
    assert np.all(jacobian == 0)


@pytest.mark.parametrize("name", BELOW_ZERO)
def test_jacobian_of_a_negative_argument(instruction_set, name):
    tape = sums_into(name, 1, 1 if name in ON_THE_REAL_AXIS else None)
    check_complex_step(tape, BELOW_ZERO[name], np.array([0.4, -1.5]), np.linspace(-1, 1, 45), False, 1e-12)


def test_the_formulas_above_cover_every_operator():
    assert set(ANALYTIC) | {"linear"} == set(OPCODES)


@pytest.mark.parametrize("name", ["log", "sqrt", "sqrt_im", "pow", "angle"])
@pytest.mark.parametrize("sign", [1, -1])
def test_jacobian_left_of_the_branch_point(instruction_set, name, sign):
    tape = sums_into(name, 3 if name == "pow" else 2)
    params = np.array([0.3, -1.0, 0.2, sign * 0.8, 0.1, 1.3])[: 6 if name == "pow" else 4]
    x = np.linspace(-1, 1, 33)
    samples = fit.Samples.of(x[:, None], np.zeros(len(x)))
    jacobian = fit.jacobian(tape, samples, params)[1]
    assert np.allclose(jacobian, differences(tape, samples, params), rtol=1e-7, atol=1e-8)


def differences(tape: Tape, samples: fit.Samples, params: np.ndarray, step: float = 1e-6) -> np.ndarray:
    above, below = (fit.values(tape, samples, params + sign * step * np.eye(len(params))) for sign in (1, -1))
    return ((above - below) / (2 * step)).T


laws = settings(
    derandomize=True,
    deadline=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SMOOTH = ("id", "const", "mul", "div", "pow", *(name for name in functions.names() if name != "abs"))


@laws
@given(
    layers=st.lists(st.lists(st.sampled_from(SMOOTH), min_size=1, max_size=3), min_size=1, max_size=2),
    seed=st.integers(0, 2**32 - 1),
    passes_complex=st.booleans(),
)
def test_jacobian_equals_differences(instruction_set, layers, seed, passes_complex):
    network = Network(2, tuple(layers), skip="all", bias=True)
    rng = np.random.default_rng(seed)
    params, x = rng.normal(0, 0.6, network.n_params), rng.uniform(-1.5, 1.5, (70, 2))
    tape, samples = network_tape(network, passes_complex=passes_complex), fit.Samples.of(x, np.zeros(70))
    jacobian = fit.jacobian(tape, samples, params)[1]
    coarse, fine = (differences(tape, samples, params, step) for step in (2e-5, 1e-5))
    noise = 1e-8 * (1 + np.abs(fit.values(tape, samples, params)[0]))[:, None] + 1e-6 * np.abs(fine)
    with np.errstate(invalid="ignore"):
        smooth = np.abs(coarse - fine) < noise  # not across a pole
    assert smooth.mean() > 0.5
    assert np.all(np.abs(jacobian - fine)[smooth] < 10 * noise[smooth])


def gradient_case(seed: int, n: int, penalty: DomainPenalty):
    network = Network(2, (("square", "mul", "tanh"), ("log", "sqrt", "sin", "div", "pow")), skip="all", bias=True)
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-2, 2, (n, 2)), rng.normal(size=n)
    params = rng.normal(0, 0.7, network.n_params)
    return network, network_tape(network, penalty), params, (x, y, rng.uniform(0.1, 2, n))


def objective_differences(tape, samples, params, mask, penalties, step=1e-5) -> np.ndarray:
    shifts = step * np.eye(len(params))
    masks = np.repeat(mask[None], len(params), axis=0)
    above, below = (
        fit.objective(tape, samples, params + sign * shifts, masks, penalties).objective for sign in (1, -1)
    )
    return (above - below) / (2 * step)


PENALTIES = {
    "none": {},
    "ridge": {"ridge": 0.3},
    "lasso": {"lasso": 0.2},
    "aux": {"aux": 0.5},
    "all": {"ridge": 0.3, "lasso": 0.2, "aux": 0.5},
}


@pytest.mark.parametrize("penalty", DomainPenalty)
@pytest.mark.parametrize("which", PENALTIES)
@pytest.mark.parametrize("n", [1, 65, 300])
def test_gradient_equals_differences_of_the_objective(instruction_set, n, which, penalty):
    network, tape, params, table = gradient_case(11, n, penalty)
    given_penalties = dict(PENALTIES[which])
    if "ridge" in given_penalties:
        given_penalties["ridge"] = given_penalties["ridge"] * np.arange(network.n_params) / network.n_params
    penalties = fit.Penalties(**given_penalties)
    mask = np.random.default_rng(5).random(network.n_params) < 0.8
    samples = fit.Samples.of(*table)
    gradient = fit.gradient(tape, samples, params, mask, penalties)
    expected = objective_differences(tape, samples, params, mask, penalties)
    assert gradient.gradient is not None
    assert np.allclose(gradient.gradient[0], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    assert np.all(gradient.gradient[0][~mask] == 0)
    assert np.array_equal(gradient.objective, fit.objective(tape, samples, params, mask, penalties).objective)


@pytest.mark.parametrize("n", [1, 257, 1000])
def test_single_precision_gradient_is_near_the_double_one(instruction_set, n):
    _, tape, params, table = gradient_case(11, n, DomainPenalty.ANGLE)
    penalties = fit.Penalties(lasso=0.1, aux=0.1)
    double, single = (
        fit.gradient(tape, fit.Samples.of(*table, single_precision=s), params, None, penalties).gradient
        for s in (False, True)
    )
    assert double is not None
    assert single is not None
    assert np.allclose(single, double, rtol=1e-3, atol=1e-4 * np.abs(double).max())


def test_gradient_is_the_jacobian_times_the_residual(instruction_set):
    _, tape, params, (x, y, weight) = gradient_case(2, 129, DomainPenalty.ANGLE)
    samples = fit.Samples.of(x, y, weight)
    values, jacobian = fit.jacobian(tape, samples, params)
    expected = 2 * jacobian.T @ (weight * (values - y)) / len(y)
    gradient = fit.gradient(tape, samples, params).gradient
    assert gradient is not None
    assert np.allclose(gradient[0], expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


def test_a_parameter_shared_by_edges_gathers_all_of_them(instruction_set):
    builder = TapeBuilder(1)
    p = builder.parameter()
    inner = builder.operator("square", builder.linear([(0, p, 2.0), (builder.one, p, -1.0)]))
    tape = builder.finish(builder.linear([(inner, p, 0.5), (0, -1, 3.0)]))
    x = np.linspace(-1, 1, 33)
    values, jacobian = fit.jacobian(tape, fit.Samples.of(x[:, None], 0 * x), np.array([0.7]))
    assert np.allclose(values, 0.5 * 0.7**3 * (2 * x - 1) ** 2 + 3 * x, rtol=1e-14)
    assert np.allclose(jacobian[:, 0], 1.5 * 0.7**2 * (2 * x - 1) ** 2, rtol=1e-13)
