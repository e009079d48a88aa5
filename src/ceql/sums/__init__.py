"""Sums of terms: a search of its own for formulas whose weights are linear, before and beside the drawn networks."""

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
