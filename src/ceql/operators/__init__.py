"""The operators a network is made of.

Each is one object that knows its complex surrogate for training, its exact real form, its SymPy form and how it is
written onto a tape. Those of one argument are made from the table of elementary functions (``functions.py``), which
parser, evaluator and exports use as well. Users add their own with :func:`register`.
"""

from ceql.operators.base import Argument, Operator
from ceql.operators.custom import register
from ceql.operators.library import get, names

__all__ = ["Argument", "Operator", "get", "names", "register"]
