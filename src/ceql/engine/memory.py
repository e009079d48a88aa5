"""The amount of memory of this machine."""

from __future__ import annotations

import os

_UNKNOWN = 8e9  # bytes that are assumed if the system does not tell


def machine_memory() -> float:
    """Return the machine's memory in bytes."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN
