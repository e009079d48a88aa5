"""Values and derivatives of a formula with respect to its constants, in forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sympy import Symbol

from ceql.expression.evaluate.compile import (
    Array,
    Instruction,
    ProgramBuilder,
    as_matrix,
    by_blocks,
    evaluate_instruction,
    integer_power,
)
from ceql.expression.symbolic import Expr
from ceql.operators import functions

# Derivative of one slot: constant index -> array.  Absent means zero, so most slots stay cheap.
Tangent = dict[int, Array]


def _scaled(tangent: Tangent, factor: Array) -> Tangent:
    return {index: part * factor for index, part in tangent.items()}


def _sum(tangents: Sequence[Tangent]) -> Tangent:
    total: Tangent = {}
    for tangent in tangents:
        for index, part in tangent.items():
            total[index] = total[index] + part if index in total else part
    return total


def _product_tangent(values: list[Array], tangents: list[Tangent]) -> Tangent:
    parts = []
    for position, tangent in enumerate(tangents):
        if tangent:
            others: Array = np.ones(())
            for other, value in enumerate(values):
                if other != position:
                    others = others * value
            parts.append(_scaled(tangent, others))
    return _sum(parts)


def _power_tangent(values: list[Array], tangents: list[Tangent], result: Array) -> Tangent:
    base, exponent = values
    by_base = _scaled(tangents[0], exponent * np.power(base, exponent - 1.0)) if tangents[0] else {}
    # 0**c stays 0 for every c > 0, so log(0) must not poison that derivative.
    by_exponent = _scaled(tangents[1], result * np.log(np.where(base == 0.0, 1.0, base)))
    return _sum([by_base, by_exponent])


def tangent_of(step: Instruction, values: list[Array], tangents: list[Tangent], result: Array) -> Tangent:
    """Derivatives of one step from those of its operands."""
    if step.operation == "parameter":
        return {int(step.payload): np.ones(())}
    if not any(tangents):
        return {}
    match step.operation:
        case "add":
            return _sum(tangents)
        case "multiply":
            return _product_tangent(values, tangents)
        case "divide":
            above = _scaled(tangents[0], 1.0 / values[1])
            return _sum([above, _scaled(tangents[1], -result / values[1])])
        case "integer_power":
            exponent = int(step.payload)
            return _scaled(tangents[0], exponent * integer_power(values[0], exponent - 1))
        case "real_power":
            exponent = float(step.payload)
            return _scaled(tangents[0], exponent * np.power(values[0], exponent - 1.0))
        case "power":
            return _power_tangent(values, tangents, result)
        case _:
            return _scaled(tangents[0], functions.get(str(step.payload)).slope(values[0], result))


@dataclass(frozen=True)
class CompiledJacobian:
    """Call with X (N, d) and p constant values: returns values (N,) and derivatives (N, p)."""

    instructions: tuple[Instruction, ...]
    columns: int
    constants: int

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]:
        matrix = as_matrix(x, self.columns)
        parameters = np.asarray(constants, dtype=np.float64)
        slots: list[Array] = []
        tangents: list[Tangent] = []
        with np.errstate(all="ignore"):
            for step in self.instructions:
                result = evaluate_instruction(step, slots, matrix, parameters)
                operands = [slots[index] for index in step.operands]
                inner = [tangents[index] for index in step.operands]
                tangents.append(tangent_of(step, operands, inner, result))
                slots.append(result)
        jacobian = np.zeros((len(matrix), self.constants))
        for index, part in tangents[-1].items():
            jacobian[:, index] = part
        values = np.array(np.broadcast_to(slots[-1], (len(matrix),)), dtype=np.float64)
        return values, jacobian

    def value(self, x: Array, constants: Array) -> Array:
        """Only the values, for steps that need no derivatives."""
        parameters = np.asarray(constants, dtype=np.float64)
        return by_blocks(lambda block: self._values(block, parameters), as_matrix(x, self.columns))

    def _values(self, matrix: Array, parameters: Array) -> Array:
        slots: list[Array] = []
        with np.errstate(all="ignore"):
            for step in self.instructions:
                slots.append(evaluate_instruction(step, slots, matrix, parameters))
        return np.array(np.broadcast_to(slots[-1], (len(matrix),)), dtype=np.float64)


def value_and_jacobian(expr: Expr, symbols: Sequence[Symbol], constants: Sequence[Symbol]) -> CompiledJacobian:
    """Compile ``expr`` together with its derivatives with respect to ``constants``."""
    builder = ProgramBuilder(symbols, constants)
    root = builder.slot(expr)
    return CompiledJacobian(tuple(builder.instructions[: root + 1]), len(symbols), len(constants))
