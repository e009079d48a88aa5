"""How much memory the machine has."""

from __future__ import annotations

import os

_UNKNOWN = 8e9  # bytes, where the system does not say


def machine_memory() -> float:
    """In bytes."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN
