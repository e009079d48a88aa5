"""Imports what a model needs. This takes half a second, so it happens when the first model is made, not on import.

Everything is imported at once, so that fits import nothing: a process that another thread forks during an import would
wait forever for the lock of a module.
"""

from __future__ import annotations

import ceql


def bring_the_library() -> None:
    ceql._brought("ceql.estimator.working")
