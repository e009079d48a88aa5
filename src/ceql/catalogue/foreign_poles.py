"""Poles that a law cannot have: K + x of a saturation is never zero for positive K and x, which the law assumes.

A fit with such a pole among the rows has the law's formula but not its meaning, and does not get its name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.catalogue.law import Law
from ceql.operators.program import Instruction, run

_POSITIVE = ("exp",)  # functions that are positive everywhere
_KEEPS_SIGN = ("add", "multiply", "divide", "integer_power", "real_power", "power")  # of positive operands


@np.errstate(all="ignore")
def has_foreign_pole(law: Law, values: Sequence[float] | np.ndarray, x: np.ndarray) -> bool:
    """Whether a denominator that is positive wherever the law holds changes its sign over these rows of its columns."""
    steps = law.program.instructions
    positive = _positive(law)
    below = {step.operands[1] for step in steps if step.operation == "divide"}
    return any(_changes_sign(run(steps[: place + 1], x, values)) for place in sorted(below) if positive[place])


def _changes_sign(values: np.ndarray) -> bool:
    return bool(np.any(values > 0.0) and np.any(values < 0.0))


def _positive(law: Law) -> list[bool]:
    """For each instruction, whether its value is positive for all columns and constants that the law allows."""
    known: list[bool] = []
    for step in law.program.instructions:
        known.append(_leaf(law, step) if not step.operands else _inner(step, [known[k] for k in step.operands]))
    return known


def _leaf(law: Law, step: Instruction) -> bool:
    match step.operation:
        case "constant":
            return float(step.payload) > 0.0
        case "parameter":
            above = law.constants[int(step.payload)].above
            return above is not None and above >= 0.0
        case "input":
            return law.columns[int(step.payload)].lower >= 0.0
        case _:
            return False


def _inner(step: Instruction, operands: Sequence[bool]) -> bool:
    if step.operation == "function":
        return step.payload in _POSITIVE or (step.payload == "sqrt" and operands[0])
    return step.operation in _KEEPS_SIGN and all(operands)
