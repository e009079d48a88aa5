"""Fits on an NVIDIA GPU: the core's own headers, compiled at run time by NVRTC through CuPy, a warp per start.

A batch of starts stays on the device between the stages of a schedule, and several stages are one launch. CuPy is
imported when a GPU is asked for and not before.
"""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ceql import _core
from ceql.engine.fit import Adam, Fits, Levenberg, Penalties, Samples, Stage, Status, StopFlag, _batch, default_threads
from ceql.errors import InputError, missing_extra
from ceql.operators.tape import Tape

_SAMPLES_PER_THREAD = 4  # a tile of 128 samples; the fastest on an H200
_WARP = 32
_RESERVED = 1024  # bytes of shared memory that every block costs beside its own
_MOST_BLOCKS = {False: 8, True: 12}  # on a multiprocessor, by single precision: more of them fight for instructions
_STREAMS = 6  # a GPU follows eight at once, and one must stay free to tell the kernels to stop
_MOST_ROWS_AT_ONCE = 65_535  # blocks of a launch that only moves numbers
_POLL = 5e-4  # seconds between two looks at the clock


@dataclass(frozen=True, eq=False)
class DeviceFits:
    """As `Fits`, with arrays of the device."""

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


# ---- the module ----------------------------------------------------------------------------------------------------


def _source_folder() -> Path:
    """The headers of the core: in a checkout beside `src`, in an installed package beside the extension module."""
    checkout = Path(__file__).parents[3] / "core"
    return checkout if (checkout / "gpu").is_dir() else Path(_core.__file__).parent / "core"


def kernel_source() -> str:
    """All headers in one text, so that CuPy's cache of compiled modules notices every change."""
    seen: set[Path] = set()

    def expanded(path: Path) -> str:
        if path in seen:
            return ""
        text = path.read_text(encoding="utf-8")
        if "#pragma once\n" in text:  # the table of operators is there to be included again and again
            seen.add(path)
            text = text.replace("#pragma once\n", "")
        return re.sub(r'#include "([^"]+)"', lambda found: expanded((path.parent / found[1]).resolve()), text)

    folder = _source_folder().resolve()
    # The prelude is included by a name relative to the core.
    text = expanded(folder / "gpu" / "kernels.cu")
    return re.sub(r"#include <\w+>\n", "", text)


def compile_options(single_precision: bool) -> tuple[str, ...]:
    number = "float" if single_precision else "double"
    # Two units in the last place of a float are no matter to a search, and exact division is long.
    quick = ("-prec-div=false", "-prec-sqrt=false") if single_precision else ()
    return (
        "-std=c++17",
        "-default-device",  # the headers carry no marks of CUDA
        "-ftz=true",  # as on the CPU, a denormal number is zero
        "-DCEQL_ISA=gpu",
        f"-DCEQL_NUMBER={number}",
        f"-DCEQL_SAMPLES_PER_THREAD={_SAMPLES_PER_THREAD}",
        f"-DCEQL_BLOCKS={_MOST_BLOCKS[single_precision]}",
        *quick,
    )


@cache
def cupy() -> Any:
    """CuPy, or an error that says how to install it."""
    if find_spec("cupy") is None:
        raise missing_extra("CuPy", "gpu", 'device="gpu"')
    return import_module("cupy")


@cache
def count() -> int:
    """How many GPUs of this machine CuPy sees; none if it is not installed."""
    if find_spec("cupy") is None:
        return 0
    runtime = cupy().cuda.runtime
    try:
        return int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError:
        return 0


def is_available() -> bool:
    """Whether CuPy is installed and sees a GPU."""
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
    """Within the block, arrays and kernels are those of this GPU; numbers beyond the last one begin again at the first.

    Arrays, streams and events belong to the GPU they were made on, so a `Batch` lives and ends inside the block.
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
    """To plan, to fit and to unpack. Every GPU has its own, with their attributes; `device` is the current one."""
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


# ---- structs, as in core/gpu/problem.cuh -----------------------------------------------------------------------------

_ADAM = np.dtype(
    [
        ("steps", "i8"), ("rate", "f8"), ("beta1", "f8"), ("beta2", "f8"), ("epsilon", "f8"), ("patience", "i8"),
        ("factor", "f8"), ("minimum_rate", "f8"), ("threshold", "f8"), ("keep_best", "?"),
    ],
    align=True,
)  # fmt: skip
_LEVENBERG = np.dtype(
    [("iterations", "i8"), ("damping", "f8"), ("target", "f8"), ("least_reduction", "f8"), ("separable", "?")],
    align=True,
)
_STAGE = np.dtype(
    [
        ("is_adam", "i8"), ("adam", _ADAM), ("levenberg", _LEVENBERG),
        ("ridge", "u8"), ("lasso", "f8"), ("aux", "f8"),
    ],
    align=True,
)  # fmt: skip
_PROBLEM = np.dtype(
    [(name, "i4") for name in ("n_inputs", "n_nodes", "n_edges", "n_params", "n_aux", "output")]
    + [(name, "u8") for name in ("nodes", "edges", "coefficients", "aux", "partner", "lower", "upper")]
    + [("n", "i8"), ("padded", "i8"), ("columns", "u8"), ("y", "u8"), ("weight", "u8"), ("count", "i8")]
    + [(name, "u8") for name in ("order", "masks", "params", "moments", "state", "objective", "misfit", "iterations")]
    + [(name, "u8") for name in ("status", "needs", "counter", "stop", "scratch")]
    + [("scratch_size", "i8"), ("normal_size", "i8"), ("stages", "u8"), ("n_stages", "i8")],
    align=True,
)


def _in_units(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _fill(struct: Any, numbers: dict[str, int]) -> None:
    for name, value in numbers.items():
        struct[name] = value


@dataclass(frozen=True, eq=False)
class _Class:
    """Starts that a multiprocessor holds equally many of."""

    rows: np.ndarray
    shared: int  # bytes of shared memory that the largest needs
    normal_size: int  # bytes of its normal equations, or of the triangles of separable least squares


@lru_cache(maxsize=32)
def _arrays_of(device: int, tape: Tape, samples: Samples) -> dict[str, Any]:
    """The tape and the samples on the current device, for all batches; padding repeats a sample with no weight."""
    cp = cupy()
    number = np.float32 if samples.single_precision else np.float64
    n = len(samples.y)
    rows = np.arange(_in_units(n, _WARP * _SAMPLES_PER_THREAD))
    rows[n:] = 0
    columns = np.concatenate([np.asarray(samples.x, float).T, np.ones((1, n))])[:, rows]
    weight = np.where(np.arange(len(rows)) < n, np.asarray(samples.weight, float)[rows] / n, 0.0)
    ints = {name: np.ascontiguousarray(getattr(tape, name), np.int32) for name in ("nodes", "edges", "aux", "partner")}
    numbers = {name: np.ascontiguousarray(getattr(tape, name), float) for name in ("coefficients", "lower", "upper")}
    data = {"columns": columns, "y": np.asarray(samples.y, float)[rows], "weight": weight}
    data = {name: np.ascontiguousarray(array, number) for name, array in data.items()}
    # an empty array has no address
    return {
        name: cp.asarray(array if array.size else np.zeros(1, array.dtype))
        for name, array in (ints | numbers | data).items()
    }


# ---- a batch of starts -----------------------------------------------------------------------------------------------


class Batch:
    """Starts on the device. Arrays may be handed in from the host or as CuPy arrays; they are copied."""

    separates = True

    def __init__(self, tape: Tape, samples: Samples, params: Any, masks: Any, stop: StopFlag | None = None) -> None:
        self._cp, self._stop = cupy(), stop
        tape.core  # noqa: B018 - refuses a malformed tape, whose indices would run wild here
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
        """Parameters on the device. Few of them are live, and only these travel."""
        cp, shape = self._cp, params.shape
        live = cp.asnumpy(masks)
        live = np.ascontiguousarray(live).view(np.uint8) if live.dtype == bool else np.ascontiguousarray(live, np.uint8)
        values, first = _core.packed(live, np.ascontiguousarray(params, np.float64), default_threads())
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
        """Some of the starts, from where they are now; with other masks if these are given."""
        there = self._cp.asarray(rows)
        of_masks = self.masks[there] if masks is None else masks
        chosen = Batch(self.tape, self.samples, self.params[there], of_masks, self._stop)
        if masks is None:
            chosen._needs = self._needs[rows]
        return chosen

    def run(self, stages: Sequence[Stage], *, time_limit: float = 0.0) -> DeviceFits:
        """Runs the stages on every start, in one launch per size of program."""
        cp, count = self._cp, len(self)
        deadline = time.monotonic() + time_limit if time_limit > 0 else np.inf
        out = {name: cp.full(count, np.inf) for name in ("objective", "misfit")}
        out["iterations"] = cp.zeros(count, np.int64)
        out["status"] = cp.full(count, int(Status.STOPPED), np.int32)
        table, kept = self._stages(stages)
        problem = self._problem | {name: array.data.ptr for name, array in out.items()}
        problem |= {"params": self.params.data.ptr, "masks": self.masks.data.ptr}
        problem |= {"stages": table.data.ptr, "n_stages": len(stages)}
        if self.moments is not None and self.state is not None:
            problem |= {"moments": self.moments.data.ptr, "state": self.state.data.ptr}
        if count:
            self._launch(problem, deadline)
        del kept
        return DeviceFits(params=self.params, moments=self.moments, state=self.state, **out)

    # ---- what the device is told

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

    def _stages(self, stages: Sequence[Stage]) -> tuple[Any, Any]:
        """The stages on the device, and what they point to."""
        none = np.zeros(self.tape.n_params)
        ridges = self._cp.asarray(np.array([none if s.penalties.ridge is None else s.penalties.ridge for s in stages]))
        table = np.zeros(len(stages), _STAGE)
        for k, (row, stage) in enumerate(zip(table, stages, strict=True)):
            kind = "adam" if isinstance(stage.options, Adam) else "levenberg"
            row["is_adam"] = kind == "adam"
            for field in fields(stage.options):
                row[kind][field.name] = getattr(stage.options, field.name)
            row["ridge"] = ridges.data.ptr + k * none.nbytes
            row["lasso"], row["aux"] = stage.penalties.lasso, stage.penalties.aux
        return self._cp.asarray(table.view(np.uint8)), ridges

    # ---- launching

    @cached_property
    def _scratch_size(self) -> int:
        """Bytes in which one thread draws up the plan of a start: room for the whole tape."""
        tape = self.tape
        slots = tape.n_inputs + 1 + len(tape.nodes)
        size = 32 * slots + 96 * len(tape.nodes) + 80 * len(tape.edges) + 24 * tape.n_params
        return _in_units(size + 2048, 256)

    @cached_property
    def _needs(self) -> np.ndarray:
        """Per start: bytes of shared memory, number of parameters."""
        cp, count = self._cp, len(self)
        needs, order, counter = cp.zeros((count, 2), np.int32), cp.arange(count, dtype=np.int32), cp.zeros(1, np.int32)
        blocks = min(count, _limits().multiprocessors * 16)
        scratch = cp.empty(blocks * self._scratch_size, np.uint8)
        problem = self._problem | {"masks": self.masks.data.ptr, "needs": needs.data.ptr, "order": order.data.ptr}
        problem |= {"counter": counter.data.ptr, "scratch": scratch.data.ptr, "scratch_size": self._scratch_size}
        plan, _, _ = _kernels(self.samples.single_precision)
        plan((blocks,), (_WARP,), (self._packed(problem | {"count": count}),))
        return needs.get()

    def _packed(self, problem: dict[str, int]) -> Any:
        struct = np.zeros(1, _PROBLEM)
        _fill(struct[0], problem)
        return self._cp.asarray(struct.view(np.uint8))

    def _at_a_time(self, shared: Any) -> Any:
        """How many blocks that need that much shared memory a multiprocessor holds."""
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
            pitch = _in_units(int(n_params[rows].max()) + 1, 8)
            found.append(_Class(rows, int(bytes_needed[rows].max()), _in_units(8 * pitch * (2 * pitch + 1), 256)))
        return found

    def _launch(self, problem: dict[str, int], deadline: float) -> None:
        """One launch per class. What they need travels at once: a word to the device takes longer than its numbers."""
        cp, limits, classes = self._cp, _limits(), self._classes()
        _, fit, _ = _kernels(self.samples.single_precision)
        blocks = [min(len(c.rows), limits.multiprocessors * self._at_a_time(c.shared)) for c in classes]
        room = [self._scratch_size + c.normal_size for c in classes]
        firsts = np.cumsum([0, *(len(c.rows) for c in classes)])
        begins = np.cumsum([0, *(count * size for count, size in zip(blocks, room, strict=True))])
        order, scratch = cp.asarray(np.concatenate([c.rows for c in classes])), cp.empty(int(begins[-1]), np.uint8)
        words = cp.zeros(len(classes) + 1, np.int32)  # counters, and last the wish to stop
        flag = words[-1:]
        table = np.zeros(len(classes), _PROBLEM)
        for k, (row, own) in enumerate(zip(table, classes, strict=True)):
            pointers = {"order": order.data.ptr + int(firsts[k]) * order.itemsize, "stop": flag.data.ptr}
            pointers |= {"counter": words.data.ptr + k * words.itemsize, "scratch": scratch.data.ptr + int(begins[k])}
            sizes = {"count": len(own.rows), "normal_size": own.normal_size, "scratch_size": self._scratch_size}
            _fill(row, problem | pointers | sizes)
        packed = cp.asarray(table.view(np.uint8)).reshape(len(classes), -1)
        cp.cuda.get_current_stream().synchronize()
        streams = [cp.cuda.Stream(non_blocking=True) for _ in classes[:_STREAMS]]
        for k, own in enumerate(classes):
            with streams[k % _STREAMS]:
                fit((blocks[k],), (_WARP,), (packed[k],), shared_mem=own.shared)
        done = [stream.record(cp.cuda.Event(disable_timing=True)) for stream in streams]
        self._await(done, flag, deadline)

    def _await(self, done: list[Any], flag: Any, deadline: float) -> None:
        """Waits without a spinning core; hands a wish to stop on to the running kernels."""
        messenger, stop = self._cp.cuda.Stream(non_blocking=True), self._stop
        told = False
        try:
            while not all(event.done for event in done):
                if not told and (time.monotonic() > deadline or (stop is not None and stop.is_set())):
                    self._tell(flag, messenger)
                    told = True
                time.sleep(_POLL)
        except BaseException:
            self._tell(flag, messenger)
            for event in done:
                event.synchronize()
            raise

    def _tell(self, flag: Any, messenger: Any) -> None:
        # A copy, because a kernel might have to wait for those that it is to stop.
        word = self._cp.cuda.alloc_pinned_memory(flag.nbytes)
        np.frombuffer(word, np.int32, 1)[0] = 1
        flag.data.copy_from_host_async(word.ptr, flag.nbytes, messenger)
        messenger.synchronize()


# ---- the same doors as the CPU's -------------------------------------------------------------------------------------


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
    """As `ceql.engine.fit.adam`; `threads` has no meaning here."""
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
    """As `ceql.engine.fit.levenberg`; `threads` has no meaning here."""
    masks, params = _batch(tape, masks, params)
    batch = Batch(tape, samples, params, masks, stop)
    return batch.run([Stage(options, penalties)], time_limit=time_limit).on_host()
