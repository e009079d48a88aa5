"""What a run ran on and with: the machine and the versions of the libraries."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

from ceql.bench.methods import Adapter

_LIBRARIES = ("ceql", "numpy", "scipy", "sympy", "scikit-learn")


def versions(method: Adapter) -> dict[str, str]:
    """The versions of Python and of the libraries that a run depends on."""
    names = dict.fromkeys((*_LIBRARIES, *method.packages))
    return {"python": platform.python_version(), **{n: v for n in names if (v := _version(n))}}


@cache
def machine() -> str:
    """System, processor, cores and memory in one line; never the machine's name."""
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
