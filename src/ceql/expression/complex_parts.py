"""Converts a formula with the imaginary unit into a real one, whose column `part` selects the real or imaginary part.

Columns and constants are real. Functions of complex arguments have their principal values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any

import sympy
from sympy import Abs, Rational, S, Symbol, atan, cos, cosh, exp, log, pi, sin, sinh, sqrt, tan, tanh

from ceql.expression.symbolic import Expr
from ceql.expression.text.parse import parse_formula
from ceql.expression.text.tokens import FormulaError

UNIT = Symbol("I")  # not declared real, so that SymPy does not turn sqrt(I**2) into |I|
PART = "part"  # name of the column that is 0 for real and 1 for imaginary parts

Parts = tuple[Any, Any]


def parse_with_unit(text: str, names: Sequence[str]) -> Expr:
    """Parse a formula in which I is the imaginary unit unless it is one of the names."""
    return parse_formula(text, names, given={} if UNIT.name in names else {UNIT.name: UNIT})


def is_complex(expr: Expr) -> bool:
    return UNIT in expr.free_symbols


@lru_cache(maxsize=256)  # the same template is converted many times
def real_form(expr: Expr) -> Expr:
    """Return a formula whose value is the real part if `part` is 0 and the imaginary part if it is 1; a formula without
    the imaginary unit is unchanged."""
    if not is_complex(expr):
        return expr
    real, imaginary = _parts(expr)
    part = Symbol(PART, real=True)
    return (1 - part) * real + part * imaginary


def _parts(expr: Any) -> Parts:
    if not is_complex(expr):
        return expr, S.Zero
    if expr == UNIT:
        return S.Zero, S.One
    if expr.is_Add:
        parts = [_parts(term) for term in expr.args]
        return sympy.Add(*(a for a, _ in parts)), sympy.Add(*(b for _, b in parts))
    if expr.is_Mul:
        return reduce(_times, map(_parts, expr.args))
    if expr.is_Pow and expr.base is not S.Exp1:
        return _power(_parts(expr.base), _parts(expr.exp))
    argument = _parts(expr.exp if expr.is_Pow else expr.args[0])
    kind = exp if expr.is_Pow else expr.func
    if kind not in _FUNCTIONS:
        known = ", ".join(sorted(["sqrt", *(function.__name__ for function in _FUNCTIONS)]))
        raise FormulaError(f"{kind.__name__} of a complex argument is not known; known are {known} and powers", 0)
    return _FUNCTIONS[kind](*argument)


def _times(one: Parts, other: Parts) -> Parts:
    (a, b), (c, d) = one, other
    return a * c - b * d, a * d + b * c


def _inverse(z: Parts) -> Parts:
    a, b = z
    square = a**2 + b**2
    return a / square, -b / square


def _power(base: Parts, exponent: Parts) -> Parts:
    (a, b), (n, of_unit) = base, exponent
    if of_unit != 0:
        return _exp(*_times(_log(a, b), exponent))
    if n.is_Integer:
        whole = reduce(_times, [base] * abs(int(n)))
        return whole if n > 0 else _inverse(whole)
    if n == Rational(1, 2):
        return _sqrt(a, b)
    if n == -Rational(1, 2):
        return _inverse(_sqrt(a, b))
    size, angle = _polar(a, b)
    return size**n * cos(n * angle), size**n * sin(n * angle)


def _polar(a: Any, b: Any) -> Parts:
    """Return size and angle; the half-angle formula is correct on both sides of the imaginary axis."""
    if a == 0:
        return Abs(b), pi / 2 * b / Abs(b)
    size = sqrt(a**2 + b**2)
    return size, 2 * atan(b / (size + a))


def _sqrt(a: Any, b: Any) -> Parts:
    size = Abs(b) if a == 0 else sqrt(a**2 + b**2)
    root = sqrt((size + a) / 2)
    return root, b / (2 * root)


def _exp(a: Any, b: Any) -> Parts:
    return exp(a) * cos(b), exp(a) * sin(b)


def _log(a: Any, b: Any) -> Parts:
    size, angle = _polar(a, b)
    return log(size), angle


def _tanh(a: Any, b: Any) -> Parts:
    """Return the parts of tanh z, from exp(-2 z), which does not overflow if the real part is positive, as of roots."""
    real, imaginary = _exp(-2 * a, -2 * b)
    return _times((1 - real, -imaginary), _inverse((1 + real, imaginary)))


def _tan(a: Any, b: Any) -> Parts:
    real, imaginary = _tanh(-b, a)  # tan z = -i tanh(i z)
    return imaginary, -real


_FUNCTIONS: dict[Any, Callable[[Any, Any], Parts]] = {
    exp: _exp,
    log: _log,
    sin: lambda a, b: (sin(a) * cosh(b), cos(a) * sinh(b)),
    cos: lambda a, b: (cos(a) * cosh(b), -sin(a) * sinh(b)),
    sinh: lambda a, b: (sinh(a) * cos(b), cosh(a) * sin(b)),
    cosh: lambda a, b: (cosh(a) * cos(b), sinh(a) * sin(b)),
    tan: _tan,
    tanh: _tanh,
    Abs: lambda a, b: (sqrt(a**2 + b**2), S.Zero),
}
