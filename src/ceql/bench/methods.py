"""What a method is to the benchmark: a name, its settings, and a way from data to a formula."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol, cast

import numpy as np

from ceql.bench.definitions import Variant
from ceql.bench.errors import MethodError
from ceql.bench.selections import unknown


@dataclass(frozen=True)
class Found:
    """What a method returns: a formula (a SymPy expression or its text) and the time it took.

    `seconds` is the time from data to formula without `compile_seconds`, which is compilation that a second
    run of the same shape would not pay. `extra` is kept with the settings in the record. `front` holds the formulas
    that the method offers beside the one it chose, if it has such.
    """

    expression: Any
    seconds: float
    compile_seconds: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)
    front: tuple[Any, ...] = ()


class Method(Protocol):
    """A system under test. It sees data and a budget, never the problem."""

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def available(self) -> str | None:
        """None when it can run, else the command that installs what is missing."""
        ...

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found: ...


@dataclass(frozen=True)
class Adapter:
    """Base of the adapters: the fields of a subclass are its settings, and `run` is left to it."""

    name: str
    # Modules that a run loads: loaded beforehand where memory is measured, as they are not the method's own.
    imports: ClassVar[tuple[str, ...]] = ()
    # False for a schedule of fixed length, which takes the time it takes.
    timed: ClassVar[bool] = True
    # (module that must be importable, distribution that brings it)
    requires: ClassVar[tuple[tuple[str, str], ...]] = ()

    @property
    def settings(self) -> dict[str, Any]:
        return {k: v for k, v in asdict(self).items() if k != "name"}

    @property
    def packages(self) -> tuple[str, ...]:
        """The distributions whose versions belong in the record."""
        return tuple(distribution for _, distribution in self.requires)

    def load(self) -> None:
        """Import what a run will import."""
        for module in (*self.imports, *(module for module, _ in self.requires)):
            importlib.import_module(module)

    def available(self) -> str | None:
        missing = [dist for module, dist in self.requires if importlib.util.find_spec(module) is None]
        return f"pip install {' '.join(missing)}" if missing else None


def find_method(
    name: str, settings: Mapping[str, Any] | None = None, variants: Mapping[str, Variant] | None = None
) -> Method:
    """The method or variant called `name`, with some of its settings changed."""
    # Imported here: the adapters build on this module.
    from ceql.bench.baselines import METHODS

    variants = variants or {}
    if name in variants:
        variant = variants[name]
        base = find_method(variant.method, variant.settings)
        return configure(replace(cast(Any, base), name=name), settings or {})
    if name not in METHODS:
        raise MethodError(unknown("method", name, [*METHODS, *variants]))
    return configure(METHODS[name], settings or {})


def configure(method: Any, settings: Mapping[str, Any]) -> Method:
    """The method with some settings changed; a misspelt one is an error."""
    allowed = [f.name for f in fields(method) if f.name != "name"]
    for key in settings:
        if key not in allowed:
            raise MethodError(unknown(f"setting of method {method.name!r},", key, allowed))
    return replace(method, **{k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()})
