"""A sum as a SymPy expression in the columns."""

from __future__ import annotations

from functools import cache
from itertools import product as every
from typing import Any

import numpy as np
import sympy

from ceql.expression.text.parse import parse_formula
from ceql.sums.table import Table
from ceql.sums.terms import Factor, Sum, Term, columns_of
from ceql.sums.vocabulary import KINDS

_U, _P, _Q, _R = (sympy.Symbol(name, real=True) for name in "upqr")
_IDLE = 1e-10  # the share of y below which a column is rounding
_WHOLE = 1e-8  # an exponent this close to a whole number or a half is meant to be one


@cache
def _formula(text: str) -> Any:
    return parse_formula(text, ("u", "p", "q", "r"))


def expression(found: Sum, table: Table) -> Any:
    """What rounding has left of a column is not written."""
    size, place, total = float(np.linalg.norm(table.y)), 0, sympy.Integer(0)
    for term in found.terms:
        columns = columns_of(term, table.inners.values, table.monomials.values)[0] * table.root_weight[:, None]
        weights = np.array(found.weights[place : place + columns.shape[1]])
        place += columns.shape[1]
        shares = np.abs(weights) * np.linalg.norm(columns, axis=0) / size
        total = total + _written(term, np.where(shares > _IDLE, weights, 0.0), table)
    return total


def _written(term: Term, weights: np.ndarray, table: Table) -> Any:
    """The weights are in the order of `columns_of`: columns of the factors, and the monomials of each."""
    monomials = [table.monomials.written[m] for m in term.monomials]
    parts = weights.reshape(-1, len(monomials))
    first = KINDS[term.factors[0].kind] if term.factors else None
    if len(term.factors) == 1 and first is not None and first.joined is not None and len(monomials) == 1:
        sine, cosine = parts[:, 0].tolist()
        if sine != 0.0 and cosine != 0.0:
            wave = _of(first.joined, term.factors[0], table).xreplace(
                {_R: sympy.Float(float(np.arctan2(cosine, sine)))}
            )
            return float(np.hypot(sine, cosine)) * monomials[0] * wave
    choices = every(*[KINDS[factor.kind].columns for factor in term.factors])
    total: Any = sympy.Integer(0)
    for choice, own in zip(choices, parts.tolist(), strict=True):
        factors = [_of(text, factor, table) for text, factor in zip(choice, term.factors, strict=True)]
        inside = sum(weight * monomial for weight, monomial in zip(own, monomials, strict=True) if weight)
        total = total + inside * sympy.Mul(*factors)
    return total


def _of(text: str, factor: Factor, table: Table) -> Any:
    numbers = {
        symbol: _number(value, text, symbol.name) for symbol, value in zip((_P, _Q), factor.numbers, strict=False)
    }
    return _formula(text).xreplace({_U: table.inners.written[factor.inner], **numbers})


def _number(value: float, text: str, name: str) -> Any:
    """An exponent that is simple to all digits is written as such."""
    near = round(2.0 * value) / 2.0
    if f"**{name}" in text and abs(value - near) < _WHOLE:
        return sympy.Rational(round(2.0 * value), 2)
    return sympy.Float(value)
