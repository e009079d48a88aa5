"""Sums of terms: a search of its own for formulas whose weights are linear, before and beside the drawn networks."""

from ceql.sums.policy import SumSearchPolicy
from ceql.sums.search import Known, begin, exact, stretch, tidied
from ceql.sums.table import Table, make_table
from ceql.sums.writing import expression

__all__ = ["Known", "SumSearchPolicy", "Table", "begin", "exact", "expression", "make_table", "stretch", "tidied"]
