"""The machine and the versions of libraries that a run used, and the memory it needed.

A memory peak belongs to a process, so each measured run gets its own process.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from ceql.bench.methods import Adapter

Work = TypeVar("Work")
Result = TypeVar("Result")

_LIBRARIES = ("ceql", "numpy", "scipy", "sympy", "scikit-learn")
_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")
_KILOBYTES = {"linux": 1.0, "darwin": 1 / 1024}  # the unit in which getrusage counts, in KiB


def versions(method: Adapter) -> dict[str, str]:
    """The versions of Python and of the libraries that a run depends on."""
    names = dict.fromkeys((*_LIBRARIES, *(distribution for _, distribution in method.requires)))
    return {"python": platform.python_version(), **{n: v for n in names if (v := _version(n))}}


@cache
def machine() -> str:
    """The system, processor, cores and memory in one line; never the machine's name."""
    parts = [f"{platform.system()} {platform.machine()}", _processor(), f"{_cores()} cores", _memory()]
    return ", ".join(part for part in parts if part)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else (os.cpu_count() or 1)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, ValueError, OSError):
        return ""


class Meter:
    """Measures the memory peak since `start`. If the system cannot reset it, an earlier peak may be reported."""

    def __init__(self) -> None:
        self.before = 0.0

    def start(self) -> None:
        with suppress(OSError):
            # This resets the peak on Linux.
            _RESET.write_text("5", encoding="ascii")
        self.before = _status_mb("VmRSS") or _peak_mb()

    def read(self) -> dict[str, float]:
        peak = _peak_mb()
        return {"peak_mb": round(peak, 1), "grown_mb": round(max(0.0, peak - self.before), 1)}


def in_own_process(function: Callable[[Work], Result], work: Work, died: Callable[[Work, str], Result]) -> Result:
    """The result of `function(work)` in a new process, or of `died(work, why)` if that ends without a result."""
    # In a worker of joblib the start method is called "loky", which a child process would not know.
    if multiprocessing.get_start_method(allow_none=True) not in (None, *multiprocessing.get_all_start_methods()):
        multiprocessing.set_start_method("spawn", force=True)
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, function, work))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        process.join()
        return died(work, f"exit code {process.exitcode}")
    finally:
        process.join()
        receiver.close()


def _send(sender: Any, function: Callable[[Any], Any], work: Any) -> None:
    sender.send(function(work))
    sender.close()


def _status_mb(field: str) -> float | None:
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith(field + ":")]
    return float(sizes[0]) / 1024 if sizes else None


def _peak_mb() -> float:
    peak = _status_mb("VmHWM")
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KILOBYTES.get(sys.platform, 1.0) / 1024
