"""All available operators: the structural ones, the elementary functions, and the user's own.

Poles, logarithms, roots and oscillations have complex surrogates (docs/how-it-works.md).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy

from ceql.errors import unknown_name
from ceql.operators import functions
from ceql.operators.base import Argument, ArgumentSlots, Operator, recorded
from ceql.operators.functions import ElementaryFunction
from ceql.operators.intervals import Domain
from ceql.operators.onto_tape import write_function
from ceql.operators.tape import TapeBuilder

R, C, K = Argument.REAL, Argument.COMPLEX, Argument.CONSTANT


def _pass_through(tape: TapeBuilder, argument: ArgumentSlots, kinds: tuple[Argument, ...]) -> int:
    return argument[0]


def _one(tape: TapeBuilder, kinds: tuple[Argument, ...]) -> int:
    return tape.one


def _quiet(function):
    """Suppress NumPy's warnings, since operators return NaN outside their domain."""

    def wrapped(*arguments):
        with np.errstate(all="ignore"):
            return function(*arguments)

    return wrapped


def _operator(name, arguments, surrogate, real, symbolic, *, record=None, **traits) -> Operator:
    return Operator(name, arguments, _quiet(surrogate), _quiet(real), symbolic, record or recorded(name), **traits)


_OF_STRUCTURE = {
    operator.name: operator
    for operator in (
        _operator("id", (R,), lambda z: z.real, lambda x: x, lambda x: x, record=_pass_through, complexity=0),
        _operator("const", (), lambda: np.ones(()), lambda: np.ones(()), lambda: sympy.Integer(1), record=_one),
        _operator("mul", (R, R), lambda z, w: z.real * w.real, np.multiply, lambda x, y: x * y),
        _operator("div", (R, C), lambda z, w: (z.real / w).real, np.divide, lambda x, y: x / y),
        _operator(
            "pow",
            (C, K),
            lambda z, p: np.exp(p.real * np.log(z)).real,
            np.power,
            lambda x, p: x**p,
            domain=Domain(lower=0.0),
        ),
    )
}
_of_users: dict[str, Operator] = {}


@cache
def _of_function(function: ElementaryFunction) -> Operator:
    def record(tape: TapeBuilder, argument: ArgumentSlots, kinds: tuple[Argument, ...]) -> int:
        return write_function(tape, function, *argument)

    surrogate = function.surrogate or (lambda z: function.value(z.real))
    with np.errstate(all="ignore"):
        at_zero = float(surrogate(np.zeros(1, complex))[0])
    return _operator(
        function.name,
        (R if function.surrogate is None else C,),
        surrogate,
        function.value,
        function.symbolic,
        record=record,
        domain=function.domain,
        zero_at_zero=at_zero == 0.0 or not np.isfinite(at_zero),
        oscillates=function.oscillates,
        imaginary_part=function.imaginary_part,
    )


def names() -> tuple[str, ...]:
    """Return the names of all operators, built-in ones first."""
    return (*_OF_STRUCTURE, *functions.names(), *_of_users)


def get(name: str) -> Operator:
    """Return the operator of that name; if there is none, the error suggests the nearest name."""
    if name not in names():
        raise unknown_name("operator", name, names())
    if name in functions.names():
        return _of_function(functions.get(name))
    return _OF_STRUCTURE.get(name) or _of_users[name]


def add(operator: Operator) -> None:
    """Add a checked operator under its name (see ``ceql.operators.register``)."""
    _of_users[operator.name] = operator


def is_built_in(name: str) -> bool:
    return name in _OF_STRUCTURE or name in functions.names()
