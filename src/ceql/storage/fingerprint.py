"""The fingerprint of a search, to save and compare: digests of the data, and all settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ceql.data.dataset import Dataset
from ceql.operators import library

Fingerprint = dict[str, Any]

# Settings that change how fast or how long a search runs or which formulas are shown, but not its course.
_FREE = {"time_limit", "n_jobs", "threads", "model_selection", "more"}
_DATA = {"X": "the values of X", "y": "the values of y", "weight": "the weights of the samples"}
_LONG = 60  # characters; longer values are not shown


def fingerprint(data: Dataset, settings: Any) -> Fingerprint:
    """The fingerprint of a search of these data with these settings, which are a dataclass."""
    kept = {field.name: _plain(getattr(settings, field.name)) for field in fields(settings) if field.name not in _FREE}
    own = {name: str(library.get(name)) for name in sorted(set(_texts(kept))) if _is_own(name)}
    of_data = {"X": data.x, "y": data.y, "weight": data.weight}
    digests = {name: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for name, a in of_data.items()}
    known = {} if data.noise is None else {"noise": data.noise}
    content = {
        "rows": len(data.y),
        "columns": list(data.names),
        **digests,
        **known,
        **kept,
        "operator definitions": own,
    }
    return json.loads(json.dumps(content))  # as it will be when read from a file


def differences(here: Fingerprint, there: Fingerprint) -> str:
    """The differences between two fingerprints in words; empty if there are none."""
    names = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    if "rows" in names or "columns" in names:
        names = [name for name in names if name not in _DATA]  # they differ in any case
    return "; ".join(_difference(name, here.get(name), there.get(name)) for name in names)


def _difference(name: str, here: Any, there: Any) -> str:
    if name in _DATA:
        return f"{_DATA[name]} are different"
    shown = _shown(here), _shown(there)
    return f"{name} differs" if max(map(len, shown)) > _LONG else f"{name} is {shown[0]} here and {shown[1]} there"


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _plain(value: Any) -> Any:
    """The value with dataclasses, mappings, arrays and sequences converted to plain JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(part) for part in value]
    return value if isinstance(value, str | int | float | None) else str(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _is_own(name: str) -> bool:
    """Whether this is the name of an operator that the user has registered."""
    return name in library.names() and not library.is_built_in(name)
