"""The criterion, used everywhere: how well something fits against what it costs to write it. Smaller is better.

It is minus twice the logarithm of a probability: that of the residuals under the formula, with the size of the noise
fitted, times that of the formula under a prior, which `ceql.expression.prices` describes. `criterion` judges formulas;
`of_fits` judges fits of a network that are not formulas yet, with the edge as the unit of structure.
"""

from __future__ import annotations

import numpy as np

from ceql.engine.stages import edge_price
from ceql.expression.operations import extra_cost
from ceql.expression.prices import PRICES, Prices, exponents_price, structure_price
from ceql.formula import Formula

EDGE = 4.0  # price of an edge of a network beside its constant: about two nodes of the formula
_LEAST = 1e-300  # stands for a misfit of zero
_LEAST_FIT = 1e-30  # relative misfit of a fit below which rounding rules


def floor(loss: float) -> float:
    """The loss, or a tiny number in its place if it is zero, so that it has a logarithm."""
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


def constants_of(formula: Formula) -> int:
    """How many constants the rows have to determine: those of the law, which may occur twice, or the decimals."""
    if formula.law is None:
        return len(formula.form.symbols)
    return sum(constant.low < constant.high for constant in formula.law.constants)  # others are known


def interpolates(formula: Formula, rows: int) -> bool:
    """Whether it has at least half as many constants as rows, so that meeting the rows proves nothing."""
    return 2 * constants_of(formula) >= rows


def description(formula: Formula, prices: Prices = PRICES) -> float:
    """The price of a formula without its constants, in nats: of its structure, or of the name of its law."""
    extra = prices.leaf * extra_cost(formula.expression, formula.costs)
    structure = structure_price(formula.expression, prices)
    if formula.law is not None and formula.law.known:
        structure = min(structure, prices.of_law(formula.law.known))
    return structure + exponents_price(formula.expression, prices) + extra


def price_of_constants(constants: float, rows: int, prices: Prices = PRICES) -> float:
    """The price of this many fitted constants, in nats. The size of the noise counts as one more."""
    few = prices.few_rows * rows * np.log(rows / max(rows - constants, 0.5))
    return float(prices.constant * (constants + 1) * np.log(rows) + few)


def criterion(formula: Formula, rows: int, prices: Prices = PRICES) -> float:
    """The criterion of a formula on the data it was fitted to; infinite if it could fit any rows."""
    if interpolates(formula, rows):
        return np.inf
    price = 2.0 * (description(formula, prices) + price_of_constants(constants_of(formula), rows, prices))
    if formula.surprise is not None:  # a loss that is not of squares has its own likelihood
        return float(formula.surprise + price)
    return float(rows * np.log(floor(formula.loss)) + price)
