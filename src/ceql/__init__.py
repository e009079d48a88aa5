"""ceql finds formulas in data; it can handle poles, logarithms, square roots and resonances."""

import gc as _gc
import logging as _logging  # noqa: F401 - see below
import os as _os
import sys as _sys
from collections.abc import Iterator as _Iterator
from contextlib import contextmanager as _contextmanager
from contextlib import nullcontext as _nullcontext
from importlib import import_module
from importlib.metadata import PackageNotFoundError as _NotInstalled
from importlib.metadata import version as _version
from threading import RLock as _RLock
from types import ModuleType as _Module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ceql import operators
    from ceql.constraints import Constraints
    from ceql.data.dataset import Dataset
    from ceql.discovery import Discovery, Settings
    from ceql.dynamics.estimator import ODERegressor
    from ceql.dynamics.loading import load
    from ceql.errors import CeqlError, CeqlWarning, InputError
    from ceql.estimator.regressor import CEQLRegressor
    from ceql.expression import node_count
    from ceql.formula import Formula
    from ceql.network import Network
    from ceql.pipeline import discover
    from ceql.relations.estimator import RelationFinder
    from ceql.templates import Parameter, Template, Terms, Unknown
    from ceql.training import Recipe, recipes

try:
    __version__ = _version("ceql")
except _NotInstalled:  # a source tree that was not installed
    __version__ = "0+unknown"

__all__ = [
    "CEQLRegressor",
    "CeqlError",
    "CeqlWarning",
    "Constraints",
    "Dataset",
    "Discovery",
    "Formula",
    "InputError",
    "Network",
    "ODERegressor",
    "Parameter",
    "Recipe",
    "RelationFinder",
    "Settings",
    "Template",
    "Terms",
    "Unknown",
    "__version__",
    "discover",
    "load",
    "node_count",
    "operators",
    "recipes",
]

# Where each name lives. They are imported when first used: SymPy, pandas and scikit-learn take a second to load,
# which `ceql --help` and a process that only reads the version should not pay.
_HOMES = {
    "CEQLRegressor": "ceql.estimator.regressor",
    "CeqlError": "ceql.errors",
    "CeqlWarning": "ceql.errors",
    "Constraints": "ceql.constraints",
    "Dataset": "ceql.data",
    "Discovery": "ceql.discovery",
    "Formula": "ceql.formula",
    "InputError": "ceql.errors",
    "Network": "ceql.network",
    "ODERegressor": "ceql.dynamics.estimator",
    "Parameter": "ceql.templates",
    "Recipe": "ceql.training",
    "RelationFinder": "ceql.relations.estimator",
    "Settings": "ceql.discovery",
    "Template": "ceql.templates",
    "Terms": "ceql.templates",
    "Unknown": "ceql.templates",
    "discover": "ceql.pipeline",
    "load": "ceql.dynamics.loading",
    "node_count": "ceql.expression",
    "recipes": "ceql.training",
}


# A process that is forked while another thread imports would wait forever for the lock of a module that it does not
# import itself. So a fork waits until the import is done. Handlers run in reverse order of registration; logging, whose
# lock an import may need, is therefore imported (and registered) first.
_importing = _RLock()
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(
        before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release
    )


def __getattr__(name: str) -> object:
    if name != "operators" and name not in _HOMES:
        raise AttributeError(f"module 'ceql' has no attribute {name!r}")
    if name == "operators":
        return _brought("ceql.operators")
    return getattr(_brought(_HOMES[name]), name)


def _brought(module: str) -> _Module:
    """Imports and returns the module; no process is forked meanwhile."""
    with _importing, _nullcontext() if module in _sys.modules else _without_collecting():
        return import_module(module)


@_contextmanager
def _without_collecting() -> _Iterator[None]:
    """Turns off garbage collection during an import, which saves an eighth of the time.

    An import makes hundreds of thousands of objects that stay. They are moved to the oldest generation at the end, so
    that only a full collection visits them.
    """
    collects = _gc.isenabled()
    _gc.disable()
    try:
        yield
    finally:
        if collects:
            if not _gc.get_freeze_count():  # otherwise keep what was frozen elsewhere
                _gc.freeze()
                _gc.unfreeze()
            _gc.enable()


def __dir__() -> list[str]:
    return sorted(__all__)
