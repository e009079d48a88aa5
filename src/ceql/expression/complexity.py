"""How large a formula is, counted the way the benchmarks count it."""

from __future__ import annotations

from sympy import preorder_traversal

from ceql.expression.symbolic import Expr


def node_count(expr: Expr) -> int:
    """Number of nodes of the expression tree: ``1.87*x1 + 2.01`` has five."""
    return sum(1 for _ in preorder_traversal(expr))
