"""From the parameters of a fitted template to a SymPy expression in the user's units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ceql.network.extract import extract, upright
from ceql.templates.reading import symbol

if TYPE_CHECKING:
    from ceql.templates.assembly import Assembly, Block, Number

_AT_BOUND = 1e-12  # relative distance at which a parameter sits on its bound


def expression_of(assembly: Assembly, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any]) -> Any:
    """The formula. `symbols` stand for the columns; terms that are off and parameters that are out are left out."""
    return expression_with(assembly, edges, params, symbols, sympy.Float)


def expression_with(
    assembly: Assembly, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any], write: Any
) -> Any:
    columns: dict[Any, Any] = {symbol(name): s for name, s in zip(assembly.names, symbols, strict=True)}
    whole = columns | _values(assembly, -1, edges, params, symbols, write)
    parts: dict[str, list[Any]] = {name: [] for forms in assembly.term_forms.values() for name in forms}
    for number, term in enumerate(assembly.terms):
        if edges[term.gate]:
            own = whole | _values(assembly, number, edges, params, symbols, write)
            for name, form in assembly.term_forms[term.sum].items():
                parts[name].append(form.xreplace(own))
    sums = {symbol(name): sympy.Add(*terms) for name, terms in parts.items()}
    return assembly.frame.xreplace(whole | sums)


def _values(assembly: Assembly, term: int, edges: np.ndarray, params: np.ndarray, symbols: Any, write: Any) -> dict:
    found: dict[Any, Any] = {}
    for number in assembly.numbers:
        if number.term == term:
            found[symbol(number.name)] = _number(number, edges, params, write)
    for block in assembly.blocks:
        if block.term == term:
            found[symbol(block.name)] = function_expression(assembly, block, edges, params, symbols)
    return found


def _number(number: Number, edges: np.ndarray, params: np.ndarray, write: Any) -> Any:
    """A number on its bound is written as a fraction, which later refinements leave where it is."""
    if number.index < len(edges) and not edges[number.index]:
        return sympy.Integer(0)
    value = float(number.value(params[number.index]))
    for bound in (number.parameter.low, number.parameter.high):
        if np.isfinite(bound) and abs(value - bound) <= _AT_BOUND * max(abs(bound), number.parameter.size):
            return sympy.Rational(repr(float(bound)))
    return write(value)


def function_expression(
    assembly: Assembly, block: Block, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any]
) -> Any:
    """An unknown function as it was found; its network reads scaled columns."""
    scaled = [symbols[k] / float(assembly.scaling.x[k]) for k in block.columns]
    own = block.params(params).copy()
    readout = block.network.sums[-1]
    own[readout.first : readout.last] *= block.function.about
    return extract(block.network, edges[block.edges], own, scaled)


def uprighted(assembly: Assembly, edges: np.ndarray, params: np.ndarray, x: np.ndarray) -> np.ndarray:
    params = params.copy()
    for block in assembly.blocks:
        own = edges[block.edges]
        if own.any():
            turned = upright(block.network, own, block.params(params), x[:, list(block.columns)])
            params[block.edges] = turned[: block.network.n_edges]
    return params
