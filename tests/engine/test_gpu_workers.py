"""Several GPUs, one process each: who fits which chunks where. Stand-ins take the place of the GPUs."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql import CEQLRegressor
from ceql.engine import dispatch, fit, gpu
from ceql.engine.deadline import NEVER
from ceql.engine.dispatch import Workers, fit_on_gpu, joblib_pool, resolve_device, shared_out, workforce
from ceql.engine.stages import Schedule, Work, fit_chunks, on_processor
from ceql.errors import CeqlError, InputError
from ceql.network.libraries import search_network
from ceql.network.sampling import Stream, draw

without_gpu = pytest.mark.skipif(gpu.is_available(), reason="there is a GPU")


def chunks(count: int) -> list[Work]:
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (30, 2))
    network, samples = search_network(2, ("mul", "div")), fit.Samples.of(x, x[:, 0] / (x[:, 1] + 3))
    starts = ((draw(network, 8, Stream(k)), rng.normal(0, 0.7, (8, network.n_params))) for k in range(count))
    return [Work(network, samples, Schedule(), edges, params) for edges, params in starts]


class Machine:
    """A stand-in for CuPy on a machine with GPUs; fits happen on the processor and are written down."""

    def __init__(self, monkeypatch, gpus: int) -> None:
        self.asked, self.fitted, self._thread = [], [], threading.local()
        runtime = SimpleNamespace(getDeviceCount=lambda: gpus, getDevice=lambda: self.current)
        runtime.getDeviceProperties = self.properties
        self.cuda = SimpleNamespace(runtime=runtime, Device=self.device)
        monkeypatch.setattr(gpu, "cupy", lambda: self)
        monkeypatch.setattr(gpu, "count", lambda: gpus)
        monkeypatch.setattr(gpu, "kernel_source", str)
        monkeypatch.setattr(dispatch, "fit_chunks", self.fit_chunks)
        for cached in (gpu._limits_of, gpu._kernels_of):
            cached.cache_clear()

    @property
    def current(self) -> int:
        return getattr(self._thread, "device", 0)

    @contextmanager
    def device(self, number: int):
        before, self._thread.device = self.current, number
        yield
        self._thread.device = before

    def properties(self, number: int) -> dict[str, int]:
        self.asked.append(number)
        sizes = {"sharedMemPerBlockOptin": 1000 + number, "sharedMemPerMultiprocessor": 4000}
        return {"multiProcessorCount": 10 + number, **sizes}

    def RawModule(self, **_):
        return SimpleNamespace(get_function=lambda name: SimpleNamespace(name=name))

    def fit_chunks(self, works, device, deadline=NEVER):
        assert device is gpu.Batch
        self.fitted.append((self.current, len(works), deadline))
        return fit_chunks(works, on_processor(), deadline)


_ENTERED = ExitStack()  # workers that a test has begun with


def in_this_process(count: int) -> Workers:
    """That many workers, whose tasks run here, one after the other, where the stand-in sees them."""
    return _ENTERED.enter_context(Workers(count, 1, device="gpu", make_pool=lambda *_: joblib.Parallel(n_jobs=1)))


@pytest.fixture
def machine(monkeypatch):
    yield lambda gpus: Machine(monkeypatch, gpus)
    _ENTERED.close()
    for cached in (gpu._limits_of, gpu._kernels_of):
        cached.cache_clear()


# ---- the groups


@given(st.integers(1, 60), st.integers(1, 20))
def test_chunks_are_shared_out_evenly_and_in_order(count, workers):
    groups = shared_out(list(range(count)), workers)  # type: ignore[arg-type]
    assert [chunk for group in groups for chunk in group] == list(range(count))
    assert len(groups) == min(count, workers)
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("gpus", [1, 2, 3, 8])
def test_every_group_has_a_gpu_and_the_result_is_the_same_for_any_number_of_them(machine, gpus):
    given = chunks(5)
    expected = fit_chunks(given, on_processor())
    stand_in = machine(gpus)
    fitted = in_this_process(3).fit(given)
    assert [(number, count) for number, count, _ in stand_in.fitted] == [(0, 1), (1 % gpus, 2), (2 % gpus, 2)]
    assert [chunk.params.tobytes() for chunk in fitted] == [chunk.params.tobytes() for chunk in expected]
    assert [chunk.misfit.tobytes() for chunk in fitted] == [chunk.misfit.tobytes() for chunk in expected]
    assert stand_in.current == 0


def test_a_group_is_told_the_seconds_that_are_left(machine):
    stand_in = machine(2)
    fit_on_gpu(chunks(1), 5, 7000.0)
    ((number, count, deadline),) = stand_in.fitted
    assert (number, count) == (1, 1)
    assert 6000.0 < deadline.left < 7000.0  # by the worker's clock


def test_a_whole_search_finds_the_same_on_one_gpu_and_on_three(machine):
    x = np.random.default_rng(0).uniform(-2, 2, (64, 2))
    y = 1.4 * np.log(1.2 * x[:, 0] ** 2 + 0.9 * x[:, 0] + 1) + 0.8 * x[:, 1]
    found, used = [], []
    for gpus in (1, 3):
        stand_in = machine(gpus)
        with joblib.parallel_config(backend="threading"):
            model = CEQLRegressor(operators=["square", "log"], device="gpu", n_jobs=3, time_limit=60).fit(x, y)
        found.append((model.equations_["equation"].tolist(), model.discovery_.starts))
        used.append({number for number, _, _ in stand_in.fitted})
    assert used == [{0}, {0, 1, 2}]
    assert found[0] == found[1]


# ---- what belongs to one GPU


def test_limits_and_kernels_are_those_of_the_current_gpu(machine):
    stand_in = machine(3)
    kernels = []
    for number in (0, 1, 2, 4):
        with gpu.on_device(number):
            assert gpu._limits().multiprocessors == 10 + number % 3
            kernels.append(gpu._kernels(False)[1])
    assert [kernel.max_dynamic_shared_size_bytes for kernel in kernels] == [1000, 1001, 1002, 1001]
    assert kernels[3] is kernels[1]
    assert stand_in.asked == [0, 1, 2]


# ---- who is asked for a GPU


def test_auto_with_workers_stays_on_the_processors(machine):
    machine(2)
    assert resolve_device("auto", workforce(2, 1)) == "cpu"
    assert resolve_device("auto", workforce(1, 1)) == "gpu"
    assert resolve_device("gpu", workforce(2, 1)) == "gpu"


@without_gpu
def test_this_process_needs_no_gpu_where_others_fit():
    assert resolve_device("gpu", workforce(2, 1)) == "gpu"
    with pytest.raises(CeqlError, match=r"ceql\[gpu\]|NVIDIA GPU"):
        resolve_device("gpu", workforce(1, 1))


@without_gpu
def test_workers_without_a_gpu_say_so_at_once():
    """In processes of their own, through joblib."""
    opened = []

    def counted(*given: Any) -> Any:
        opened.append(given)
        return joblib_pool(*given)

    no_gpu = pytest.raises(CeqlError, match=r"ceql\[gpu\]|NVIDIA GPU")
    with no_gpu, Workers(2, 1, device="gpu", make_pool=counted) as workers:
        workers.fit(chunks(2))
    assert len(opened) == 1


def test_our_own_sentence_is_no_loss_even_in_the_wrapping_of_a_cluster():
    wrapped = type("RayTaskError(InputError)", (InputError,), {"__module__": "ray.exceptions"})
    assert not dispatch._is_loss(wrapped("no GPU here"))
    assert dispatch._is_loss(type("RayActorError", (Exception,), {"__module__": "ray.exceptions"})("gone"))


def test_no_gpu_is_named_with_its_machine(machine, monkeypatch):
    machine(0)
    monkeypatch.setattr("platform.node", lambda: "node-17")
    with pytest.raises(InputError, match="finds none on node-17"), gpu.on_device(1):
        pass
