"""Solves a relation for one of its columns, if there is a closed form."""

from __future__ import annotations

from typing import Any

import sympy

from ceql.errors import InputError, unknown_name
from ceql.relations.finding import Relation

_HIGHEST_DEGREE = 2  # highest degree of an equation that is solved
_INVERSES = {
    sympy.log: lambda value: [sympy.exp(value)],
    sympy.exp: lambda value: [sympy.log(value)],
    sympy.sin: lambda value: [sympy.asin(value), sympy.pi - sympy.asin(value)],
    sympy.cos: lambda value: [sympy.acos(value), -sympy.acos(value)],
    sympy.tan: lambda value: [sympy.atan(value)],
    sympy.tanh: lambda value: [sympy.atanh(value)],
    sympy.asin: lambda value: [sympy.sin(value)],
    sympy.acos: lambda value: [sympy.cos(value)],
    sympy.atan: lambda value: [sympy.tan(value)],
}


def level_symbol(relation: Relation) -> sympy.Symbol:
    """The symbol for the level of a group, named unlike any column."""
    name = "level"
    while name in relation.names:
        name += "_"
    return sympy.Symbol(name, real=True)


def solved_for(relation: Relation, column: str) -> list[Any]:
    """All formulas for this column, one for each branch. A level that differs between groups is the symbol `level`."""
    if column not in relation.names:
        raise unknown_name("column", column, relation.names)
    if column not in relation.columns:
        raise InputError(f"{column!r} does not occur in {relation}: choose one of {', '.join(relation.columns)}.")
    level = level_symbol(relation) if relation.is_grouped else _number(relation.levels[0].value)
    found = _roots(relation.left - level, sympy.Symbol(column, real=True))
    if not found:
        raise InputError(
            f"{relation} cannot be solved for {column!r} in closed form: find a root of residual(X) in it numerically."
        )
    return [_with_whole_numbers(formula) for formula in found]


def _with_whole_numbers(formula: Any) -> Any:
    """The formula with 1.0, which SymPy leaves behind, written as 1."""
    whole = {number: sympy.Integer(int(number)) for number in formula.atoms(sympy.Float) if float(number).is_integer()}
    return formula.xreplace(whole)


def _number(value: float) -> Any:
    return sympy.Integer(int(value)) if value.is_integer() else sympy.Float(value)


def _roots(equation: Any, unknown: sympy.Symbol) -> list[Any]:
    """The roots of the equation in the unknown; empty if they cannot be found."""
    above = sympy.fraction(sympy.together(equation))[0]
    for part in _parts(above, unknown):
        stands_for = sympy.Dummy("u", real=True)
        plain = above.xreplace({part: stands_for})
        if plain.has(unknown):
            continue
        found = [root for value in _polynomial_roots(plain, stands_for) for root in _undone(part, value, unknown)]
        if found:
            return found
    return []


def _parts(equation: Any, unknown: sympy.Symbol) -> list[Any]:
    """What the equation may be a polynomial of: the unknown itself, or one function or power of it."""
    functions = [node for node in sympy.preorder_traversal(equation) if _is_function(node) and node.has(unknown)]
    return [unknown, *sorted(set(functions), key=sympy.count_ops)]


def _is_function(node: Any) -> bool:
    if isinstance(node, sympy.Pow) and node.base is not sympy.E:
        return not node.exp.is_Integer and not node.exp.free_symbols
    return isinstance(node, sympy.Function) or (isinstance(node, sympy.Pow) and node.base is sympy.E)


def _polynomial_roots(equation: Any, unknown: sympy.Symbol) -> list[Any]:
    expanded = sympy.expand(equation)
    if not expanded.is_polynomial(unknown):
        return []
    coefficients = sympy.Poly(expanded, unknown).all_coeffs()[::-1]
    powers = [power for power, times in enumerate(coefficients) if times != 0]
    if len(powers) == 2 and powers[0] == 0:  # a*u**n + c
        return _power_undone(-coefficients[0] / coefficients[powers[1]], sympy.Integer(powers[1]))
    if len(coefficients) != _HIGHEST_DEGREE + 1:
        return []
    c, b, a = coefficients
    root = sympy.sqrt(b**2 - 4 * a * c)
    return [(-b + root) / (2 * a), (-b - root) / (2 * a)]


def _undone(part: Any, value: Any, unknown: sympy.Symbol) -> list[Any]:
    """The values of the unknown for which this part of the equation has this value."""
    if part == unknown:
        return [value]
    if isinstance(part, sympy.Pow) and part.base is not sympy.E:
        inner = [(part.base, root) for root in _power_undone(value, part.exp)]
    else:
        kind = sympy.exp if isinstance(part, sympy.Pow) else part.func
        if kind not in _INVERSES:
            return []
        argument = part.exp if isinstance(part, sympy.Pow) else part.args[0]
        inner = [(argument, other) for other in _INVERSES[kind](value)]
    return [root for inside, other in inner for root in _roots(inside - other, unknown)]


def _power_undone(value: Any, exponent: Any) -> list[Any]:
    """The solutions u of u**exponent = value; two if the exponent is even."""
    if exponent == 1:
        return [value]
    root = value ** (1 / exponent)
    return [root, -root] if exponent.is_Integer and exponent % 2 == 0 else [root]
