"""Sums of terms with linear weights: a separate search, before and beside that with networks."""

from ceql.sums.peeling import Peeled, begun, next_rung
from ceql.sums.policy import SumSearchPolicy
from ceql.sums.search import Known, exact, stretch, tidied
from ceql.sums.table import Table, make_table
from ceql.sums.view import View, plain_view
from ceql.sums.writing import expression

__all__ = [
    "Known",
    "Peeled",
    "SumSearchPolicy",
    "Table",
    "View",
    "begun",
    "exact",
    "expression",
    "make_table",
    "next_rung",
    "plain_view",
    "stretch",
    "tidied",
]
