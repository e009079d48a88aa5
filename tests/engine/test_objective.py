"""What a start is judged by: misfit, sample weights and the three penalties, each against its own definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.engine import fit
from ceql.network import Network
from ceql.network.recording import DomainPenalty, network_tape
from ceql.operators.tape import TapeBuilder

laws = settings(derandomize=True, deadline=None, max_examples=20)
NETWORK = Network(2, (("mul", "square"), ("log", "div", "sqrt")), skip="all", bias=True)


def case(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 0.7, NETWORK.n_params), rng.uniform(-2, 2, (n, 2)), rng.normal(size=n)


@laws
@given(seed=st.integers(0, 1000), n=st.sampled_from([1, 5, 128, 129, 1000]))
def test_misfit_is_the_weighted_mean_square(seed, n):
    params, x, y = case(seed, n)
    weight = np.random.default_rng(seed).uniform(0, 2, n)
    samples, tape = fit.Samples.of(x, y, weight), network_tape(NETWORK)
    expected = np.mean(weight * (fit.values(tape, samples, params)[0] - y) ** 2)
    result = fit.objective(tape, samples, params)
    assert np.allclose(result.misfit, expected, rtol=1e-12)
    assert np.array_equal(result.objective, result.misfit)


@laws
@given(seed=st.integers(0, 1000), n=st.sampled_from([2, 65, 129, 300]))
def test_a_sample_of_weight_zero_is_as_good_as_absent(seed, n):
    params, x, y = case(seed, n)
    kept = np.random.default_rng(seed).random(n) < 0.6
    kept[0] = True
    tape = network_tape(NETWORK)
    silenced = fit.gradient(tape, fit.Samples.of(x, y, kept.astype(float)), params)
    absent = fit.gradient(tape, fit.Samples.of(x[kept], y[kept]), params)
    share = kept.mean()  # the mean is over all samples, those of weight zero included
    assert np.allclose(silenced.misfit, share * absent.misfit, rtol=1e-11)
    assert silenced.gradient is not None
    assert absent.gradient is not None
    scale = np.abs(absent.gradient).max()
    assert np.allclose(silenced.gradient, share * absent.gradient, rtol=1e-9, atol=1e-11 * scale)


def test_ridge_is_a_weight_per_parameter():
    params, x, y = case(0, 20)
    ridge = np.linspace(0, 1, NETWORK.n_params)
    result = fit.objective(network_tape(NETWORK), fit.Samples.of(x, y), params, None, fit.Penalties(ridge=ridge))
    assert np.allclose(result.objective - result.misfit, np.sum(ridge * params**2), rtol=1e-9)


def test_lasso_counts_a_complex_weight_once():
    params, x, y = case(0, 20)
    result = fit.objective(network_tape(NETWORK), fit.Samples.of(x, y), params, None, fit.Penalties(lasso=0.3))
    expected = 0.3 * np.sum(np.abs(NETWORK.complex_weights(params)))
    assert np.allclose(result.objective - result.misfit, expected, rtol=1e-9)


def test_lasso_leaves_out_what_is_switched_off():
    params, x, y = case(1, 20)
    edges = np.random.default_rng(0).random(NETWORK.n_edges) < 0.7
    mask = NETWORK.parameter_mask(edges, imaginary=False)
    result = fit.objective(network_tape(NETWORK), fit.Samples.of(x, y), params, mask, fit.Penalties(lasso=1.0))
    # a start drops what cannot reach the output, so only parameters it uses are counted
    gradient = fit.gradient(network_tape(NETWORK), fit.Samples.of(x, y), params, mask, fit.Penalties(lasso=1.0))
    assert gradient.gradient is not None
    used = gradient.gradient[0] != 0
    assert not used[~mask].any()
    assert np.allclose(result.objective - result.misfit, np.abs(params[used]).sum(), rtol=1e-9)


def test_lasso_of_a_zero_weight_has_no_slope():
    builder = TapeBuilder(1)
    tape = builder.finish(builder.linear([(0, builder.parameter(), 1.0)]))
    samples = fit.Samples.of(np.ones((4, 1)), np.zeros(4))
    gradient = fit.gradient(tape, samples, np.zeros(1), None, fit.Penalties(lasso=1.0)).gradient
    assert gradient is not None
    assert gradient[0, 0] == 0.0


def arguments_of_logs_and_roots(params: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    """By hand, for the network above."""
    weights = NETWORK.complex_weights(params)
    ones = np.ones((1, len(x)))
    nodes = np.concatenate([x.T, ones])
    sums = {(s.unit, s.position): weights[s.first : s.last] for s in NETWORK.sums}
    first = [(sums[0, 0] @ nodes).real * (sums[0, 1] @ nodes).real, (sums[1, 0] @ nodes).real ** 2]
    nodes = np.concatenate([nodes, first])
    return [sums[2, 0] @ nodes, sums[4, 0] @ nodes]


@pytest.mark.parametrize("n", [1, 7, 128, 129, 300])
def test_the_angle_penalty_is_the_mean_squared_angle(instruction_set, n):
    params, x, y = case(3, n)
    tape = network_tape(NETWORK, DomainPenalty.ANGLE)
    result = fit.objective(tape, fit.Samples.of(x, y), params, None, fit.Penalties(aux=2.0))
    expected = 2.0 * sum(np.mean(np.angle(z) ** 2) for z in arguments_of_logs_and_roots(params, x))
    assert np.allclose(result.objective - result.misfit, expected, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 7, 128, 129, 300])
def test_the_shortfall_penalty_is_the_mean_squared_distance_below_zero(instruction_set, n):
    params, x, y = case(3, n)
    tape = network_tape(NETWORK, DomainPenalty.SHORTFALL)
    result = fit.objective(tape, fit.Samples.of(x, y), params, None, fit.Penalties(aux=2.0))
    short = [np.maximum(0, -np.real(z)) for z in arguments_of_logs_and_roots(params, x)]
    assert np.allclose(result.objective - result.misfit, 2.0 * sum(np.mean(s**2) for s in short), rtol=1e-9)


def test_a_dead_logarithm_is_not_penalised():
    params, x, y = case(3, 50)
    edges = np.ones(NETWORK.n_edges, bool)
    edges[np.isin(NETWORK.edge_source, [NETWORK.node(2), NETWORK.node(4)])] = False  # nothing reads log and sqrt
    mask = NETWORK.parameter_mask(edges)
    result = fit.objective(network_tape(NETWORK), fit.Samples.of(x, y), params, mask, fit.Penalties(aux=2.0))
    assert np.array_equal(result.objective, result.misfit)


def test_positive_arguments_cost_nothing():
    network = Network(1, (("log", "sqrt"),))
    x = np.linspace(0.5, 2, 30)[:, None]
    params = np.where(network.is_imaginary, 0.0, 1.0)
    for penalty in DomainPenalty:
        tape = network_tape(network, penalty)
        result = fit.objective(tape, fit.Samples.of(x, x[:, 0]), params, None, fit.Penalties(aux=1e3))
        assert np.array_equal(result.objective, result.misfit)


def test_parameters_are_taken_at_their_bounds():
    builder = TapeBuilder(1)
    p = builder.parameter(-1.0, 1.0)
    tape = builder.finish(builder.linear([(0, p, 1.0)]))
    samples = fit.Samples.of(np.ones((3, 1)), np.zeros(3))
    assert np.array_equal(fit.values(tape, samples, np.array([[5.0], [-3.0], [0.25]]))[:, 0], [1.0, -1.0, 0.25])
