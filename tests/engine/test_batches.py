"""A start's result depends on nothing but itself, and a long run can be ended: by a flag, by time, by Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from ceql.engine import fit
from ceql.network import Network
from ceql.network.recording import network_tape
from ceql.network.sampling import Stream, draw

NETWORK = Network(2, ({"square": 1, "mul": 1, "div": 2, "log": 1, "sqrt": 1, "sin": 1},) * 2, skip="all", bias=True)
TAPE = network_tape(NETWORK)
FOREVER = 10**9
HANG = 2.0  # seconds; what should take a twentieth of that has hung


def batch(starts: int, n: int = 150) -> tuple[fit.Samples, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (n, 2))
    samples = fit.Samples.of(x, x[:, 0] / (x[:, 1] ** 2 + 1))
    masks = NETWORK.smoothing_mask(draw(NETWORK, starts, Stream(0))).astype(np.uint8)
    return samples, rng.normal(0, 0.7, (starts, NETWORK.n_params)), masks


CALLS = {
    "values": lambda s, p, m, **run: {"values": fit.values(TAPE, s, p, m, **run)},
    "objective": lambda s, p, m, **run: vars(fit.objective(TAPE, s, p, m, fit.Penalties(aux=0.1), **run)),
    "gradient": lambda s, p, m, **run: vars(fit.gradient(TAPE, s, p, m, fit.Penalties(lasso=0.1), **run)),
    "adam": lambda s, p, m, **run: vars(fit.adam(TAPE, s, p, m, fit.Adam(30, 1e-2), **run)),
    "levenberg": lambda s, p, m, **run: vars(fit.levenberg(TAPE, s, p, m, fit.Levenberg(10), **run)),
}


def assert_same(left: dict, right: dict) -> None:
    for name, value in left.items():
        if value is not None:
            assert np.array_equal(value, right[name], equal_nan=True), name


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("threads", [2, 3, 64])
def test_threads_change_nothing(call, threads):
    samples, params, masks = batch(20)
    assert_same(CALLS[call](samples, params, masks), CALLS[call](samples, params, masks, threads=threads))


@pytest.mark.parametrize("call", CALLS)
def test_the_order_of_a_batch_changes_nothing(call):
    samples, params, masks = batch(20)
    order = np.random.default_rng(1).permutation(20)
    whole, shuffled = CALLS[call](samples, params, masks), CALLS[call](samples, params[order], masks[order])
    assert_same({name: value[order] for name, value in whole.items() if value is not None}, shuffled)


@pytest.mark.parametrize("call", CALLS)
def test_the_size_of_a_batch_changes_nothing(call):
    samples, params, masks = batch(20)
    whole = CALLS[call](samples, params, masks)
    for k in (0, 7, 19):
        alone = CALLS[call](samples, params[k], masks[k])
        assert_same({name: value[k : k + 1] for name, value in whole.items() if value is not None}, alone)


@pytest.mark.parametrize("call", CALLS)
def test_an_empty_batch_gives_empty_results(call):
    samples, params, masks = batch(1)
    for value in CALLS[call](samples, params[:0], masks[:0]).values():
        assert value is None or len(value) == 0


@pytest.mark.parametrize("call", CALLS)
def test_arguments_are_not_changed(call):
    samples, params, masks = batch(5)
    before = params.copy(), masks.copy()
    CALLS[call](samples, params, masks)
    assert np.array_equal(params, before[0])
    assert np.array_equal(masks, before[1])


ENDLESS = {
    "adam": lambda s, p, m, **run: fit.adam(TAPE, s, p, m, fit.Adam(FOREVER, 1e-3), **run),
    "levenberg": lambda s, p, m, **run: fit.levenberg(
        TAPE, s, p, m, fit.Levenberg(FOREVER, least_reduction=-1.0), **run
    ),
}


def noisy_batch(starts: int) -> tuple[fit.Samples, np.ndarray, np.ndarray]:
    """Noise, so that a fit never gets done."""
    samples, params, masks = batch(starts)
    rng = np.random.default_rng(5)
    return fit.Samples.of(samples.x, rng.normal(size=len(samples.y))), params, masks


@pytest.mark.parametrize("threads", [1, 2])
def test_a_flag_set_from_another_thread_ends_a_run(threads):
    samples, params, masks = noisy_batch(6)
    stop = fit.StopFlag()
    timer = threading.Timer(0.1, stop.set)
    begin = time.perf_counter()
    timer.start()
    result = ENDLESS["adam"](samples, params, masks, stop=stop, threads=threads)
    assert time.perf_counter() - begin < HANG
    assert stop.is_set()
    assert np.all(np.isin(result.status, [fit.Status.STOPPED, fit.Status.NOT_FINITE]))
    assert (result.status == fit.Status.STOPPED).any()
    # a start that was under way hands back where it was, with its loss
    begun = (result.iterations > 0) & (result.status == fit.Status.STOPPED)
    assert begun.any()
    assert np.allclose(result.misfit[begun], fit.objective(TAPE, samples, result.params, masks).misfit[begun])


@pytest.mark.parametrize("call", ENDLESS)
def test_a_flag_that_is_set_already_lets_nothing_begin(call):
    samples, params, masks = batch(4)
    stop = fit.StopFlag()
    assert not stop.is_set()
    stop.set()
    result = ENDLESS[call](samples, params, masks, stop=stop)
    assert np.all(result.status == fit.Status.STOPPED)
    assert np.all(result.iterations == 0)
    assert np.array_equal(result.params, np.where(masks, params, 0.0))
    assert np.all(np.isinf(result.objective))


def test_a_time_limit_ends_a_run_and_leaves_the_flag_alone():
    samples, params, masks = noisy_batch(3)
    stop = fit.StopFlag()
    begin = time.perf_counter()
    result = ENDLESS["adam"](samples, params, masks, stop=stop, time_limit=0.05)
    assert 0.04 < time.perf_counter() - begin < HANG
    assert not stop.is_set()
    assert (result.status == fit.Status.STOPPED).any()


def test_a_time_limit_that_is_not_reached_changes_nothing():
    samples, params, masks = batch(3)
    options = fit.Adam(20, 1e-2)
    limited = fit.adam(TAPE, samples, params, masks, options, time_limit=1000.0)
    assert np.array_equal(limited.params, fit.adam(TAPE, samples, params, masks, options).params)


PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may inherit it ignored
import numpy as np
from ceql.engine import fit
from ceql.operators.tape import TapeBuilder
builder = TapeBuilder(1)
tape = builder.finish(builder.linear([(0, builder.parameter(), 1.0)]))
samples = fit.Samples.of(np.ones((100, 1)), np.zeros(100))
print("ready", flush=True)
try:
    fit.adam(tape, samples, np.ones((2, 1)), None, fit.Adam(10**12, 1e-9), threads=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_ctrl_c_ends_a_run():
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.3)
            assert child.poll() is None
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=120)
        finally:
            child.kill()
    assert out == "interrupted\n"
    assert child.returncode == 0
