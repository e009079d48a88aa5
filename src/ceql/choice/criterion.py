"""The one criterion: how well something fits against what it costs to say it. Small is good.

It is the Bayesian information criterion with a price on structure, since every node of a formula could have been
another one. A formula is judged by `criterion`; fits of a network that are not formulas yet by `of_fits`, with the
edge as the unit of structure; `of_rows` is what both are made of.
"""

from __future__ import annotations

import numpy as np

from ceql.engine.stages import edge_price
from ceql.expression import parametrise
from ceql.expression.complexity import structure_count
from ceql.formula import Formula

NODE = 2.0  # price of a node of a formula
EDGE = 4.0  # price of an edge of a network beside its constant: about two nodes of the formula
_LEAST = 1e-300  # stands for a misfit of zero
_LEAST_FIT = 1e-30  # relative misfit of a fit below which rounding rules


def floor(loss: float) -> float:
    """The loss, or what stands for one of zero where its logarithm is asked for."""
    return max(loss, _LEAST)


def of_rows(misfit, constants, rows: float, structure=0.0, counted: float | None = None):
    """rows * log(misfit), a logarithm of the rows for every constant, and the price of the structure.

    `counted` is the number of rows of the table where only some of them make up the misfit.
    """
    price = np.log(rows if counted is None else counted)
    return rows * np.log(np.maximum(misfit, _LEAST)) + price * constants + structure


def of_fits(misfit, edges, rows: int):
    """For fits of a network: each edge has a constant and brings structure."""
    return of_rows(misfit, edges, rows, EDGE * edges)


def per_row(misfit: np.ndarray, edges: np.ndarray, rows: int) -> np.ndarray:
    """For the archive, where structure is free: a fit may still be reduced."""
    return np.log(np.maximum(misfit, _LEAST_FIT)) + edges * edge_price(rows)


def interpolates(formula: Formula, rows: int) -> bool:
    """Whether it has as many constants as half the rows: meeting the rows would prove nothing then."""
    return 2 * len(parametrise(formula.expression).symbols) >= rows


def criterion(formula: Formula, rows: int) -> float:
    """Of a formula on the data it was fitted to; infinite where it could meet any rows."""
    if interpolates(formula, rows):
        return np.inf
    structure = NODE * structure_count(formula.expression, formula.costs)
    fitted = len(parametrise(formula.expression).symbols) + 1  # the size of the noise is one more
    # With few rows a formula follows the noise further than the logarithm knows (Hurvich and Tsai's correction).
    structure += 2.0 * fitted * (fitted + 1) / max(rows - fitted - 1, 0.5)
    if formula.surprise is not None:  # a loss that is not of squares has its own likelihood
        return float(formula.surprise + np.log(rows) * fitted + structure)
    return float(of_rows(formula.loss, fitted, rows, structure))
