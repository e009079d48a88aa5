"""Brings what a model works with: half a second of imports, with the first model and not with its class.

They all come at once, so that no fit imports anything: a process that another thread forks meanwhile would wait for
ever for the lock of a module.
"""

from __future__ import annotations

import ceql


def bring_the_library() -> None:
    ceql._brought("ceql.estimator.working")
