"""Compiles the text of a law without SymPy, which would take a second for the whole catalogue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.expression import CompiledJacobian
from ceql.expression.text.formula_values import NAMED_CONSTANTS
from ceql.expression.text.parse import read_with
from ceql.expression.text.tokens import Token
from ceql.operators.functions import ElementaryFunction
from ceql.operators.program import LARGEST_MULTIPLIED_POWER, Instruction, run

_OPERATIONS = {"+": "add", "-": "add", "*": "multiply", "/": "divide"}


class _Program:
    """Builds a program: parts become indices of instructions, equal parts share one, and numbers are precomputed."""

    def __init__(self, columns: Sequence[str], constants: Sequence[str]) -> None:
        self._columns = {name: k for k, name in enumerate(columns)}
        self._constants = {name: k for k, name in enumerate(constants)}
        self._places: dict[Instruction, int] = {}
        self.instructions: list[Instruction] = []

    def _emit(self, operation: str, *operands: int, payload: float | int | str = 0) -> int:
        step = Instruction(operation, operands, payload)
        if operands and all(self.instructions[k].operation == "constant" for k in operands):
            numbers = [self.instructions[k] for k in operands]
            alone = Instruction(operation, tuple(range(len(operands))), payload)
            return self._number(float(run([*numbers, alone], np.empty((1, 0)), ())))
        if step not in self._places:
            self._places[step] = len(self.instructions)
            self.instructions.append(step)
        return self._places[step]

    def _number(self, value: float) -> int:
        return self._emit("constant", payload=value)

    def number(self, token: Token) -> int:
        return self._number(float(token.text))

    def named_constant(self, name: str) -> int:
        return self._number(NAMED_CONSTANTS[name][1])

    def column(self, name: str) -> int:
        if name in self._constants:
            return self._emit("parameter", payload=self._constants[name])
        return self._emit("input", payload=self._columns[name])

    def negated(self, part: int) -> int:
        return self._emit("multiply", self._number(-1.0), part)

    def combined(self, left: int, operator: Token, right: int) -> int:
        return self._emit(_OPERATIONS[operator.text], left, self.negated(right) if operator.text == "-" else right)

    def raised(self, base: int, exponent: int, position: int) -> int:
        step = self.instructions[exponent]
        if step.operation != "constant":
            return self._emit("power", base, exponent)
        value = float(step.payload)
        if value < 0.0:
            return self._emit("divide", self._number(1.0), self.raised(base, self._number(-value), position))
        if value == 0.5:
            return self._emit("function", base, payload="sqrt")
        if value.is_integer() and value <= LARGEST_MULTIPLIED_POWER:
            return self._emit("integer_power", base, payload=int(value))
        return self._emit("real_power", base, payload=value)

    def applied(self, function: ElementaryFunction, argument: int, token: Token) -> int:
        return self._emit("function", argument, payload=function.name)


def compiled(text: str, columns: Sequence[str], constants: Sequence[str]) -> CompiledJacobian:
    """Return a compiled law, which computes values and their derivatives by these constants."""
    program = _Program(columns, constants)
    root = read_with(program, text, [*columns, *constants])
    return CompiledJacobian(tuple(program.instructions[: root + 1]), len(columns), len(constants))
