"""The data that the host passes to a GPU, in the layout of core/gpu/problem.cuh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ceql.engine.fit import Adam, Stage

_UNIT = 256  # bytes; each part begins at a multiple of this

_ADAM = np.dtype(
    [
        ("steps", "i8"), ("rate", "f8"), ("beta1", "f8"), ("beta2", "f8"), ("epsilon", "f8"), ("patience", "i8"),
        ("factor", "f8"), ("minimum_rate", "f8"), ("threshold", "f8"), ("keep_best", "?"),
    ],
    align=True,
)  # fmt: skip
_LEVENBERG = np.dtype(
    [("iterations", "i8"), ("damping", "f8"), ("target", "f8"), ("least_reduction", "f8"), ("separable", "?")],
    align=True,
)
STAGE = np.dtype(
    [
        ("is_adam", "i8"), ("adam", _ADAM), ("levenberg", _LEVENBERG),
        ("ridge", "u8"), ("lasso", "f8"), ("aux", "f8"),
    ],
    align=True,
)  # fmt: skip
PROBLEM = np.dtype(
    [(name, "i4") for name in ("n_inputs", "n_nodes", "n_edges", "n_params", "n_aux", "output")]
    + [(name, "u8") for name in ("nodes", "edges", "coefficients", "aux", "partner", "lower", "upper")]
    + [("n", "i8"), ("padded", "i8"), ("columns", "u8"), ("y", "u8"), ("weight", "u8"), ("count", "i8")]
    + [(name, "u8") for name in ("order", "masks", "params", "moments", "state", "objective", "misfit", "iterations")]
    + [(name, "u8") for name in ("status", "needs", "counter", "stop", "scratch")]
    + [("scratch_size", "i8"), ("normal_size", "i8"), ("stages", "u8"), ("n_stages", "i8")],
    align=True,
)


def in_units(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def fill(struct: Any, numbers: dict[str, int]) -> None:
    for name, value in numbers.items():
        struct[name] = value


def stage_table(stages: Sequence[Stage], ridges: int, n_params: int) -> np.ndarray:
    """Return the stages as a table; their quadratic penalties are stored in order from the address `ridges` on."""
    table = np.zeros(len(stages), STAGE)
    for k, (row, stage) in enumerate(zip(table, stages, strict=True)):
        kind = "adam" if isinstance(stage.options, Adam) else "levenberg"
        row["is_adam"] = kind == "adam"
        for field in fields(stage.options):
            row[kind][field.name] = getattr(stage.options, field.name)
        row["ridge"] = ridges + k * n_params * np.dtype(np.float64).itemsize
        row["lasso"], row["aux"] = stage.penalties.lasso, stage.penalties.aux
    return table


def ridges_of(stages: Sequence[Stage], n_params: int) -> np.ndarray:
    """Return the factors of the quadratic penalties, (stages, parameters)."""
    none = np.zeros(n_params)
    return np.array([none if s.penalties.ridge is None else s.penalties.ridge for s in stages])


def places(parts: Sequence[np.ndarray]) -> list[int]:
    """Return where the parts of a joint transfer begin, and where the last one ends."""
    return np.cumsum([0, *(in_units(part.nbytes, _UNIT) for part in parts)]).tolist()


def together(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the parts as one buffer, since the latency of a transfer outweighs its size."""
    firsts = places(parts)
    sent = np.zeros(firsts[-1], np.uint8)
    for part, first in zip(parts, firsts, strict=False):
        sent[first : first + part.nbytes] = np.ascontiguousarray(part).view(np.uint8).ravel()
    return sent
