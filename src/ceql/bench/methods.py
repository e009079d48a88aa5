"""Defines a method for the benchmark: a name, its settings, and a way from data to a formula."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from ceql.bench.definitions import Problem, Variant
from ceql.bench.errors import MethodError
from ceql.bench.selections import unknown


@dataclass(frozen=True)
class Found:
    """The result of a method: a formula (a SymPy expression or its text), and optionally more about the run.

    `seconds` is the time from data to formula without `compile_seconds`, which is compilation that a second run of the
    same shape would not need; if it is None, the runner's clock counts. `extra` is saved with the settings in the
    record. `front` holds the other formulas that the method offers, and `outcome` says how it ended, if it does so.
    """

    expression: Any
    seconds: float | None = None
    compile_seconds: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)
    front: tuple[Any, ...] = ()
    outcome: str | None = None


@dataclass(frozen=True)
class Adapter:
    """A system under test; a subclass's fields are its settings. It sees data and a time limit, not the problem."""

    name: str
    # Modules that a run needs, loaded beforehand so that their time and memory are not counted.
    imports: ClassVar[tuple[str, ...]] = ()
    # False for a schedule of fixed length, to which a time limit does not apply.
    timed: ClassVar[bool] = True
    # (module that must be importable, distribution that provides it, whose version is recorded)
    requires: ClassVar[tuple[tuple[str, str], ...]] = ()

    @property
    def settings(self) -> dict[str, Any]:
        return {k: v for k, v in asdict(self).items() if k != "name"}

    def load(self) -> None:
        """Imports the modules that a run needs."""
        for module in (*self.imports, *(module for module, _ in self.requires)):
            importlib.import_module(module)

    def available(self) -> str | None:
        """None if the method can run, otherwise the command that installs what is missing."""
        missing = [dist for module, dist in self.requires if importlib.util.find_spec(module) is None]
        return f"pip install {' '.join(missing)}" if missing else None

    def told(self, problem: Problem) -> Adapter:
        """The method with additional information about a problem; by default it gets none."""
        return self

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        raise NotImplementedError


def find_method(
    name: str,
    settings: Mapping[str, Any] | None = None,
    variants: Mapping[str, Variant] | None = None,
    of_motion: bool = False,
) -> Adapter:
    """The method or variant called `name`, with some of its settings changed.

    With `of_motion`, the methods are those that find differential equations.
    """
    # Imported here: the adapters build on this module.
    from ceql.bench.baselines import METHODS, SYSTEM_METHODS

    known = SYSTEM_METHODS if of_motion else METHODS
    variant = (variants or {}).get(name)
    if variant is not None:
        base = find_method(variant.method, variant.settings, of_motion=of_motion)
        return configure(replace(base, name=name), settings or {})
    if name not in known:
        raise MethodError(unknown("method", name, [*known, *(variants or {})]))
    return configure(known[name], settings or {})


def configure(method: Any, settings: Mapping[str, Any]) -> Adapter:
    """The method with some settings changed; an unknown setting is an error."""
    allowed = [f.name for f in fields(method) if f.name != "name"]
    for key in settings:
        if key not in allowed:
            raise MethodError(unknown(f"setting of method {method.name!r},", key, allowed))
    return replace(method, **{k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()})
