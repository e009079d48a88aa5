"""Arithmetic on the parts of a formula text, with every size checked before SymPy computes it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np
from sympy import E, Float, Integer, Pow, pi

from ceql.expression.constants.parametrise import structural_exponent
from ceql.expression.symbolic import Expr
from ceql.expression.text.tokens import FormulaError, Token
from ceql.operators.functions import ElementaryFunction

LARGEST_EXPONENT = 64
LARGEST_CONSTANT = 1e300
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}

NAMED_CONSTANTS: dict[str, tuple[Expr, float]] = {"pi": (pi, math.pi), "e": (E, math.e), "E": (E, math.e)}


@dataclass(frozen=True)
class Value:
    """A part of the formula, with its value if it contains no columns."""

    expr: Expr
    constant: float | None


def read_number(token: Token) -> Value:
    value = float(token.text)
    _require_reasonable(value, token.position)
    if token.text.isdigit():
        return Value(Integer(token.text), value)
    return Value(Float(value), value)


def _require_reasonable(value: float, position: int) -> None:
    if not math.isfinite(value) or abs(value) > LARGEST_CONSTANT:
        raise FormulaError(f"a constant is larger than {LARGEST_CONSTANT:g}; rescale the formula", position)


def combine(left: Value, operator: Token, right: Value) -> Value:
    if operator.text == "/" and (right.expr == 0 or (left.constant is not None and right.constant == 0.0)):
        raise FormulaError("division by zero", operator.position)
    arithmetic = _ARITHMETIC[operator.text]
    constant = None
    if left.constant is not None and right.constant is not None:
        constant = arithmetic(left.constant, right.constant)
        _require_reasonable(constant, operator.position)
    return Value(arithmetic(left.expr, right.expr), constant)


def raise_to(base: Value, exponent: Value, position: int) -> Value:
    if exponent.constant is not None and abs(exponent.constant) > LARGEST_EXPONENT:
        raise FormulaError(f"an exponent is larger than {LARGEST_EXPONENT}", position)
    constant = None
    if base.constant is not None and exponent.constant is not None:
        constant = _real_power(base.constant, exponent.constant, position)
        _require_reasonable(constant, position)
    power = exponent.expr
    if isinstance(power, Float):
        structural = structural_exponent(float(power))  # x**0.5 means the square root
        power = power if structural is None else structural
    result = base.expr**power
    # SymPy folds (x**60)**60 into one power, so the limit has to hold for the result as well.
    if result.is_Pow and result.exp.is_Number and abs(float(result.exp)) > LARGEST_EXPONENT:
        raise FormulaError(f"an exponent is larger than {LARGEST_EXPONENT}", position)
    return Value(result, constant)


def _real_power(base: float, exponent: float, position: int) -> float:
    try:
        result = base**exponent
    except ZeroDivisionError:
        raise FormulaError("division by zero", position) from None
    except OverflowError:
        result = math.inf
    if isinstance(result, complex):
        raise FormulaError("a fractional power of a negative number is not real", position)
    return result


def apply(function: ElementaryFunction, argument: Value, token: Token) -> Value:
    constant = None
    if argument.constant is not None:
        if not function.domain.holds(argument.constant):
            raise FormulaError(f"{token.text}({argument.constant:g}) is not a real number", token.position)
        with np.errstate(all="ignore"):
            constant = float(function.value(np.float64(argument.constant)))  # pyright: ignore[reportArgumentType]
        _require_reasonable(constant, token.position)
    return Value(function.symbolic(argument.expr), constant)


def can_be_read(expression: Any) -> bool:
    """Return whether the parser would accept its text, which rejects exponents beyond the largest."""
    powers = (power.exp for power in expression.atoms(Pow) if power.exp.is_number)
    return all(abs(float(exponent)) <= LARGEST_EXPONENT for exponent in powers)
