"""Formulas as objects: reading and evaluating them, fitting and rounding their constants, finding shorter forms.

Everything here works on SymPy expressions whose decimal constants are Float and whose columns are
real symbols.  A formula from the engine usually passes through ``smallest`` (the equal form with the
fewest nodes), ``refit`` (constants to rounding level), ``snap`` (constants to the short numbers they
stand for), ``round_to_errors`` (no more digits than the noise leaves) and ``readable`` (the free scales
of fractions, logs and roots chosen so that all constants are short).  ``is_exact`` compares the result
with a known truth.  No step changes what the formula computes beyond what its documentation states, and
none evaluates text.
"""

from ceql.expression.algebra.effort import BRIEF, JUDGEMENT, THOROUGH, Effort
from ceql.expression.algebra.readable import readable
from ceql.expression.algebra.simplify import forms, smallest
from ceql.expression.complexity import node_count
from ceql.expression.constants import Parametrised, Refit, parametrise, refit, round_to_errors, snap
from ceql.expression.equivalence import Equivalence, equivalence, is_exact
from ceql.expression.text.parse import FormulaError, parse_formula
from ceql.operators.program import (
    CompiledFormula,
    CompiledJacobian,
    UnsupportedExpression,
    compile_numpy,
    value_and_jacobian,
)

__all__ = [
    "BRIEF",
    "JUDGEMENT",
    "THOROUGH",
    "CompiledFormula",
    "CompiledJacobian",
    "Effort",
    "Equivalence",
    "FormulaError",
    "Parametrised",
    "Refit",
    "UnsupportedExpression",
    "compile_numpy",
    "equivalence",
    "forms",
    "is_exact",
    "node_count",
    "parametrise",
    "parse_formula",
    "readable",
    "refit",
    "round_to_errors",
    "smallest",
    "snap",
    "value_and_jacobian",
]
