"""Levenberg-Marquardt: exact recovery, an objective that never rises, bounds, penalties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.engine import fit
from ceql.network import Network
from ceql.network.recording import DomainPenalty, network_tape
from ceql.network.sampling import Stream, draw
from ceql.operators.tape import TapeBuilder

laws = settings(derandomize=True, deadline=None, max_examples=15)


def rational_tape():
    """p x / (1 + q x^2) + r exp(s x)."""
    builder = TapeBuilder(1)
    p, q, r, s = (builder.parameter() for _ in range(4))
    square = builder.operator("square", 0)
    below = builder.linear([(builder.one, -1, 1.0), (square, q, 1.0)])
    quotient = builder.operator("div", 0, below, None)
    growth = builder.operator("exp", builder.linear([(0, s, 1.0)]))
    return builder.finish(builder.linear([(quotient, p, 1.0), (growth, r, 1.0)]))


TRUTH = np.array([2.0, 0.7, -0.5, 1.3])


@pytest.mark.parametrize("n", [4, 100, 129, 1000])
def test_exact_parameters_are_recovered(instruction_set, n):
    x = np.linspace(-2, 2, n)[:, None]
    tape = rational_tape()
    y = fit.values(tape, fit.Samples.of(x, np.zeros(n)), TRUTH)[0]
    start = TRUTH + np.array([0.3, 0.2, -0.2, -0.3])
    result = fit.levenberg(tape, fit.Samples.of(x, y), start, None, fit.Levenberg(200))
    assert np.allclose(result.params[0], TRUTH, rtol=1e-9)
    assert result.misfit[0] < 1e-24


def test_single_precision_recovers_to_its_own_accuracy(instruction_set):
    x = np.linspace(-2, 2, 200)[:, None]
    tape = rational_tape()
    y = fit.values(tape, fit.Samples.of(x, np.zeros(200)), TRUTH)[0]
    samples = fit.Samples.of(x, y, single_precision=True)
    result = fit.levenberg(tape, samples, TRUTH + 0.1, None, fit.Levenberg(100))
    assert np.allclose(result.params[0], TRUTH, rtol=1e-3)


def test_a_linear_model_gives_the_least_squares_solution():
    rng = np.random.default_rng(0)
    x, y, weight = rng.normal(size=(40, 3)), rng.normal(size=40), rng.uniform(0.1, 2, 40)
    builder = TapeBuilder(3)
    tape = builder.finish(builder.linear([(k, builder.parameter(), 1.0) for k in range(3)]))
    ridge = np.array([0.1, 0.0, 0.5])
    options, penalties = fit.Levenberg(60, least_reduction=0.0), fit.Penalties(ridge=ridge)
    result = fit.levenberg(tape, fit.Samples.of(x, y, weight), np.zeros(3), None, options, penalties)
    moment = x.T @ (weight[:, None] * x) / 40 + np.diag(ridge)
    assert np.allclose(result.params[0], np.linalg.solve(moment, x.T @ (weight * y) / 40), rtol=1e-9)


@laws
@given(seed=st.integers(0, 2**32 - 1), penalty=st.sampled_from(DomainPenalty))
def test_the_objective_never_rises(seed, penalty):
    network = Network(2, ({"square": 1, "mul": 2, "div": 2, "log": 1, "sqrt": 1, "exp": 1, "sin": 1},) * 2, "all", True)
    rng = np.random.default_rng(seed)
    edges = draw(network, 8, Stream(seed))
    masks, params = network.smoothing_mask(edges), rng.normal(0, 0.7, (8, network.n_params))
    x = rng.uniform(-2, 2, (64, 2))
    samples, tape = fit.Samples.of(x, x[:, 0] / (x[:, 1] ** 2 + 1)), network_tape(network, penalty)
    penalties = fit.Penalties(ridge=np.where(network.is_imaginary, 1e-3, 0.0), aux=1e-2)
    before = fit.objective(tape, samples, params, masks, penalties).objective
    for iterations in (1, 2, 5, 20, 60):
        result = fit.levenberg(tape, samples, params, masks, fit.Levenberg(iterations), penalties)
        finite = np.isfinite(before)
        assert np.all(result.objective[finite] <= before[finite])
        assert np.all(result.status[~finite] == fit.Status.NOT_FINITE)
        again = fit.objective(tape, samples, result.params, masks, penalties).objective
        assert np.allclose(result.objective[finite], again[finite], rtol=1e-9)
        before = result.objective


@pytest.mark.parametrize("single", [False, True])
def test_repeated_samples_change_nothing(instruction_set, single):
    # few samples are kept between the passes and many are not; penalties and the misfit are means over them
    library = {"square": 1, "mul": 2, "div": 2, "log": 1, "sqrt": 1, "exp": 1, "sin": 1}
    network = Network(2, (library,) * 2, "all", True)
    rng = np.random.default_rng(4)
    masks, params = network.smoothing_mask(draw(network, 64, Stream(4))), rng.normal(0, 0.7, (64, network.n_params))
    x = rng.uniform(-2, 2, (100, 2))
    y = x[:, 0] / (x[:, 1] ** 2 + 1)
    penalties = fit.Penalties(ridge=np.where(network.is_imaginary, 1e-3, 0.0), aux=1e-2)

    def after_two_steps(times: int) -> fit.Fits:
        samples = fit.Samples.of(np.tile(x, (times, 1)), np.tile(y, times), single_precision=single)
        return fit.levenberg(network_tape(network), samples, params, masks, fit.Levenberg(2), penalties)

    once, thrice = after_two_steps(1), after_two_steps(3)
    good = np.isfinite(once.objective)
    assert good.sum() > 32
    close = np.isclose(once.objective, thrice.objective, rtol=1e-2 if single else 1e-8)
    assert np.mean(close[good]) > (0.9 if single else 0.97)  # a step that hardly helps may be taken by one alone
    assert np.array_equal(good, np.isfinite(thrice.objective))


def test_bounds_are_respected_and_reached():
    builder = TapeBuilder(1)
    p, q = builder.parameter(-1.0, 1.0), builder.parameter(0.5, 2.0)
    tape = builder.finish(builder.linear([(0, p, 1.0), (builder.one, q, 1.0)]))
    x = np.linspace(-1, 1, 50)
    for slope, offset, corner in [(5, -3, (1, 0.5)), (-4, 9, (-1, 2)), (0.3, 1.7, (0.3, 1.7)), (5, 1, (1, 1))]:
        samples = fit.Samples.of(x[:, None], slope * x + offset)
        result = fit.levenberg(tape, samples, np.array([0.2, 1.0]), None, fit.Levenberg(100))
        assert np.allclose(result.params[0], corner, atol=1e-8)
        assert np.all(result.params[0] >= [-1, 0.5])
        assert np.all(result.params[0] <= [1, 2])


def test_a_target_ends_the_fit_early():
    x = np.linspace(-2, 2, 50)[:, None]
    tape = rational_tape()
    samples = fit.Samples.of(x, fit.values(tape, fit.Samples.of(x, np.zeros(50)), TRUTH)[0])
    loose = fit.levenberg(tape, samples, TRUTH + 0.2, None, fit.Levenberg(200, target=1e-4))
    tight = fit.levenberg(tape, samples, TRUTH + 0.2, None, fit.Levenberg(200))
    assert loose.status[0] == fit.Status.CONVERGED
    assert 1e-4 >= loose.misfit[0] > tight.misfit[0]
    assert loose.iterations[0] < tight.iterations[0]


def test_iterations_that_run_out_are_said_so():
    x = np.linspace(-2, 2, 50)[:, None]
    tape = rational_tape()
    samples = fit.Samples.of(x, np.sin(3 * x[:, 0]))
    result = fit.levenberg(tape, samples, TRUTH, None, fit.Levenberg(2))
    assert result.status[0] == fit.Status.RAN_OUT
    assert result.iterations[0] == 2


def test_the_imaginary_penalty_moves_weights_onto_the_real_axis():
    network = Network(1, (("div",),), bias=True)
    x = np.linspace(-1, 1, 60)[:, None]
    y = 1 / (x[:, 0] + 1.5)
    params = np.random.default_rng(0).normal(0, 0.7, network.n_params)
    tape, samples = network_tape(network), fit.Samples.of(x, y)
    for size in (1e-6, 1e-2, 1e2):
        penalties = fit.Penalties(ridge=np.where(network.is_imaginary, size, 0.0))
        params = fit.levenberg(tape, samples, params, None, fit.Levenberg(100), penalties).params[0]
    assert np.all(np.abs(params[network.is_imaginary]) < 1e-8)


def test_the_shortfall_penalty_takes_part_in_the_fit():
    network = Network(1, (("log",),), bias=True)
    x = np.linspace(0.1, 1, 60)[:, None]
    samples = fit.Samples.of(x, np.log(x[:, 0]))
    tape = network_tape(network, DomainPenalty.SHORTFALL)
    params = np.array([-0.5, -0.2, 0.0, 0.0, 1.0, 0.0, 0.0])  # log|-0.5 x - 0.2|: the wrong side
    mask = network.parameter_mask(np.ones(network.n_edges, bool), imaginary=False)
    result = fit.levenberg(tape, samples, params, mask, fit.Levenberg(100), fit.Penalties(aux=10.0))
    assert result.objective[0] < fit.objective(tape, samples, params, mask, fit.Penalties(aux=10.0)).objective[0]


def test_a_model_without_parameters_is_only_judged():
    builder = TapeBuilder(1)
    tape = builder.finish(builder.operator("square", 0))
    samples = fit.Samples.of(np.array([[2.0], [3.0]]), np.array([4.0, 7.0]))
    result = fit.levenberg(tape, samples, np.zeros((1, 0)), None, fit.Levenberg(10))
    assert result.misfit[0] == 2.0
    assert result.iterations[0] == 0


def test_a_parameter_without_effect_does_no_harm():
    builder = TapeBuilder(2)
    p, q = builder.parameter(), builder.parameter()
    tape = builder.finish(builder.linear([(0, p, 1.0), (1, q, 1.0)]))
    x = np.column_stack([np.linspace(-1, 1, 30), np.zeros(30)])
    result = fit.levenberg(tape, fit.Samples.of(x, 3 * x[:, 0]), np.array([0.0, 0.4]), None, fit.Levenberg(50))
    assert np.allclose(result.params[0], [3.0, 0.4])
