"""Formulas that are sums of terms whose weights are held small together: made of a fit, and their terms again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ceql.choice.shrunk_line import ShrunkLine
from ceql.data.dataset import Dataset
from ceql.expression import parametrise
from ceql.formula import Formula, make_symbols, mean_square


def shrunk_sum(terms: Sequence[Any], line: ShrunkLine, data: Dataset) -> Formula:
    """The terms with the weights that the line through their values has, in as few digits as matter."""
    products = (float(weight) * term for weight, term in zip(line.rounded[1:], terms, strict=True))
    return shrunk_formula(float(line.rounded[0]) + sum(products), line, data)


def shrunk_formula(expression: Any, line: ShrunkLine, data: Dataset) -> Formula:
    """An expression with the numbers of the line, in any order, and their errors."""
    symbols = make_symbols(data.names)
    loss = mean_square(Formula(expression, symbols, np.inf)(data.x) - data.y, data.weight)
    errors = {abs(float(value)): float(error) for value, error in zip(line.rounded, line.errors, strict=True)}
    constants = tuple((float(value), errors[abs(float(value))]) for value in parametrise(expression).values)
    return Formula(expression, symbols, loss, constants, is_shrunk=True)


def term_values(formula: Formula, x: np.ndarray) -> np.ndarray:
    """The values of its terms without their weights, a column for each."""
    expression: Any = formula.expression
    parts = [part for part in expression.as_ordered_terms() if part.free_symbols]
    terms = [part.as_coeff_Mul()[1] for part in parts]
    return np.stack([Formula(term, formula.symbols, np.inf)(x) for term in terms], axis=1)
