"""Turns SymPy formulas into numpy programs by one walk of the tree.

The program is a list of instructions, each writing one slot; equal subexpressions share a slot.
Arithmetic stays in float64: where a formula has no real value the result is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sympy import Add, Mul, Pow, Symbol
from sympy import E as EULER

from ceql.expression.symbolic import Expr
from ceql.operators import functions

Array = np.ndarray
LARGEST_MULTIPLIED_POWER = 16
BLOCK = 2**14  # rows of a long table that are worked on at a time


class UnsupportedExpression(ValueError):
    """The formula contains something that has no numpy program."""


@dataclass(frozen=True)
class Instruction:
    """One step: apply ``operation`` to earlier slots; ``payload`` is a number, an index or a name."""

    operation: str
    operands: tuple[int, ...] = ()
    payload: float | int | str = 0


class ProgramBuilder:
    """Walks an expression and records instructions; equal subtrees get one slot."""

    def __init__(self, inputs: Sequence[Symbol], parameters: Sequence[Symbol] = ()) -> None:
        self._inputs = {symbol: index for index, symbol in enumerate(inputs)}
        self._parameters = {symbol: index for index, symbol in enumerate(parameters)}
        self._slots: dict[Expr, int] = {}
        self._shared: dict[Instruction, int] = {}
        self.instructions: list[Instruction] = []

    def slot(self, expr: Expr) -> int:
        known = self._slots.get(expr)
        if known is None:
            known = self._slots[expr] = self._compile(expr)
        return known

    def _emit(self, operation: str, *operands: int, payload: float | int | str = 0) -> int:
        instruction = Instruction(operation, operands, payload)
        known = self._shared.get(instruction)
        if known is None:
            known = self._shared[instruction] = len(self.instructions)
            self.instructions.append(instruction)
        return known

    def _compile(self, expr: Expr) -> int:
        if expr in self._parameters:
            return self._emit("parameter", payload=self._parameters[expr])
        if expr in self._inputs:
            return self._emit("input", payload=self._inputs[expr])
        if expr.is_number:
            return self._number(expr)
        if isinstance(expr, Add):
            return self._emit("add", *[self.slot(term) for term in expr.args])
        if isinstance(expr, Mul):
            return self._product(expr)
        if isinstance(expr, Pow):
            return self._power(expr)
        function = functions.of_kind(expr.func)
        if function is not None:
            return self._emit("function", self.slot(expr.args[0]), payload=function.name)
        if isinstance(expr, Symbol):
            raise UnsupportedExpression(f"the symbol {expr.name!r} is not among the given symbols")
        raise UnsupportedExpression(f"no numpy program for {expr.func.__name__!r} in a formula")

    def _number(self, expr: Expr) -> int:
        try:
            value = float(expr)
        except (TypeError, OverflowError) as error:
            raise UnsupportedExpression(f"the constant {expr} is not a finite real number") from error
        return self._emit("constant", payload=value)

    def _product(self, expr: Mul) -> int:
        # Dividing by the product of denominators keeps one rounding fewer than multiplying by 1/d.
        above, below = [], []
        for factor in expr.args:
            base, exponent = factor.as_base_exp()
            if base is not EULER and exponent.is_Number and exponent.is_negative:
                below.append(self.slot(Pow(base, -exponent)))
            else:
                above.append(self.slot(factor))
        top = self._emit("multiply", *above) if len(above) != 1 else above[0]
        if not below:
            return top
        bottom = self._emit("multiply", *below) if len(below) != 1 else below[0]
        return self._emit("divide", top, bottom)

    def _power(self, expr: Pow) -> int:
        base, exponent = expr.args
        if base is EULER:
            return self._emit("function", self.slot(exponent), payload="exp")
        if not exponent.is_Number:
            return self._emit("power", self.slot(base), self.slot(exponent))
        value = float(exponent)
        if value < 0.0:
            one = self._emit("constant", payload=1.0)
            return self._emit("divide", one, self.slot(Pow(base, -exponent)))
        if value == 0.5:
            return self._emit("function", self.slot(base), payload="sqrt")
        if value == int(value) and value <= LARGEST_MULTIPLIED_POWER:
            return self._emit("integer_power", self.slot(base), payload=int(value))
        return self._emit("real_power", self.slot(base), payload=value)


def integer_power(base: Array, exponent: int) -> Array:
    """``base**exponent`` by repeated squaring: cheaper and more accurate than ``np.power``."""
    result: Array | None = None
    square = base
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if exponent:
            square = square * square
    return np.ones_like(base) if result is None else result


def evaluate_instruction(step: Instruction, slots: list[Array], x: Array, parameters: Array) -> Array:
    operands = [slots[index] for index in step.operands]
    match step.operation:
        case "constant":
            return np.asarray(step.payload, dtype=np.float64)
        case "parameter":
            return np.asarray(parameters[int(step.payload)])
        case "input":
            return x[:, int(step.payload)]
        case "add":
            return _reduce(np.add, operands, 0.0)
        case "multiply":
            return _reduce(np.multiply, operands, 1.0)
        case "divide":
            return operands[0] / operands[1]
        case "integer_power":
            return integer_power(operands[0], int(step.payload))
        case "real_power":
            return np.power(operands[0], float(step.payload))
        case "power":
            return np.power(operands[0], operands[1])
        case _:
            return functions.get(str(step.payload)).value(operands[0])


def _reduce(operation: Callable[[Array, Array], Array], operands: list[Array], empty: float) -> Array:
    if not operands:
        return np.asarray(empty)
    result = operands[0]
    for operand in operands[1:]:
        result = operation(result, operand)
    return result


def as_matrix(x: Array, columns: int) -> Array:
    matrix = np.asarray(x, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != columns:
        raise ValueError(f"expected data of shape (N, {columns}), got {matrix.shape}")
    return matrix


def by_blocks(function: Callable[[Array], Array], x: Array) -> Array:
    """``function(x)`` for a function of each row: what its steps leave stays in the cache."""
    if len(x) <= BLOCK:
        return function(x)
    return np.concatenate([function(x[first : first + BLOCK]) for first in range(0, len(x), BLOCK)])


@dataclass(frozen=True)
class CompiledFormula:
    """A formula ready for data: call it on X of shape (N, d) to get N values."""

    instructions: tuple[Instruction, ...]
    columns: int

    def __call__(self, x: Array) -> Array:
        return by_blocks(self._values, as_matrix(x, self.columns))

    def _values(self, matrix: Array) -> Array:
        nothing = np.empty(0)
        slots: list[Array] = []
        with np.errstate(all="ignore"):
            for step in self.instructions:
                slots.append(evaluate_instruction(step, slots, matrix, nothing))
        return np.array(np.broadcast_to(slots[-1], (len(matrix),)), dtype=np.float64)


def compile_numpy(expr: Expr, symbols: Sequence[Symbol]) -> CompiledFormula:
    """Compile ``expr`` for data whose columns are ``symbols``."""
    builder = ProgramBuilder(symbols)
    root = builder.slot(expr)
    return CompiledFormula(_ending_at(builder.instructions, root), len(symbols))


def _ending_at(instructions: list[Instruction], root: int) -> tuple[Instruction, ...]:
    # The root is written last, because every operand is compiled before the step that uses it.
    return tuple(instructions[: root + 1])
