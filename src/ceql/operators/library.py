"""The operators there are. Poles, logarithms, roots and oscillations have complex surrogates (docs/how-it-works.md)."""

from __future__ import annotations

import numpy as np
import sympy
from numpy.typing import NDArray

from ceql.engine.tape import TapeBuilder
from ceql.errors import unknown_name
from ceql.operators.base import Argument, ArgumentSlots, Operator, recorded

R, C, K = Argument.REAL, Argument.COMPLEX, Argument.CONSTANT


def _pass_through(tape: TapeBuilder, argument: ArgumentSlots, kinds: tuple[Argument, ...]) -> int:
    return argument[0]


def _one(tape: TapeBuilder, kinds: tuple[Argument, ...]) -> int:
    return tape.one


def _quiet(function):
    """Outside its domain a real form is NaN, without a word on the console."""

    def wrapped(*arguments):
        with np.errstate(all="ignore"):
            return function(*arguments)

    return wrapped


def _damping(z: NDArray[np.complex128]) -> np.ndarray:
    return np.exp(-(z.imag**2) / 2)


def _real_power(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.power(x, p)


def _operator(name, arguments, surrogate, real, symbolic, *, opcode=None, record=None, **traits) -> Operator:
    if record is None:
        record = recorded(opcode or name)
    return Operator(name, arguments, _quiet(surrogate), _quiet(real), symbolic, record, **traits)


_BUILT_IN = (
    _operator("id", (R,), lambda z: z.real, lambda x: x, lambda x: x, record=_pass_through, complexity=0),
    _operator("const", (), lambda: np.ones(()), lambda: np.ones(()), lambda: sympy.Integer(1), record=_one),
    _operator("square", (R,), lambda z: z.real**2, np.square, lambda x: x**2),
    _operator("cube", (R,), lambda z: z.real**3, lambda x: x**3, lambda x: x**3),
    _operator("mul", (R, R), lambda z, w: z.real * w.real, np.multiply, lambda x, y: x * y),
    _operator("div", (R, C), lambda z, w: (z.real / w).real, np.divide, lambda x, y: x / y),
    _operator("log", (C,), lambda z: np.log(z).real, np.log, sympy.log, positive_argument=True),
    _operator("sqrt", (C,), lambda z: np.sqrt(z).real, np.sqrt, sympy.sqrt, positive_argument=True),
    _operator("exp", (R,), lambda z: np.exp(z.real), np.exp, sympy.exp, zero_at_zero=False),
    _operator("sin", (C,), lambda z: np.sin(z.real) * _damping(z), np.sin, sympy.sin),
    _operator("cos", (C,), lambda z: np.cos(z.real) * _damping(z), np.cos, sympy.cos, zero_at_zero=False),
    _operator("tanh", (R,), lambda z: np.tanh(z.real), np.tanh, sympy.tanh),
    _operator("abs", (R,), lambda z: np.abs(z.real), np.abs, sympy.Abs),
    _operator(
        "pow",
        (C, K),
        lambda z, p: np.exp(p.real * np.log(z)).real,
        _real_power,
        lambda x, p: x**p,
        positive_argument=True,
    ),
)

_operators: dict[str, Operator] = {operator.name: operator for operator in _BUILT_IN}


def names() -> tuple[str, ...]:
    """Every operator that can be named, built-in ones first."""
    return tuple(_operators)


def get(name: str) -> Operator:
    """The operator of that name; an error with the nearest name otherwise."""
    try:
        return _operators[name]
    except (KeyError, TypeError):
        raise unknown_name("operator", name, _operators) from None


def add(operator: Operator) -> None:
    """Makes a checked operator known under its name (see ``ceql.operators.register``)."""
    _operators[operator.name] = operator


def is_built_in(name: str) -> bool:
    return any(operator.name == name for operator in _BUILT_IN)
