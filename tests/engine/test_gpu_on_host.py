"""The GPU's kernels on a processor, thread by thread of a warp: what they compute is what the core computes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ceql.engine import fit, gpu
from ceql.engine.gpu_structs import PROBLEM, fill, in_units, ridges_of, stage_table
from ceql.network.libraries import search_network
from ceql.network.recording import network_tape
from ceql.network.sampling import Stream, draw
from ceql.operators.tape import Tape, TapeBuilder

COMPILER = shutil.which("g++")
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or COMPILER is None, reason="needs g++ and the fibers of Linux"
)
FORWARDS, BACKWARDS = 1, -1


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """In double precision, compiled for this processor."""
    folder = tmp_path_factory.mktemp("kernels")
    prelude = (Path(__file__).parents[2] / "core" / "gpu" / "prelude.cuh").read_text().replace("#pragma once\n", "")
    source = gpu.kernel_source()
    assert prelude in source  # which stands for the headers that the host has
    (folder / "kernels.inc").write_text(source.replace(prelude, ""))
    library, host = folder / "kernels.so", Path(__file__).with_name("warp_on_host.cpp")
    defined = [option for option in gpu.compile_options(False) if option.startswith("-D")]
    options = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-I", str(folder), *defined]
    subprocess.run([str(COMPILER), *options, str(host), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def fitted(kernels: ctypes.CDLL, tape: Tape, samples: fit.Samples, params, masks, stage: fit.Stage, direction: int):
    """One stage on every start."""
    masks = np.ones(params.shape, np.uint8) if masks is None else np.ascontiguousarray(masks, np.uint8)
    n, count, padded = len(samples.y), len(params), in_units(len(samples.y), 128)
    rows = np.where(np.arange(padded) < n, np.arange(padded), 0)
    arrays: dict[str, Any] = {
        name: np.ascontiguousarray(getattr(tape, name), np.int32) for name in ("nodes", "edges", "aux", "partner")
    }
    arrays |= {name: np.ascontiguousarray(getattr(tape, name), float) for name in ("coefficients", "lower", "upper")}
    arrays["columns"] = np.ascontiguousarray(np.concatenate([samples.x.T, np.ones((1, n))])[:, rows])
    arrays["y"], arrays["weight"] = samples.y[rows], np.where(np.arange(padded) < n, samples.weight[rows] / n, 0.0)
    out = {"objective": np.empty(count), "misfit": np.empty(count), "status": np.empty(count, np.int32)}
    out["iterations"], out["params"] = np.empty(count, np.int64), np.where(masks != 0, params, 0.0)
    arrays |= out | {"masks": masks, "needs": np.empty((count, 2), np.int32)}
    arrays |= {
        "order": np.arange(count, dtype=np.int32),
        "counter": np.zeros(1, np.int32),
        "stop": np.zeros(1, np.int32),
    }
    ridges, pitch, scratch_size = ridges_of([stage], tape.n_params), in_units(tape.n_params + 1, 8), 2**20
    arrays["stages"] = stage_table([stage], ridges.ctypes.data, tape.n_params)
    normal_size = 8 * pitch * (2 * pitch + 1)
    arrays["scratch"] = np.full(scratch_size + normal_size, 0xFF, np.uint8)
    numbers: dict[str, int] = {
        "n_inputs": tape.n_inputs,
        "n_nodes": len(tape.nodes),
        "n_edges": len(tape.edges),
        "n": n,
    }
    numbers |= {"n_params": tape.n_params, "n_aux": len(tape.aux), "output": tape.output, "padded": padded}
    numbers |= {"count": count, "n_stages": 1, "scratch_size": scratch_size, "normal_size": normal_size}
    problem = np.zeros(1, PROBLEM)
    fill(problem[0], numbers | {name: array.ctypes.data for name, array in arrays.items()})
    kernels.run_plan(ctypes.c_void_p(problem.ctypes.data), direction)
    kernels.run_fit(ctypes.c_void_p(problem.ctypes.data), direction)
    return fit.Fits(**out)


def both_ways(kernels, tape, samples, params, masks, options, penalties=fit.Penalties()) -> tuple[fit.Fits, fit.Fits]:
    """On a warp and in the core; the order in which the threads of the warp come to run is no matter."""
    given = kernels, tape, samples, params, masks, fit.Stage(options, penalties)
    ours, again = fitted(*given, FORWARDS), fitted(*given, BACKWARDS)
    assert np.array_equal(ours.params, again.params)
    if isinstance(options, fit.Adam):
        return ours, fit.adam(tape, samples, params, masks, options, penalties)
    return ours, fit.levenberg(tape, samples, params, masks, options, penalties)


@pytest.mark.parametrize(
    "options", [fit.Adam(3, 0.02), fit.Levenberg(3), *(fit.Levenberg(k, separable=True) for k in (0, 1, 4))]
)
def test_fits_agree(kernels, options):
    rng = np.random.default_rng(3)
    network = search_network(2, None)
    masks = network.smoothing_mask(draw(network, 12, Stream(0))).astype(np.uint8)
    x = rng.uniform(-2, 2, (150, 2))
    samples = fit.Samples.of(x, (0.5 - 3 * x[:, 0]) / (2.3 * x[:, 1] + 5.8), rng.uniform(0.5, 2, 150))
    penalties = fit.Penalties(np.where(network.is_imaginary, 1e-4, 0.0), lasso=1e-3, aux=1e-2)
    params = rng.normal(0, 0.7, masks.shape)
    ours, theirs = both_ways(kernels, network_tape(network), samples, params, masks, options, penalties)
    assert np.allclose(ours.objective, theirs.objective, rtol=1e-6)
    assert np.allclose(ours.misfit, theirs.misfit, rtol=1e-6)
    assert np.array_equal(ours.status, theirs.status)
    assert np.array_equal(ours.iterations, theirs.iterations)


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_separable_least_squares_with_bounds_and_columns_that_others_hold(kernels, ridge):
    x = np.random.default_rng(0).normal(size=(50, 2))
    x = np.column_stack([x, x[:, 0] - 2 * x[:, 1], np.zeros(50)])
    builder = TapeBuilder(4)
    weights, rate = [builder.parameter() for _ in range(5)], builder.parameter(0.0, 0.6)
    growth = builder.operator("exp", builder.linear([(0, rate, 1.0)]))
    tape = builder.finish(builder.linear([(k, weights[k], 1.0) for k in range(4)] + [(growth, weights[4], 1.0)]))
    samples = fit.Samples.of(x, x[:, 0] + x[:, 1] + 0.5 * np.exp(0.7 * x[:, 0]))
    options, begin = fit.Levenberg(60, separable=True), np.array([[0, 0, 0, 0, 0, 0.2]])
    ours, theirs = both_ways(kernels, tape, samples, begin, None, options, fit.Penalties(ridge=np.full(6, ridge)))
    assert np.allclose(ours.params, theirs.params, atol=1e-9)
    assert ours.params[0, 5] == 0.6
    assert ridge or ours.params[0, 2:4].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n", [7, 300])
def test_separable_least_squares_keep_digits_that_the_normal_equations_lose(kernels, n):
    rng = np.random.default_rng(n)
    x, y, weight = rng.normal(size=(n, 3)), rng.normal(size=n), rng.uniform(0.1, 2, n)
    x[:, 2] = x[:, 0] + 1e-7 * x[:, 2]
    builder = TapeBuilder(3)
    tape = builder.finish(builder.linear([(k, builder.parameter(), 2.0) for k in range(3)] + [(0, -1, 0.5)]))
    samples, options = fit.Samples.of(x, y, weight), fit.Levenberg(10, separable=True)
    ours, theirs = both_ways(kernels, tape, samples, np.zeros((1, 3)), None, options)
    assert np.allclose(ours.params, theirs.params, rtol=1e-6)
    assert ours.status[0] == fit.Status.CONVERGED
