"""Where a formula blows up inside a box: the zeros of its denominators and of what goes into its logarithms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy
from scipy.optimize import brentq

from ceql.expression.compile import compile_numpy
from ceql.operators import functions

_GRID = 4001
_SPREAD = 4096


@dataclass(frozen=True)
class Pole:
    """A set where `vanishes` is zero. With one variable `location` is the point; with more it is None."""

    kind: str  # "pole", "log singularity" or "edge of the domain"
    vanishes: sympy.Expr
    location: float | None

    def __str__(self) -> str:
        return f"{self.vanishes} = 0" if self.location is None else f"{self._name} = {self.location:.6g}"

    @property
    def _name(self) -> str:
        return str(next(iter(self.vanishes.free_symbols)))


def find_poles(
    expression: sympy.Expr, symbols: Sequence[sympy.Symbol], lower: np.ndarray, upper: np.ndarray
) -> list[Pole]:
    """The poles inside the box from `lower` to `upper`."""
    return zero_sets(_singular_factors(expression), symbols, lower, upper)


def zero_sets(
    factors: Iterable[tuple[str, sympy.Expr]], symbols: Sequence[sympy.Symbol], lower: np.ndarray, upper: np.ndarray
) -> list[Pole]:
    """Where these factors, each with its kind, vanish inside the box from `lower` to `upper`."""
    found: list[Pole] = []
    for kind, factor in sorted(set(factors), key=str):
        used = [k for k, symbol in enumerate(symbols) if symbol in factor.free_symbols]
        if len(used) == 1:
            k = used[0]
            roots = _roots(factor, symbols[k], float(lower[k]), float(upper[k]))
            found.extend(Pole(kind, factor, root) for root in roots)
        elif used and _changes_sign(factor, symbols, lower, upper):
            found.append(Pole(kind, factor, None))
    return found


def _singular_factors(expression: sympy.Expr) -> Iterator[tuple[str, sympy.Expr]]:
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
def _roots(factor: sympy.Expr, symbol: sympy.Symbol, lower: float, upper: float) -> list[float]:
    function = compile_numpy(factor, [symbol])

    def at(point: float) -> float:
        return float(np.ravel(function(np.array([[point]])))[0])

    grid = np.linspace(lower, upper, _GRID)
    values = np.broadcast_to(function(grid[:, None]), grid.shape)
    if np.isnan(values).all():
        return []
    roots = [float(x) for x in grid[values == 0]]
    for k in np.flatnonzero(values[:-1] * values[1:] < 0):
        root = float(brentq(at, grid[k], grid[k + 1]))  # pyright: ignore[reportArgumentType]
        # A sign change through infinity is a pole of the factor, not a zero.
        if abs(at(root)) <= min(abs(values[k]), abs(values[k + 1])):
            roots.append(root)
    # A double zero touches without crossing.
    size = np.abs(values)
    dips = np.flatnonzero((size[1:-1] < size[:-2]) & (size[1:-1] < size[2:]) & (size[1:-1] < 1e-7 * np.nanmedian(size)))
    roots.extend(float(grid[k + 1]) for k in dips if not any(abs(grid[k + 1] - r) < grid[1] - grid[0] for r in roots))
    return sorted(set(roots))


def _changes_sign(factor: sympy.Expr, symbols: Sequence[sympy.Symbol], lower: np.ndarray, upper: np.ndarray) -> bool:
    points = np.random.default_rng(0).uniform(lower, upper, (_SPREAD, len(symbols)))
    values = np.broadcast_to(compile_numpy(factor, list(symbols))(points), (_SPREAD,))
    return bool((values > 0).any() and (values < 0).any())
