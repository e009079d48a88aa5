"""Compiles SymPy formulas to numpy programs in one walk of the tree, with derivatives on request.

A program is a list of instructions, each writing one slot; equal subexpressions share a slot.
Arithmetic stays in float64: where a formula has no real value the result is NaN.
Derivatives with respect to the parameters are computed in forward mode.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from sympy import Add, Mul, Pow, Symbol
from sympy import E as EULER

from ceql.operators import functions

Array = np.ndarray
# The derivative of one slot: parameter index -> array. Missing entries are zero, which keeps most slots cheap.
Tangent = dict[int, Array]
LARGEST_MULTIPLIED_POWER = 16
BLOCK = 2**14  # rows of a long table that are processed at a time
_ONE = np.ones(())  # the derivative of a parameter by itself; products with it are skipped


class UnsupportedExpression(ValueError):
    """The formula contains something that cannot be compiled to numpy."""


@dataclass(frozen=True)
class Instruction:
    """One step: apply ``operation`` to earlier slots; ``payload`` is a number, an index or a name."""

    operation: str
    operands: tuple[int, ...] = ()
    payload: float | int | str = 0


class ProgramBuilder:
    """Walks an expression and records instructions; equal subtrees get one slot."""

    def __init__(self, inputs: Sequence[Symbol], parameters: Sequence[Symbol] = ()) -> None:
        self._leaves = {symbol: ("input", index) for index, symbol in enumerate(inputs)}
        self._leaves |= {symbol: ("parameter", index) for index, symbol in enumerate(parameters)}
        self._slots: dict[Any, int] = {}
        self._shared: dict[Instruction, int] = {}

    def instructions(self, expr: Any) -> tuple[Instruction, ...]:
        """Return the program of an expression; every operand comes before the step that uses it, and the root last."""
        root = self.slot(expr)
        return tuple(self._shared)[: root + 1]

    def slot(self, expr: Any) -> int:
        known = self._slots.get(expr)
        if known is None:
            known = self._slots[expr] = self._compile(expr)
        return known

    def _emit(self, operation: str, *operands: int, payload: float | int | str = 0) -> int:
        return self._shared.setdefault(Instruction(operation, operands, payload), len(self._shared))

    def _compile(self, expr: Any) -> int:
        if expr in self._leaves:
            operation, index = self._leaves[expr]
            return self._emit(operation, payload=index)
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

    def _number(self, expr: Any) -> int:
        try:
            value = float(expr)
        except (TypeError, OverflowError) as error:
            raise UnsupportedExpression(f"the constant {expr} is not a finite real number") from error
        return self._emit("constant", payload=value)

    def _product(self, expr: Mul) -> int:
        # Dividing by the product of denominators has one rounding less than multiplying by 1/d.
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
        value = float(exponent)  # pyright: ignore[reportArgumentType]
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


def _scaled(tangent: Tangent, factor: Array) -> Tangent:
    return {index: factor if part is _ONE else part * factor for index, part in tangent.items()}


def _sum(tangents: Sequence[Tangent]) -> Tangent:
    total: Tangent = {}
    for tangent in tangents:
        for index, part in tangent.items():
            total[index] = total[index] + part if index in total else part
    return total


def _quotient_tangent(values: list[Array], tangents: list[Tangent], result: Array, payload: Any) -> Tangent:
    return _sum([_scaled(tangents[0], 1.0 / values[1]), _scaled(tangents[1], -result / values[1])])


def _product_tangent(values: list[Array], tangents: list[Tangent], result: Array, payload: Any) -> Tangent:
    return _sum(
        [
            _scaled(tangent, reduce(np.multiply, values[:place] + values[place + 1 :]))
            for place, tangent in enumerate(tangents)
            if tangent  # a product has two factors or more
        ]
    )


def _power_tangent(values: list[Array], tangents: list[Tangent], result: Array, payload: Any) -> Tangent:
    base, exponent = values
    by_base = _scaled(tangents[0], exponent * np.power(base, exponent - 1.0)) if tangents[0] else {}
    # 0**c stays 0 for every c > 0, so log(0) must not turn that derivative into NaN.
    by_exponent = _scaled(tangents[1], result * np.log(np.where(base == 0.0, 1.0, base)))
    return _sum([by_base, by_exponent])


# By operation: a function for the value, given the operands u and the payload k, and one for the derivatives, which is
# also given the derivatives t of the operands and the value f.
_OPERATIONS: dict[str, tuple[Callable[..., Array], Callable[..., Tangent]]] = {
    "add": (lambda u, k: reduce(np.add, u), lambda u, t, f, k: _sum(t)),
    "multiply": (lambda u, k: reduce(np.multiply, u) if u else np.ones(()), _product_tangent),
    "divide": (lambda u, k: u[0] / u[1], _quotient_tangent),
    "integer_power": (
        lambda u, k: integer_power(u[0], k),
        lambda u, t, f, k: _scaled(t[0], k * integer_power(u[0], k - 1)),
    ),
    "real_power": (lambda u, k: np.power(u[0], k), lambda u, t, f, k: _scaled(t[0], k * np.power(u[0], k - 1.0))),
    "power": (lambda u, k: np.power(*u), _power_tangent),
    "function": (
        lambda u, k: functions.get(k).value(u[0]),
        lambda u, t, f, k: _scaled(t[0], functions.get(k).slope(u[0], f)),
    ),
}


def run(
    instructions: Sequence[Instruction],
    x: Array,
    parameters: Any,
    tangents: list[Tangent] | None = None,
    wanted: Collection[int] | None = None,
) -> Array:
    """Return the value of the last step; parameters may be numbers or arrays.

    If ``tangents`` is a list, the derivatives of every step are appended to it: by all parameters, or only by those in
    ``wanted``.
    """
    slots: list[Array] = []
    with np.errstate(all="ignore"):
        for step in instructions:
            payload = step.payload
            if step.operands or step.operation in _OPERATIONS:
                value_of, tangent_of = _OPERATIONS[step.operation]
                operands = [slots[index] for index in step.operands]
                value = value_of(operands, payload)
                if tangents is not None:
                    inner = [tangents[index] for index in step.operands]
                    tangents.append(tangent_of(operands, inner, value, payload) if any(inner) else {})
            else:
                value = _leaf(step, x, parameters)
                if tangents is not None:
                    is_wanted = step.operation == "parameter" and (wanted is None or payload in wanted)
                    tangents.append({int(payload): _ONE} if is_wanted else {})
            slots.append(value)
    return slots[-1]


def _leaf(step: Instruction, x: Array, parameters: Any) -> Array:
    match step.operation:
        case "constant":
            return np.asarray(step.payload, dtype=np.float64)
        case "parameter":
            return np.asarray(parameters[step.payload], dtype=np.float64)
        case _:
            return x[:, int(step.payload)]


def _as_matrix(x: Array, columns: int) -> Array:
    matrix = np.asarray(x, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != columns:
        raise ValueError(f"expected data of shape (N, {columns}), got {matrix.shape}")
    return matrix


@dataclass(frozen=True)
class _Program:
    """A compiled formula: X of shape (N, d) gives N values."""

    instructions: tuple[Instruction, ...]
    columns: int
    constants: int = 0

    def value(self, x: Array, constants: Array | Sequence[float] = ()) -> Array:
        """Return the values, computed block by block so that intermediate results stay in the cache."""
        matrix = _as_matrix(x, self.columns)
        blocks = [matrix[first : first + BLOCK] for first in range(0, len(matrix) or 1, BLOCK)]
        values = [_column(run(self.instructions, block, constants), len(block)) for block in blocks]
        return values[0] if len(values) == 1 else np.concatenate(values)


class CompiledFormula(_Program):
    """Call it on X of shape (N, d) to get N values."""

    def __call__(self, x: Array) -> Array:
        return self.value(x)


class CompiledJacobian(_Program):
    """Call with X (N, d) and p constant values: returns values (N,) and derivatives (N, p)."""

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]:
        matrix = _as_matrix(x, self.columns)
        tangents: list[Tangent] = []
        values = _column(run(self.instructions, matrix, constants, tangents), len(matrix))
        jacobian = np.zeros((len(matrix), self.constants))
        for index, part in tangents[-1].items():
            jacobian[:, index] = part
        return values, jacobian


def _column(values: Array, rows: int) -> Array:
    if values.shape == (rows,) and values.dtype == np.float64 and values.base is None:
        return values  # a new array that nobody else uses
    return np.array(np.broadcast_to(values, (rows,)), dtype=np.float64)


def compile_numpy(expr: Any, symbols: Sequence[Symbol]) -> CompiledFormula:
    """Compile ``expr`` for data whose columns are ``symbols``."""
    return CompiledFormula(ProgramBuilder(symbols).instructions(expr), len(symbols))


def value_and_jacobian(expr: Any, symbols: Sequence[Symbol], constants: Sequence[Symbol]) -> CompiledJacobian:
    """Compile ``expr`` together with its derivatives with respect to ``constants``."""
    return _value_and_jacobian(expr, tuple(symbols), tuple(constants))


@lru_cache(maxsize=1024)  # the same structure is fitted repeatedly, with other numbers
def _value_and_jacobian(expr: Any, symbols: tuple[Symbol, ...], constants: tuple[Symbol, ...]) -> CompiledJacobian:
    instructions = ProgramBuilder(symbols, constants).instructions(expr)
    return CompiledJacobian(instructions, len(symbols), len(constants))
