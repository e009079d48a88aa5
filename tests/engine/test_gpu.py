"""The GPU's kernel compiles, and its fits agree with the CPU's within rounding."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ceql.engine import fit, gpu
from ceql.errors import CeqlError
from ceql.network import Network
from ceql.network.libraries import search_network
from ceql.network.recording import DomainPenalty, network_tape
from ceql.network.sampling import Stream, draw
from ceql.operators.tape import TapeBuilder

needs_gpu = pytest.mark.skipif(not gpu.is_available(), reason="no NVIDIA GPU, or CuPy is not installed")


def random_starts(count=96, seed=3, n_inputs=2, samples=150, single=False):
    rng = np.random.default_rng(seed)
    network = search_network(n_inputs, None)
    masks = network.smoothing_mask(draw(network, count, Stream(0))).astype(np.uint8)
    x = rng.uniform(-2, 2, (samples, n_inputs))
    y = (0.5 - 3 * x[:, 0]) / (2.3 * x[:, -1] + 5.8)
    data = fit.Samples.of(x, y, rng.uniform(0.5, 2, samples), single_precision=single)
    penalties = fit.Penalties(np.where(network.is_imaginary, 1e-4, 0.0), lasso=1e-3, aux=1e-2)
    return network_tape(network), data, rng.normal(0, 0.7, masks.shape), masks, penalties


def close_share(a, b, tolerance):
    """The share of entries that agree; a fit that goes through chaos may part from its twin by rounding alone."""
    return np.mean(np.isclose(a, b, rtol=tolerance, atol=1e-300, equal_nan=True))


# ---- without a GPU


def test_the_sources_are_gathered_into_one_text():
    text = gpu.kernel_source()
    assert '#include "' not in text
    for name in ("lane_exp", "after_success", "mark_live", "shared_memory"):
        assert name in text


@pytest.mark.parametrize("single", [False, True])
def test_the_kernel_compiles(single):
    """To PTX only: the machine code takes the better part of a minute."""
    nvrtc = pytest.importorskip("cupy", reason="NVRTC comes with CuPy, which is not installed").cuda.nvrtc
    program = nvrtc.createProgram(gpu.kernel_source(), "kernels.cu", (), ())
    nvrtc.compileProgram(program, (*gpu.compile_options(single), "-arch=compute_80"))
    assert "fit" in str(nvrtc.getPTX(program))


@pytest.mark.skipif(gpu.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_error_says_what_to_do():
    with pytest.raises(CeqlError, match=r"ceql\[gpu\]|NVIDIA GPU"):
        gpu.require()


# ---- with one


@needs_gpu
@pytest.mark.parametrize("samples", [5, 64, 150, 1000])
def test_one_step_of_adam_agrees(samples):
    tape, data, params, masks, penalties = random_starts(samples=samples)
    ours, theirs = (engine.adam(tape, data, params, masks, fit.Adam(1, 0.1), penalties) for engine in (gpu, fit))
    finite = np.isfinite(theirs.objective)
    assert np.array_equal(finite, np.isfinite(ours.objective))
    # Adam divides a gradient by its own size, so tiny ones are a matter of rounding.
    assert close_share(ours.moments[finite], theirs.moments[finite], 1e-9) > 0.999
    assert close_share(ours.objective[finite], theirs.objective[finite], 1e-9) > 0.98


@needs_gpu
def test_a_whole_run_of_adam_agrees():
    tape, data, params, masks, penalties = random_starts()
    options = fit.Adam(60, 0.02, patience=7, threshold=1e-3, keep_best=True)
    ours, theirs = (engine.adam(tape, data, params, masks, options, penalties) for engine in (gpu, fit))
    assert np.array_equal(ours.iterations, theirs.iterations)
    assert close_share(ours.objective, theirs.objective, 1e-6) > 0.9
    assert close_share(ours.state, theirs.state, 1e-6) > 0.9


@needs_gpu
def test_adam_can_be_cut_in_pieces():
    tape, data, params, masks, penalties = random_starts(32)
    whole = gpu.adam(tape, data, params, masks, fit.Adam(40, 0.05), penalties)
    piece = gpu.adam(tape, data, params, masks, fit.Adam(15, 0.05), penalties)
    rest = gpu.adam(tape, data, piece.params, masks, fit.Adam(25, 0.05), penalties, resume=piece)
    assert close_share(whole.objective, rest.objective, 1e-9) == 1.0


@needs_gpu
@pytest.mark.parametrize("penalty", DomainPenalty)
def test_levenberg_agrees(penalty):
    tape, data, params, masks, penalties = random_starts()
    tape = network_tape(search_network(2, None), penalty)
    for iterations, share in [(1, 0.98), (3, 0.95), (20, 0.8)]:
        options = fit.Levenberg(iterations)
        ours, theirs = (engine.levenberg(tape, data, params, masks, options, penalties) for engine in (gpu, fit))
        assert np.array_equal(np.isfinite(ours.objective), np.isfinite(theirs.objective))
        assert close_share(ours.objective, theirs.objective, 1e-6) > share, iterations
        assert np.mean(ours.status == theirs.status) > share


@needs_gpu
@pytest.mark.parametrize("penalty", DomainPenalty)
def test_separable_least_squares_agree(penalty):
    _, data, params, masks, penalties = random_starts()
    network = search_network(2, None)
    tape, on_the_axis = network_tape(network, penalty), np.where(network.is_imaginary, 0, masks)
    for live in (masks, on_the_axis):
        for iterations, share in [(0, 0.98), (1, 0.98), (3, 0.95), (20, 0.8)]:
            options = fit.Levenberg(iterations, separable=True)
            ours, theirs = (engine.levenberg(tape, data, params, live, options, penalties) for engine in (gpu, fit))
            assert np.array_equal(np.isfinite(ours.objective), np.isfinite(theirs.objective))
            assert close_share(ours.objective, theirs.objective, 1e-6) > share, iterations
            assert np.mean(ours.status == theirs.status) > share


@needs_gpu
@pytest.mark.parametrize("n", [7, 128, 500])
def test_separable_least_squares_keep_digits_that_the_normal_equations_lose(n):
    rng = np.random.default_rng(n)
    x, y, weight = rng.normal(size=(n, 3)), rng.normal(size=n), rng.uniform(0.1, 2, n)
    x[:, 2] = x[:, 0] + 1e-7 * x[:, 2]
    builder = TapeBuilder(3)
    tape = builder.finish(builder.linear([(k, builder.parameter(), 2.0) for k in range(3)] + [(0, -1, 0.5)]))
    samples, options = fit.Samples.of(x, y, weight), fit.Levenberg(10, separable=True)
    ours, theirs = (engine.levenberg(tape, samples, np.zeros(3), None, options) for engine in (gpu, fit))
    assert np.allclose(ours.params, theirs.params, rtol=1e-6)
    assert ours.status[0] == fit.Status.CONVERGED


@needs_gpu
def test_a_column_that_others_hold_already_gets_no_weight_here_either():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2))
    x = np.column_stack([x, x[:, 0] - 2 * x[:, 1], np.zeros(50)])
    builder = TapeBuilder(4)
    weights, rate = [builder.parameter() for _ in range(5)], builder.parameter(0.0, 0.6)
    growth = builder.operator("exp", builder.linear([(0, rate, 1.0)]))
    tape = builder.finish(builder.linear([(k, weights[k], 1.0) for k in range(4)] + [(growth, weights[4], 1.0)]))
    samples = fit.Samples.of(x, x[:, 0] + x[:, 1] + 0.5 * np.exp(0.7 * x[:, 0]))
    penalties, options = fit.Penalties(ridge=np.full(6, 1e-3)), fit.Levenberg(60, separable=True)
    begin = np.array([0, 0, 0, 0, 0, 0.2])
    for given in (fit.Penalties(), penalties):
        ours, theirs = (engine.levenberg(tape, samples, begin, None, options, given) for engine in (gpu, fit))
        assert np.allclose(ours.params, theirs.params, atol=1e-8)
        assert ours.params[0, 5] == 0.6
    ours = gpu.levenberg(tape, samples, begin, None, options)
    assert ours.params[0, 2:4].tolist() == [0.0, 0.0]


@needs_gpu
def test_single_precision_agrees_to_its_own_accuracy():
    tape, data, params, masks, penalties = random_starts(single=True)
    # Solved weights are ill-conditioned there: the core's own are as far from those in double precision.
    kinds = [(fit.Adam(1, 0.1), 0.95), (fit.Levenberg(1), 0.95), (fit.Levenberg(1, separable=True), 0.85)]
    for options, share in kinds:
        name = type(options).__name__.lower()
        ours, theirs = (getattr(e, name)(tape, data, params, masks, options, penalties) for e in (gpu, fit))
        assert close_share(ours.objective, theirs.objective, 1e-3) > share


@needs_gpu
def test_a_dense_network_with_more_parameters_than_threads():
    rng = np.random.default_rng(1)
    network = Network(1, ({"square": 2, "mul": 2}, {"log": 2, "sqrt": 2, "div": 2}), bias=True)
    params = rng.uniform(-0.5, 0.5, (8, network.n_params))
    assert network.n_params > 64
    x = rng.uniform(-2, 2, (128, 1))
    data, tape = fit.Samples.of(x, (0.5 - 3 * x[:, 0]) / (2.3 * x[:, 0] + 6.8)), network_tape(network)
    penalties = fit.Penalties(np.full(network.n_params, 1e-3), aux=1e-2)
    for iterations, separable in [(1, False), (4, False), (1, True), (4, True)]:
        options = fit.Levenberg(iterations, separable=separable)
        ours, theirs = (engine.levenberg(tape, data, params, None, options, penalties) for engine in (gpu, fit))
        assert np.allclose(ours.objective, theirs.objective, rtol=1e-6)
    ours, theirs = (engine.adam(tape, data, params, None, fit.Adam(5, 1e-2), penalties) for engine in (gpu, fit))
    assert np.allclose(ours.objective, theirs.objective, rtol=1e-9)


@needs_gpu
def test_bounds_are_respected_and_reached():
    builder = TapeBuilder(1)
    p, q = builder.parameter(-1.0, 1.0), builder.parameter(0.5, 2.0)
    tape = builder.finish(builder.linear([(0, p, 1.0), (builder.one, q, 1.0)]))
    x = np.linspace(-1, 1, 50)
    for slope, offset, corner in [(5, -3, (1, 0.5)), (-4, 9, (-1, 2)), (0.3, 1.7, (0.3, 1.7))]:
        samples = fit.Samples.of(x[:, None], slope * x + offset)
        result = gpu.levenberg(tape, samples, np.array([0.2, 1.0]), None, fit.Levenberg(100))
        assert np.allclose(result.params[0], corner, atol=1e-8)


@needs_gpu
def test_a_parameter_on_several_edges():
    """p x + p^2-like coupling: the same parameter in two sums and twice in one."""
    builder = TapeBuilder(1)
    p, q = builder.parameter(), builder.parameter()
    inner = builder.operator("exp", builder.linear([(0, p, 0.5), (builder.one, q, 1.0)]))
    tape = builder.finish(builder.linear([(inner, p, 1.0), (0, p, -0.3), (0, q, 1.0)]))
    x = np.linspace(-1, 1, 40)[:, None]
    y = fit.values(tape, fit.Samples.of(x, np.zeros(40)), np.array([0.8, -0.4]))[0]
    data = fit.Samples.of(x, y)
    ours, theirs = (
        engine.levenberg(tape, data, np.array([0.5, 0.1]), None, fit.Levenberg(50)) for engine in (gpu, fit)
    )
    assert np.allclose(ours.params, theirs.params, rtol=1e-8)
    assert ours.misfit[0] < 1e-24
    ours, theirs = (engine.adam(tape, data, np.array([0.5, 0.1]), None, fit.Adam(30, 0.05)) for engine in (gpu, fit))
    assert np.allclose(ours.params, theirs.params, rtol=1e-9)


@needs_gpu
def test_a_time_limit_and_a_flag_stop_the_fits():
    tape, data, params, masks, penalties = random_starts(2048, samples=2000)
    begin = time.monotonic()
    result = gpu.adam(tape, data, params, masks, fit.Adam(10**7, 1e-3), penalties, time_limit=0.3)
    assert time.monotonic() - begin < 5.0
    assert np.all(np.isin(result.status, [fit.Status.STOPPED, fit.Status.NOT_FINITE]))
    flag = fit.StopFlag()
    flag.set()
    for separable in (False, True):
        options = fit.Levenberg(10**6, separable=separable)
        result = gpu.levenberg(tape, data, params, masks, options, penalties, stop=flag)
        assert np.mean(result.status == fit.Status.STOPPED) > 0.5
