"""Finds where a formula is singular or stops having real values inside a box.

It is singular at the zeros of its denominators and of the arguments of its logarithms.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import sympy
from scipy.optimize import brentq

from ceql.expression.complexity import node_count
from ceql.expression.symbolic import Expr
from ceql.operators import functions
from ceql.operators.program import compile_numpy

Factor = tuple[str, Expr]  # an expression, after the kind of singularity at its zeros

EDGE = "edge of the domain"
_GRID = 4001
_SPREAD = 4096
# Limits on the work, since a formula from an untrusted file may have thousands of factors with thousands of zeros each.
_MOST_NODES = 2000  # nodes of all factors that are examined, the smallest first
_MOST_STEPS = 10_000  # cost of locating zeros: for each zero the nodes of its factor, plus that of a call
_CALL = 10  # cost of a call, in nodes


@dataclass(frozen=True)
class Pole:
    """A set on which `vanishes` is zero. With one variable, `location` is the point; with several, it is None.

    It is also None if there are too many points to locate; the equation then represents all of them.
    """

    kind: str  # "pole", "log singularity" or "edge of the domain"
    vanishes: Expr
    location: float | None
    group: str = ""  # the group of rows, if each group has its own constants

    def __str__(self) -> str:
        text = f"{self.vanishes} = 0" if self.location is None else f"{self._name} = {self.location:.6g}"
        return f"{text} ({self.group})" if self.group else text

    @property
    def _name(self) -> str:
        return str(next(iter(self.vanishes.free_symbols)))


def find_poles(expression: Expr, symbols: Sequence[sympy.Symbol], lower: np.ndarray, upper: np.ndarray) -> list[Pole]:
    """Return the poles and log singularities inside the box from `lower` to `upper`."""
    return zero_sets(singular_factors(expression), symbols, lower, upper)


def find_borders(expression: Expr, symbols: Sequence[sympy.Symbol], lower: np.ndarray, upper: np.ndarray) -> list[Pole]:
    """Return poles, log singularities and edges of the domain inside the box from `lower` to `upper`."""
    poles = find_poles(expression, symbols, lower, upper)
    edges = zero_sets(((EDGE, inner) for inner in not_negative(expression)), symbols, lower, upper)
    known = {(pole.vanishes, pole.location) for pole in poles}
    return poles + [edge for edge in edges if (edge.vanishes, edge.location) not in known]


def zero_sets(
    factors: Iterable[Factor], symbols: Sequence[sympy.Symbol], lower: np.ndarray, upper: np.ndarray
) -> list[Pole]:
    """Return where these factors vanish inside the box from `lower` to `upper`, each with its kind."""
    found: dict[Factor, list[Pole]] = {}
    left = _MOST_STEPS
    for kind, factor in _looked_at(factors)[0]:
        used = [k for k, symbol in enumerate(symbols) if symbol in factor.free_symbols]
        if len(used) == 1:
            k = used[0]
            price = node_count(factor) + _CALL
            roots = _roots(factor, symbols[k], float(lower[k]), float(upper[k]), left // price)
            found[kind, factor] = [Pole(kind, factor, root) for root in roots]
            left -= price * sum(root is not None for root in roots)
        elif used and _changes_sign(factor, symbols, lower, upper):
            found[kind, factor] = [Pole(kind, factor, None)]
    return [pole for factor in sorted(found, key=str) for pole in found[factor]]


def count_overlooked(expression: Expr) -> int:
    """Return the number of possibly singular factors that are not examined, because the formula has too many."""
    return len(_looked_at(singular_factors(expression))[1])


def _looked_at(factors: Iterable[Factor]) -> tuple[list[Factor], list[Factor]]:
    """Return the smallest factors, which are examined, and the remaining ones, which are not."""
    ordered = sorted(set(factors), key=lambda factor: (node_count(factor[1]), str(factor)))
    nodes = list(accumulate(node_count(factor) for _, factor in ordered))
    within = max(1, bisect_right(nodes, _MOST_NODES))
    return ordered[:within], ordered[within:]


def singular_factors(expression: Expr) -> Iterator[Factor]:
    """Yield all expressions at whose zeros the formula is singular, each with the kind of singularity."""
    for part in expression.atoms(*functions.kinds()):
        function = functions.of_kind(part.func)
        if function is not None and function.singular is not None and part.args[0].free_symbols:
            kind, vanishing = function.singular
            yield kind, vanishing(part.args[0])
    for part in expression.atoms(sympy.Pow):
        base, exponent = part.as_base_exp()
        if exponent.is_number and exponent.is_negative:
            for factor in sympy.Mul.make_args(base):
                inner = factor.as_base_exp()[0]
                if inner.free_symbols:
                    yield "pole", inner


@np.errstate(all="ignore")
def _roots(factor: Expr, symbol: sympy.Symbol, lower: float, upper: float, most: int) -> list[float] | list[None]:
    """Return the zeros in order; a single None if there may be more than `most`."""
    function = compile_numpy(factor, [symbol])

    def at(point: float) -> float:
        return float(np.ravel(function(np.array([[point]])))[0])

    grid = np.linspace(lower, upper, _GRID)
    values = np.broadcast_to(function(grid[:, None]), grid.shape)
    if np.isnan(values).all():
        return []
    changes = np.flatnonzero(values[:-1] * values[1:] < 0)
    if len(changes) + np.count_nonzero(values == 0) > most:
        return [None]
    roots = [float(x) for x in grid[values == 0]]
    for k in changes:
        root = float(brentq(at, grid[k], grid[k + 1]))  # pyright: ignore[reportArgumentType]
        # A sign change through infinity is a pole of the factor, not a zero.
        if abs(at(root)) <= min(abs(values[k]), abs(values[k + 1])):
            roots.append(root)
    # A double zero touches without crossing.
    size = np.abs(values)
    dips = np.flatnonzero((size[1:-1] < size[:-2]) & (size[1:-1] < size[2:]) & (size[1:-1] < 1e-7 * np.nanmedian(size)))
    roots.extend(float(grid[k + 1]) for k in dips if not any(abs(grid[k + 1] - r) < grid[1] - grid[0] for r in roots))
    return sorted(set(roots))


def _changes_sign(factor: Expr, symbols: Sequence[sympy.Symbol], lower: np.ndarray, upper: np.ndarray) -> bool:
    points = np.random.default_rng(0).uniform(lower, upper, (_SPREAD, len(symbols)))
    values = np.broadcast_to(compile_numpy(factor, list(symbols))(points), (_SPREAD,))
    return bool((values > 0).any() and (values < 0).any())


def has_no_numbers(factor: Expr) -> bool:
    """Return whether the place of its zeros depends on no number, as for x1 - x2 and tan(x)."""
    shifted = any(term.is_number for part in factor.atoms(sympy.Add) for term in part.args)
    return not shifted and not factor.has(sympy.Float)


def not_negative(expression: Expr) -> Iterator[Expr]:
    """Yield expressions that must not be negative where the formula is defined: from roots, powers and arc sines."""
    for part in expression.atoms(sympy.Pow):
        inner = part.args[0]
        if inner.free_symbols and not (part.exp.is_number and float(part.exp).is_integer()):
            yield inner
    yield from _margins(expression, closed=True)


def positive_only(expression: Expr) -> Iterator[Expr]:
    """Yield expressions that must be positive where the formula is defined: arguments of logarithms."""
    return _margins(expression, closed=False)


def _margins(expression: Expr, closed: bool) -> Iterator[Expr]:
    for part in expression.atoms(*functions.kinds()):
        function = functions.of_kind(part.func)
        if function is None or function.domain.is_everything or not part.args[0].free_symbols:
            continue
        if function.domain.closed is closed:
            yield function.domain.margin(part.args[0])


def restricted(expression: Expr, values: Mapping[sympy.Symbol, float]) -> Expr:
    """Return the formula with these inputs fixed at these values."""
    return expression.xreplace({symbol: sympy.Float(value) for symbol, value in values.items()})
