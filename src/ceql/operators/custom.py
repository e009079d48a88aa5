"""Users' own operators: SymPy formulas of the built-in ones, checked and compiled to tape nodes."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy

from ceql.errors import InputError
from ceql.operators import library
from ceql.operators.base import Argument, ArgumentSlots, Operator
from ceql.operators.onto_tape import write_formula
from ceql.operators.program import Instruction, ProgramBuilder, Tangent, run
from ceql.operators.tape import TapeBuilder

_PROBES = np.array([-2.3, -1.1, -0.4, 0.3, 0.9, 1.7, 2.6])
_NO_COLUMNS = np.empty((0, 0))


def register(name: str, arguments: tuple[sympy.Symbol, ...] | sympy.Symbol, formula: sympy.Expr) -> Operator:
    """Register ``formula``, in one or two symbols, as an operator of the library.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> register("logistic", x, 1 / (1 + sympy.exp(-x))).arity
    1
    """
    symbols = (arguments,) if isinstance(arguments, sympy.Symbol) else tuple(arguments)
    _check(name, symbols, formula)
    definition = (symbols, formula)
    # Real symbols, so that derivatives of |x| and the like stay real.
    real_symbols = tuple(sympy.Dummy(s.name, real=True) for s in symbols)
    renamed: Any = formula.xreplace(dict(zip(symbols, real_symbols, strict=True)))
    symbols, formula = real_symbols, renamed
    kinds = (Argument.REAL,) * len(symbols)

    def record(tape: TapeBuilder, *slots: ArgumentSlots, kinds: tuple[Argument, ...]) -> int:
        return write_formula(tape, formula, {s: slot[0] for s, slot in zip(symbols, slots, strict=True)})

    tape = TapeBuilder(len(symbols))  # discarded: a formula that cannot be compiled is rejected here, not in a fit
    _ = tape.finish(record(tape, *((k, None) for k in range(len(symbols))), kinds=kinds)).core
    program = ProgramBuilder((), symbols).instructions(formula)

    def real(*values: np.ndarray) -> np.ndarray:
        return run(program, _NO_COLUMNS, values)

    def symbolic(*expressions: sympy.Expr) -> Any:
        return formula.subs(dict(zip(symbols, expressions, strict=True)), simultaneous=True)

    at_zero = real(*(np.zeros(1) for _ in symbols))[0]
    operator = Operator(
        name,
        kinds,
        lambda *z: real(*(part.real for part in z)),
        real,
        symbolic,
        record,
        complexity=max(1, sum(1 for _ in sympy.preorder_traversal(formula)) - len(symbols)),
        zero_at_zero=bool(at_zero == 0),
        definition=definition,
    )
    _probe(name, program, len(symbols))
    if name in library.names() and str(library.get(name)) != str(operator):
        raise InputError(f"{name!r} is registered already, as {library.get(name)}; choose another name.")
    library.add(operator)
    return operator


def _check(name: str, symbols: tuple[sympy.Symbol, ...], formula: sympy.Expr) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"An operator's name must be a plain word such as 'logistic', not {name!r}.")
    if library.is_built_in(name):
        raise InputError(f"{name!r} is a built-in operator; choose another name.")
    if not 1 <= len(symbols) <= 2 or not all(isinstance(s, sympy.Symbol) for s in symbols):
        raise InputError("An operator takes one or two SymPy symbols as its arguments.")
    if not isinstance(formula, sympy.Expr):
        raise InputError(f"The formula must be a SymPy expression, not {type(formula).__name__}.")
    if formula.has(sympy.I, sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        raise InputError("The formula must be real and finite: it has an imaginary or infinite constant.")
    strangers = formula.free_symbols - set(symbols)
    if strangers:
        raise InputError(f"The formula uses symbols that are not arguments: {sorted(map(str, strangers))}.")
    if formula.free_symbols != set(symbols):
        raise InputError("Every argument must appear in the formula.")


def _probe(name: str, program: Sequence[Instruction], arity: int) -> None:
    """Require finite values and derivatives at some points; otherwise no fit can use the operator."""
    tangents: list[Tangent] = []
    finite = np.isfinite(run(program, _NO_COLUMNS, [_PROBES, _PROBES[::-1]][:arity], tangents))
    if not finite.any():
        raise InputError(f"Operator {name!r} is not finite at any of the points it was tried at.")
    if not all(np.isfinite(np.broadcast_to(slope, finite.shape)[finite]).any() for slope in tangents[-1].values()):
        raise InputError(f"Operator {name!r} has no finite derivative where it is defined.")
