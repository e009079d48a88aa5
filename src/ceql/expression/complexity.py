"""The size of a formula, counted in the same way as in the benchmarks."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Float, Pow, preorder_traversal

from ceql.expression.operations import extra_cost
from ceql.expression.symbolic import Expr

HIDDEN_IN_A_POWER = 3  # x**1.7 is exp(1.7*log(x)), which has this many more nodes


def node_count(expr: Expr, costs: Mapping[str, int] = {}) -> int:
    """Return the number of nodes of the expression tree: ``1.87*x1 + 2.01`` has five. ``costs`` make operators count
    more."""
    return sum(1 for _ in preorder_traversal(expr)) + extra_cost(expr, costs)


def structure_count(expr: Expr, costs: Mapping[str, int] = {}) -> int:
    """Return `node_count`, but with powers with decimal exponents counted as exponentials of logarithms."""
    decimal_powers = sum(1 for power in expr.atoms(Pow) if isinstance(power.exp, Float))
    return node_count(expr, costs) + HIDDEN_IN_A_POWER * decimal_powers
