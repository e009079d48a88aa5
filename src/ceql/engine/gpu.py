"""Fits on an NVIDIA GPU: the core's own headers, compiled at run time by NVRTC through CuPy, with one warp per start.

A batch of starts stays on the device between the stages of a schedule, and several stages share one launch. CuPy is
imported only when a GPU is requested.
"""

from __future__ import annotations

import platform
import re
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ceql import _core
from ceql.engine.fit import Adam, Fits, Levenberg, Penalties, Samples, Stage, StopFlag, _batch, default_threads
from ceql.engine.gpu_structs import PROBLEM, fill, in_units, places, ridges_of, stage_table, together
from ceql.errors import InputError, missing_extra
from ceql.operators.tape import Tape

_SAMPLES_PER_THREAD = 4  # tiles of 128 samples; the fastest choice on an H200
_WARP = 32
_RESERVED = 1024  # bytes of shared memory that CUDA reserves per block
_MOST_BLOCKS = {False: 8, True: 12}  # per multiprocessor, by single precision; more would compete for instructions
_STREAMS = 6  # a GPU serves eight at once, and one must stay free to tell the kernels to stop
_MOST_ROWS_AT_ONCE = 65_535  # most blocks of the launch that unpacks parameters
_ROWS_A_THREAD = 512  # rows of parameters packed per thread, since starting a thread takes time
_POLL = 1 / 16  # pause between two checks of a launch, as a share of the time that it has taken so far
_SHORTEST_POLL, _LONGEST_POLL = 3e-4, 5e-3  # limits on that pause, in seconds


@dataclass(frozen=True, eq=False)
class DeviceFits:
    """The same as `Fits`, with arrays on the device."""

    params: Any
    objective: Any
    misfit: Any
    status: Any
    iterations: Any
    moments: Any
    state: Any

    def on_host(self) -> Fits:
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return Fits(**{name: array if array is None else array.get() for name, array in arrays.items()})  # type: ignore[arg-type]


# ---- the compiled module -------------------------------------------------------------------------------------------


def _source_folder() -> Path:
    """Return the folder of the core's headers: next to `src` in a checkout, next to the extension if installed."""
    checkout = Path(__file__).parents[3] / "core"
    return checkout if (checkout / "gpu").is_dir() else Path(_core.__file__).parent / "core"


def kernel_source() -> str:
    """Return all headers as one text, so that CuPy's cache of compiled modules notices every change."""
    seen: set[Path] = set()

    def expanded(path: Path) -> str:
        if path in seen:
            return ""
        text = path.read_text(encoding="utf-8")
        if "#pragma once\n" in text:  # the table of operators is meant to be included repeatedly
            seen.add(path)
            text = text.replace("#pragma once\n", "")
        return re.sub(r'#include "([^"]+)"', lambda found: expanded((path.parent / found[1]).resolve()), text)

    folder = _source_folder().resolve()
    # The prelude is included by a name relative to the core.
    text = expanded(folder / "gpu" / "kernels.cu")
    return re.sub(r"#include <\w+>\n", "", text)


def compile_options(single_precision: bool) -> tuple[str, ...]:
    number = "float" if single_precision else "double"
    # A search does not need the last two bits of a float, and exact division is slow.
    quick = ("-prec-div=false", "-prec-sqrt=false") if single_precision else ()
    return (
        "-std=c++17",
        "-default-device",  # the headers have no CUDA annotations
        "-ftz=true",  # denormal numbers are zero, as on the CPU
        "-DCEQL_ISA=gpu",
        f"-DCEQL_NUMBER={number}",
        f"-DCEQL_SAMPLES_PER_THREAD={_SAMPLES_PER_THREAD}",
        f"-DCEQL_BLOCKS={_MOST_BLOCKS[single_precision]}",
        *quick,
    )


@cache
def cupy() -> Any:
    """Import and return CuPy; raise an error that says how to install it if it is missing."""
    if find_spec("cupy") is None:
        raise missing_extra("CuPy", "gpu", 'device="gpu"')
    return import_module("cupy")


@cache
def count() -> int:
    """Return the number of GPUs that CuPy sees on this machine; 0 if it is not installed."""
    if find_spec("cupy") is None:
        return 0
    runtime = cupy().cuda.runtime
    try:
        return int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError:
        return 0


def is_available() -> bool:
    """Return whether CuPy is installed and sees a GPU."""
    return count() > 0


def require() -> None:
    cupy()
    if not is_available():
        raise InputError(
            f'device="gpu" needs an NVIDIA GPU and its driver; CuPy finds none on {platform.node() or "this machine"}. '
            'device="cpu" always works.'
        )


@contextmanager
def on_device(number: int) -> Iterator[None]:
    """Make this GPU the current one within the block; numbers beyond the last GPU wrap around.

    Arrays, streams and events belong to the GPU they were made on, so a `Batch` may only be used inside the block.
    """
    require()
    with cupy().cuda.Device(number % count()):
        yield


def _current_device() -> int:
    return int(cupy().cuda.runtime.getDevice())


def _kernels(single_precision: bool) -> tuple[Any, Any, Any]:
    return _kernels_of(_current_device(), single_precision)


@cache
def _kernels_of(device: int, single_precision: bool) -> tuple[Any, Any, Any]:
    """Return the kernels `plan`, `fit` and `unpack` of a GPU, which must be the current one."""
    options = compile_options(single_precision)
    module = cupy().RawModule(code=kernel_source(), options=options, backend="nvrtc")
    fit = module.get_function("fit")
    fit.max_dynamic_shared_size_bytes = _limits_of(device).shared_per_block
    return module.get_function("plan"), fit, module.get_function("unpack")


@dataclass(frozen=True)
class _Limits:
    multiprocessors: int
    shared_per_block: int
    shared_per_multiprocessor: int


def _limits() -> _Limits:
    return _limits_of(_current_device())


@cache
def _limits_of(device: int) -> _Limits:
    found = cupy().cuda.runtime.getDeviceProperties(device)
    return _Limits(found["multiProcessorCount"], found["sharedMemPerBlockOptin"], found["sharedMemPerMultiprocessor"])


@dataclass(frozen=True, eq=False)
class _Class:
    """Starts of similar memory needs: a multiprocessor holds the same number of each at a time."""

    rows: np.ndarray
    shared: int  # bytes of shared memory that the largest start needs
    normal_size: int  # bytes for its normal equations, or for the triangles of separable least squares


@lru_cache(maxsize=32)
def _arrays_of(device: int, tape: Tape, samples: Samples) -> dict[str, Any]:
    """Return the tape and the samples on the current device; samples without weight pad the last tile."""
    cp = cupy()
    number = np.float32 if samples.single_precision else np.float64
    n = len(samples.y)
    rows = np.arange(in_units(n, _WARP * _SAMPLES_PER_THREAD))
    rows[n:] = 0
    columns = np.concatenate([np.asarray(samples.x, float).T, np.ones((1, n))])[:, rows]
    weight = np.where(np.arange(len(rows)) < n, np.asarray(samples.weight, float)[rows] / n, 0.0)
    ints = {name: np.ascontiguousarray(getattr(tape, name), np.int32) for name in ("nodes", "edges", "aux", "partner")}
    numbers = {name: np.ascontiguousarray(getattr(tape, name), float) for name in ("coefficients", "lower", "upper")}
    data = {"columns": columns, "y": np.asarray(samples.y, float)[rows], "weight": weight}
    data = {name: np.ascontiguousarray(array, number) for name, array in data.items()}
    # An empty array has no address.
    return {
        name: cp.asarray(array if array.size else np.zeros(1, array.dtype))
        for name, array in (ints | numbers | data).items()
    }


_idle_streams: dict[int, deque[Any]] = defaultdict(deque)  # by device, in sets of `_STREAMS`


@contextmanager
def _streams(count: int) -> Iterator[Sequence[Any]]:
    """Lend that many streams of the current device for exclusive use. They are kept, since making one is slow."""
    idle = _idle_streams[_current_device()]
    try:
        made = idle.pop()
    except IndexError:
        made = [cupy().cuda.Stream(non_blocking=True) for _ in range(_STREAMS)]
    try:
        yield made[:count]
    finally:
        idle.append(made)


# ---- a batch of starts -----------------------------------------------------------------------------------------------


class Batch:
    """Starts on the device. NumPy or CuPy arrays may be passed in; they are copied."""

    separates = True

    def __init__(self, tape: Tape, samples: Samples, params: Any, masks: Any, stop: StopFlag | None = None) -> None:
        self._cp, self._stop = cupy(), stop
        tape.core  # noqa: B018 - rejects a malformed tape, whose indices would be out of bounds here
        self.tape, self.samples = tape, samples
        if params.shape != masks.shape or params.shape[1] != tape.n_params:
            raise InputError("params and masks need a column per parameter and a row per start.")
        if samples.mixing is not None:
            raise InputError('Mixed samples are fitted on the processor alone; use device="cpu".')
        if samples.x.shape[1] != tape.n_inputs:
            raise InputError("The tape and the data differ in their number of inputs.")
        self.masks = self._cp.ascontiguousarray(self._cp.asarray(masks), self._cp.uint8)
        on_device = isinstance(params, self._cp.ndarray)
        self.params = self._cp.where(self.masks != 0, params, 0.0) if on_device else self._sent(params, masks)
        self.moments: Any = None
        self.state: Any = None

    def _sent(self, params: np.ndarray, masks: Any) -> Any:
        """Return the parameters on the device. Only the live ones are transferred, which are few."""
        cp, shape = self._cp, params.shape
        live = cp.asnumpy(masks)
        live = np.ascontiguousarray(live).view(np.uint8) if live.dtype == bool else np.ascontiguousarray(live, np.uint8)
        threads = min(default_threads(), -(-shape[0] // _ROWS_A_THREAD))
        values, first = _core.packed(live, np.ascontiguousarray(params, np.float64), max(1, threads))
        sent = cp.empty(shape, np.float64)
        if sent.size:
            unpack = _kernels(self.samples.single_precision)[2]
            packed = cp.asarray(values if values.size else np.zeros(1)), cp.asarray(first)
            given = (self.masks, *packed, np.int32(shape[1]), np.int32(shape[0]), sent)
            unpack((min(shape[0], _MOST_ROWS_AT_ONCE),), (_WARP,), given)
        return sent

    def __len__(self) -> int:
        return len(self.params)

    def select(self, rows: np.ndarray, masks: Any = None) -> Batch:
        """Return some of the starts with their current parameters, and with other masks if these are given."""
        cp, chosen = self._cp, copy(self)
        there = cp.asarray(rows)
        chosen.params, chosen.moments, chosen.state = self.params[there], None, None
        if masks is None:
            chosen.masks, chosen._needs = self.masks[there], self._needs[rows]
        else:
            chosen.masks = cp.ascontiguousarray(cp.asarray(masks), cp.uint8)
            chosen.params = cp.where(chosen.masks != 0, chosen.params, 0.0)
            chosen.__dict__.pop("_needs", None)
        return chosen

    def run(self, stages: Sequence[Stage], *, time_limit: float = 0.0) -> DeviceFits:
        """Run the stages on every start, with one launch per class of starts."""
        cp, count = self._cp, len(self)
        deadline = time.monotonic() + time_limit if time_limit > 0 else np.inf
        words = cp.empty((3, count), np.int64)  # the kernel writes all of them
        out = {"objective": words[0].view(np.float64), "misfit": words[1].view(np.float64), "iterations": words[2]}
        out["status"] = cp.empty(count, np.int32)
        problem = self._problem | {name: array.data.ptr for name, array in out.items()}
        problem |= {"params": self.params.data.ptr, "masks": self.masks.data.ptr}
        if self.moments is not None and self.state is not None:
            problem |= {"moments": self.moments.data.ptr, "state": self.state.data.ptr}
        if count:
            self._launch(problem, stages, deadline)
        return DeviceFits(params=self.params, moments=self.moments, state=self.state, **out)

    # ---- inputs of the kernels

    @cached_property
    def _arrays(self) -> dict[str, Any]:
        return _arrays_of(_current_device(), self.tape, self.samples)

    @cached_property
    def _problem(self) -> dict[str, int]:
        tape = self.tape
        sizes = {"n_inputs": tape.n_inputs, "n_nodes": len(tape.nodes), "n_edges": len(tape.edges)}
        sizes |= {"n_params": tape.n_params, "n_aux": len(tape.aux), "output": tape.output}
        sizes |= {"n": len(self.samples.y), "padded": self._arrays["y"].size}
        return sizes | {name: array.data.ptr for name, array in self._arrays.items()}

    # ---- launching

    @cached_property
    def _scratch_size(self) -> int:
        """Bytes of scratch memory in which one thread plans a start: enough for the whole tape."""
        tape = self.tape
        slots = tape.n_inputs + 1 + len(tape.nodes)
        size = 32 * slots + 96 * len(tape.nodes) + 80 * len(tape.edges) + 24 * tape.n_params
        return in_units(size + 2048, 256)

    @cached_property
    def _needs(self) -> np.ndarray:
        """Per start: the bytes of shared memory and the number of parameters that it needs."""
        cp, count = self._cp, len(self)
        blocks = min(count, _limits().multiprocessors * 16)
        needs, scratch = cp.empty((count, 2), np.int32), cp.empty(blocks * self._scratch_size, np.uint8)
        table = np.zeros(1, PROBLEM)
        fill(table[0], self._problem | {"masks": self.masks.data.ptr, "needs": needs.data.ptr, "count": count})
        fill(table[0], {"scratch": scratch.data.ptr, "scratch_size": self._scratch_size})
        plan, _, _ = _kernels(self.samples.single_precision)
        if count:
            plan((blocks,), (_WARP,), (cp.asarray(table.view(np.uint8)),))
        return needs.get()

    def _at_a_time(self, shared: Any) -> Any:
        """Return how many blocks that need that much shared memory fit on a multiprocessor."""
        most = _MOST_BLOCKS[self.samples.single_precision]
        return np.minimum(most, _limits().shared_per_multiprocessor // (shared + _RESERVED))

    def _classes(self) -> list[_Class]:
        (bytes_needed, n_params), limits = self._needs.T, _limits()
        if bytes_needed.max() > limits.shared_per_block:
            raise InputError(
                f"A start needs {bytes_needed.max():,} bytes of shared memory and the GPU has "
                f'{limits.shared_per_block:,} for it; use device="cpu".'
            )
        blocks = self._at_a_time(bytes_needed)
        found = []
        for number in np.unique(blocks):
            rows = np.flatnonzero(blocks == number).astype(np.int32)
            pitch = in_units(int(n_params[rows].max()) + 1, 8)
            found.append(_Class(rows, int(bytes_needed[rows].max()), in_units(8 * pitch * (2 * pitch + 1), 256)))
        return found

    def _launch(self, problem: dict[str, int], stages: Sequence[Stage], deadline: float) -> None:
        """Launch the kernel once per class. All inputs go in one transfer, as its latency outweighs its size."""
        cp, limits, classes = self._cp, _limits(), self._classes()
        blocks = [min(len(c.rows), limits.multiprocessors * self._at_a_time(c.shared)) for c in classes]
        room = [self._scratch_size + c.normal_size for c in classes]
        begins = np.cumsum([0, *(count * size for count, size in zip(blocks, room, strict=True))])
        scratch, n_params = cp.empty(int(begins[-1]), np.uint8), self.tape.n_params
        order, words = np.concatenate([c.rows for c in classes]), np.zeros(len(classes) + 1, np.int32)
        ridges, table = ridges_of(stages, n_params), np.zeros(len(classes), PROBLEM)
        parts = [stage_table(stages, 0, n_params), ridges, order, words, table]
        *firsts, size = places(parts)
        sent = cp.empty(size, np.uint8)
        of_stages, of_ridges, of_order, of_words, of_table = (sent.data.ptr + first for first in firsts)
        parts[0] = stage_table(stages, of_ridges, n_params)
        flag = of_words + len(classes) * words.itemsize  # the last word is the stop flag, the others are counters
        common = problem | {"stages": of_stages, "n_stages": len(stages), "stop": flag}
        taken = 0
        for k, (row, own) in enumerate(zip(table, classes, strict=True)):
            pointers = {"order": of_order + taken * order.itemsize, "counter": of_words + k * words.itemsize}
            pointers |= {"scratch": scratch.data.ptr + int(begins[k]), "scratch_size": self._scratch_size}
            fill(row, common | pointers | {"count": len(own.rows), "normal_size": own.normal_size})
            taken += len(own.rows)
        sent.set(together(parts))
        cp.cuda.get_current_stream().synchronize()
        _, fit, _ = _kernels(self.samples.single_precision)
        with _streams(min(len(classes), _STREAMS)) as streams:
            for k, own in enumerate(classes):
                with streams[k % len(streams)]:
                    given = (np.uintp(of_table + k * table.itemsize),)
                    fit((blocks[k],), (_WARP,), given, shared_mem=own.shared)
            self._await(streams, flag, deadline)

    def _await(self, streams: Sequence[Any], flag: int, deadline: float) -> None:
        """Wait without busy polling, and pass a request to stop on to the running kernels."""
        told, begin = False, time.monotonic()
        try:
            while not all(stream.done for stream in streams):
                if not told and (time.monotonic() > deadline or (self._stop is not None and self._stop.is_set())):
                    self._tell(flag)
                    told = True
                time.sleep(min(max(_POLL * (time.monotonic() - begin), _SHORTEST_POLL), _LONGEST_POLL))
        except BaseException:
            self._tell(flag)
            for stream in streams:
                stream.synchronize()
            raise

    def _tell(self, flag: int) -> None:
        # A copy, because a kernel might have to wait for the kernels that it is meant to stop.
        cp = self._cp
        word, messenger = cp.cuda.alloc_pinned_memory(np.dtype(np.int32).itemsize), cp.cuda.Stream(non_blocking=True)
        np.frombuffer(word, np.int32, 1)[0] = 1
        copied = cp.cuda.runtime.memcpyHostToDevice
        cp.cuda.runtime.memcpyAsync(flag, word.ptr, np.dtype(np.int32).itemsize, copied, messenger.ptr)
        messenger.synchronize()


# ---- the same interface as on the CPU --------------------------------------------------------------------------------


def adam(
    tape: Tape,
    samples: Samples,
    params: np.ndarray,
    masks: np.ndarray | None,
    options: Adam,
    penalties: Penalties = Penalties(),
    *,
    resume: Fits | None = None,
    threads: int = 1,
    stop: StopFlag | None = None,
    time_limit: float = 0.0,
) -> Fits:
    """The same as `ceql.engine.fit.adam`; `threads` is ignored."""
    masks, params = _batch(tape, masks, params)
    batch = Batch(tape, samples, params, masks, stop)
    count, cp = len(batch), cupy()
    carried = (None, None) if resume is None else (resume.moments, resume.state)
    zeros = np.zeros((count, 2 * tape.n_params)), np.zeros((count, 4))
    batch.moments, batch.state = (cp.asarray(z if c is None else c) for c, z in zip(carried, zeros, strict=True))
    return batch.run([Stage(options, penalties)], time_limit=time_limit).on_host()


def levenberg(
    tape: Tape,
    samples: Samples,
    params: np.ndarray,
    masks: np.ndarray | None,
    options: Levenberg,
    penalties: Penalties = Penalties(),
    *,
    threads: int = 1,
    stop: StopFlag | None = None,
    time_limit: float = 0.0,
) -> Fits:
    """The same as `ceql.engine.fit.levenberg`; `threads` is ignored."""
    masks, params = _batch(tape, masks, params)
    batch = Batch(tape, samples, params, masks, stop)
    return batch.run([Stage(options, penalties)], time_limit=time_limit).on_host()
