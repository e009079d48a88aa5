"""Adam in the core equals Adam in NumPy, can be cut in pieces, and keeps to bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.engine import fit
from ceql.network import Network
from ceql.network.recording import network_tape
from ceql.operators.tape import TapeBuilder

NETWORK = Network(2, (("mul", "square"), ("log", "div", "sqrt")), skip="all", bias=True)
TAPE = network_tape(NETWORK)
PENALTIES = fit.Penalties(ridge=np.where(NETWORK.is_imaginary, 1e-3, 0.0), lasso=1e-4, aux=1e-2)


def case(seed: int = 0, n: int = 60, starts: int = 1) -> tuple[fit.Samples, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 2, (n, 2))
    return fit.Samples.of(x, x[:, 0] / (1 + x[:, 1])), rng.normal(0, 0.5, (starts, NETWORK.n_params))


def plain_adam(samples, params, options: fit.Adam, penalties: fit.Penalties):
    """The textbook's, with PyTorch's relative reduce-on-plateau; gives the parameters, the rate and the losses."""
    params, first, second = params.copy(), np.zeros_like(params), np.zeros_like(params)
    rate, best, bad, losses = options.rate, np.inf, 0, []
    for step in range(1, options.steps + 1):
        now = fit.gradient(TAPE, samples, params, None, penalties)
        assert now.gradient is not None
        slope, loss = now.gradient[0], now.objective[0]
        losses.append(loss)
        first = options.beta1 * first + (1 - options.beta1) * slope
        second = options.beta2 * second + (1 - options.beta2) * slope**2
        unbiased = first / (1 - options.beta1**step), second / (1 - options.beta2**step)
        params = params - rate * unbiased[0] / (np.sqrt(unbiased[1]) + options.epsilon)
        if options.patience and loss < best * (1 - options.threshold):
            best, bad = loss, 0
        elif options.patience:
            bad += 1
            if bad > options.patience:
                rate, bad = max(rate * options.factor, options.minimum_rate), 0
    return params, rate, losses


OPTIONS = {
    "plain": fit.Adam(120, 1e-2),
    "other moments": fit.Adam(120, 3e-2, beta1=0.8, beta2=0.95, epsilon=1e-4),
    "plateau": fit.Adam(200, 0.3, patience=5, factor=0.5, minimum_rate=1e-2, threshold=1e-3),
}


@pytest.mark.parametrize("which", OPTIONS)
def test_steps_equal_a_plain_adam(instruction_set, which):
    samples, params = case()
    options = OPTIONS[which]
    result = fit.adam(TAPE, samples, params, None, options, PENALTIES)
    expected, rate, _ = plain_adam(samples, params[0], options, PENALTIES)
    assert np.allclose(result.params[0], expected, rtol=1e-10, atol=1e-10)
    assert result.status[0] == fit.Status.RAN_OUT
    assert result.iterations[0] == options.steps
    assert result.state is not None
    assert np.isclose(result.state[0, 1], rate, rtol=1e-14)
    now = fit.objective(TAPE, samples, result.params, None, PENALTIES)
    assert np.allclose(result.objective, now.objective, rtol=1e-12)
    assert np.allclose(result.misfit, now.misfit, rtol=1e-12)


def test_a_plateau_lowers_the_rate_down_to_its_minimum():
    samples, params = case()
    options = fit.Adam(3000, 0.5, patience=3, factor=0.1, minimum_rate=1e-3, threshold=0.5)
    state = fit.adam(TAPE, samples, params, None, options, PENALTIES).state
    assert state is not None
    assert state[0, 1] == 1e-3


@pytest.mark.parametrize("which", OPTIONS)
@pytest.mark.parametrize("pieces", [(1, 1, 38), (20, 20), (39, 1)])
def test_a_run_cut_in_pieces_equals_the_uncut_one(which, pieces):
    samples, params = case(starts=3)
    whole = fit.adam(TAPE, samples, params, None, replace(OPTIONS[which], steps=40), PENALTIES)
    state, resumed = None, params
    for steps in pieces:
        options = replace(OPTIONS[which], steps=steps)
        state = fit.adam(TAPE, samples, resumed, None, options, PENALTIES, resume=state)
        resumed = state.params
    for name in ("params", "moments", "state", "objective"):
        assert np.array_equal(getattr(state, name), getattr(whole, name)), name


def test_a_mask_holds_parameters_at_zero():
    samples, params = case()
    mask = np.random.default_rng(1).random(params.shape) < 0.6
    result = fit.adam(TAPE, samples, params, mask, fit.Adam(30, 1e-2), PENALTIES)
    assert np.all(result.params[~mask] == 0)
    assert result.moments is not None
    assert np.all(result.moments[0].reshape(2, -1)[:, ~mask[0]] == 0)
    assert np.any(result.params[mask] != params[mask])


def test_keep_best_gives_back_the_best_point_met():
    samples, params = case()
    options = fit.Adam(60, 0.8, keep_best=True)  # a rate that overshoots
    result = fit.adam(TAPE, samples, params, None, options, PENALTIES)
    losses = plain_adam(samples, params[0], options, PENALTIES)[2]
    assert result.objective[0] <= min(losses) * (1 + 1e-9)
    last = fit.adam(TAPE, samples, params, None, fit.Adam(60, 0.8), PENALTIES)
    assert result.objective[0] < last.objective[0]


def bounded_tape():
    """p * x + q with p in [-1, 1] and q in [0.5, 2]."""
    builder = TapeBuilder(1)
    p, q = builder.parameter(-1.0, 1.0), builder.parameter(0.5, 2.0)
    return builder.finish(builder.linear([(0, p, 1.0), (builder.one, q, 1.0)]))


@pytest.mark.parametrize(("slope", "offset", "corner"), [(5.0, -3.0, (1.0, 0.5)), (-4.0, 9.0, (-1.0, 2.0))])
def test_bounds_are_respected(slope, offset, corner):
    x = np.linspace(-1, 1, 50)
    samples = fit.Samples.of(x[:, None], slope * x + offset)
    for steps in (1, 10, 500):
        params = fit.adam(bounded_tape(), samples, np.zeros(2), None, fit.Adam(steps, 0.1)).params[0]
        assert -1 <= params[0] <= 1
        assert 0.5 <= params[1] <= 2
    assert np.allclose(params, corner)


def test_no_steps_change_nothing():
    samples, params = case()
    result = fit.adam(TAPE, samples, params, None, fit.Adam(0, 1e-2), PENALTIES)
    assert np.array_equal(result.params, params)
    assert result.iterations[0] == 0


def test_a_loss_that_is_not_finite_ends_the_start():
    builder = TapeBuilder(1)
    tape = builder.finish(builder.operator("div", 0, builder.linear([(0, builder.parameter(), 1.0)]), None))
    samples = fit.Samples.of(np.zeros((5, 1)), np.ones(5))  # 0 / 0
    result = fit.adam(tape, samples, np.ones(1), None, fit.Adam(50, 1e-2))
    assert result.status[0] == fit.Status.NOT_FINITE
    assert result.iterations[0] == 0
    assert not np.isfinite(result.objective[0])


def test_single_precision_descends_as_well():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2, (300, 2))
    samples = fit.Samples.of(x, x[:, 0] / (1 + x[:, 1]), single_precision=True)
    params = rng.normal(0, 0.3, NETWORK.n_params)
    before = fit.objective(TAPE, samples, params).objective
    assert fit.adam(TAPE, samples, params, None, fit.Adam(200, 1e-2)).objective < 0.1 * before
