"""Formulas as nested lists that read back to exactly the same tree.

Text is for people: reading it, SymPy multiplies out 2*(x + 1), so a formula may come back in another form. Here every
node stands as it is: ["Mul", 2.0, ["Add", "x", 1]]. Numbers with a point are Floats, texts are columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sympy import Add, Float, Integer, Mul, Pow, Rational, Symbol, pi
from sympy import E as EULER

from ceql.expression.compile import FUNCTIONS, UnsupportedExpression
from ceql.expression.symbolic import Expr

_RATIONAL, _FLOAT = "Rational", "Float"
_CONSTANTS = {"pi": pi, "E": EULER}
_NODES: dict[str, type] = {node.__name__: node for node in (Add, Mul, Pow, *FUNCTIONS)}
_NAMES = {node: name for name, node in _NODES.items()}
_DOUBLE = 53  # bits of a Float that was made of a number


def as_tree(expression: Expr) -> Any:
    """What JSON can hold of a formula that has a numpy program."""
    if isinstance(expression, Symbol):
        return expression.name
    if isinstance(expression, Integer):
        return int(expression)
    if isinstance(expression, Float):
        bits = expression._prec
        return float(expression) if bits == _DOUBLE else [_FLOAT, float(expression), bits]
    if isinstance(expression, Rational):
        return [_RATIONAL, int(expression.p), int(expression.q)]
    for name, constant in _CONSTANTS.items():
        if expression == constant:
            return [name]
    if expression.func not in _NAMES:
        raise UnsupportedExpression(f"{expression.func.__name__} cannot be written down")
    return [_NAMES[expression.func], *map(as_tree, expression.args)]


def from_tree(tree: Any, symbols: Sequence[Symbol]) -> Expr:
    """The formula, node by node and without any evaluation; a ValueError where the tree is none of ours."""
    return _built(tree, {symbol.name: symbol for symbol in symbols})


def _built(tree: Any, symbols: dict[str, Symbol]) -> Expr:
    if isinstance(tree, str) and tree in symbols:
        return symbols[tree]
    if isinstance(tree, int) and not isinstance(tree, bool):
        return Integer(tree)
    if isinstance(tree, float):
        return Float(tree)
    if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
        raise ValueError(f"{tree!r} is no part of a formula")
    name, *parts = tree
    if name in _CONSTANTS and not parts:
        return _CONSTANTS[name]
    if name == _RATIONAL:
        return Rational(*map(int, parts))
    if name == _FLOAT:
        return Float(float(parts[0]), precision=int(parts[1]))
    if name not in _NODES:
        raise ValueError(f"{name!r} is no node of a formula")
    node: Callable[..., Expr] = partial(_NODES[name], evaluate=False)
    return node(*(_built(part, symbols) for part in parts))
