"""Writes elementary functions onto a tape: as the core's operator, or by their definition in other functions."""

from __future__ import annotations

import math
from typing import Any

import sympy

from ceql.errors import InputError
from ceql.operators import functions
from ceql.operators.functions import ElementaryFunction
from ceql.operators.intervals import Domain
from ceql.operators.tape import OPCODES, TapeBuilder

_PENALTIES = {(0.0, math.inf): "shortfall", (-1.0, 1.0): "excess"}  # the measure of how far outside, by domain


def write_function(tape: TapeBuilder, function: ElementaryFunction, real: int, imaginary: int | None = None) -> int:
    """Write the function onto the tape and return the slot of its value; a definition ignores the imaginary part."""
    if function.name in OPCODES:
        return tape.operator(function.name, real, *(() if function.surrogate is None else (imaginary,)))
    if function.definition is None:
        raise InputError(f"The core has no operator {function.name!r} and its object has no definition: add one.")
    argument = sympy.Dummy(real=True)
    return write_formula(tape, function.definition(argument), {argument: real})


def penalise_outside(tape: TapeBuilder, domain: Domain, argument: int) -> None:
    """Add a penalty on how far an argument lies outside the domain.

    It must be an operator applied to the argument itself: the core counts it only while the model uses its argument.
    """
    if domain.is_everything:
        return
    penalty = _PENALTIES.get((domain.lower, domain.upper))
    if penalty is None:
        raise InputError(
            f"The core has no penalty for arguments outside {domain.lower:g} to {domain.upper:g}: add an operator for "
            "it, or leave the domain out."
        )
    tape.penalise(tape.operator(penalty, argument))


def write_formula(tape: TapeBuilder, formula: Any, slots: dict[Any, int]) -> int:
    """Write the formula's nodes onto the tape, equal parts once, and return the slot of its value."""
    return _write(tape, formula, slots, {})


def _write(tape: TapeBuilder, formula: Any, slots: dict[Any, int], seen: dict[Any, int]) -> int:
    if formula in slots:
        return slots[formula]
    if formula not in seen:
        seen[formula] = _write_new(tape, formula, slots, seen)
    return seen[formula]


def _write_new(tape: TapeBuilder, formula: Any, slots: dict[Any, int], seen: dict[Any, int]) -> int:
    def inner(part: Any) -> int:
        return _write(tape, part, slots, seen)

    if formula.is_number:
        return tape.linear([(tape.one, -1, float(formula))])
    if formula.is_Add:
        terms = [term.as_coeff_Mul() for term in formula.args]
        return tape.linear(
            [(tape.one if rest == 1 else inner(rest), -1, float(coefficient)) for coefficient, rest in terms]
        )
    if formula.is_Mul:
        coefficient, rest = formula.as_coeff_Mul()
        if coefficient != 1:
            return tape.linear([(inner(rest), -1, float(coefficient))])
        slot = inner(formula.args[0])
        for factor in formula.args[1:]:
            slot = tape.operator("mul", slot, inner(factor))
        return slot
    if formula.is_Pow:
        return _write_power(tape, inner(formula.base), formula.exp)
    function = functions.of_kind(formula.func)
    if function is None:
        raise unsupported(formula)
    return write_function(tape, function, inner(formula.args[0]))


def _write_power(tape: TapeBuilder, base: int, exponent: Any) -> int:
    if not exponent.is_number:
        raise InputError("Powers in an operator need a constant exponent; write exp(y*log(x)) otherwise.")
    if exponent == 2 or exponent == 3:
        return tape.operator("square" if exponent == 2 else "cube", base)
    if exponent == -1:
        return tape.operator("div", tape.one, base, None)
    if exponent == sympy.Rational(1, 2):
        return tape.operator("sqrt", base, None)
    return tape.operator("pow", base, None, tape.linear([(tape.one, -1, float(exponent))]))


def unsupported(formula: Any) -> InputError:
    known = ", ".join(sorted(function.name for function in map(functions.of_kind, functions.kinds()) if function))
    return InputError(
        f"{formula.func.__name__} cannot be compiled. Use +, -, *, /, powers with constant exponents, {known}."
    )
