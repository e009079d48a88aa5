"""Fractions of polynomials without a search: y·Q(x) = P(x) is linear in the coefficients of both.

Without noise, the coefficients are the null vector of the matrix of this system. That takes milliseconds, whatever the
number of poles. It finds only such fractions, and none in noisy data: those are left to the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import comb
from typing import Any

import numpy as np

from ceql.closed_form.policy import FractionPolicy
from ceql.engine.one_thread import one_thread
from ceql.operators import get

Exponents = tuple[int, ...]

_ROUNDING = 1e-16  # rounding error of a singular value, as a share of the largest


@dataclass(frozen=True)
class Fraction:
    """A fraction of polynomials; `terms` counts those of numerator and denominator together."""

    expression: Any
    terms: int
    is_linear: bool  # both numerator and denominator; then there is no shorter form


@one_thread
@np.errstate(all="ignore")  # values that overflow are not used
def fraction(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    policy: FractionPolicy = FractionPolicy(),
    mixed: bool = True,
) -> Fraction | None:
    """Return the fraction of polynomials of low degree that equals y, over these symbols; None if there is none.

    Without `mixed`, no term has two columns; this leaves room for higher powers if there are many columns or few rows.
    """
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[: policy.rows])
    x, y = x[rows], y[rows]
    kind = _Terms(x.shape[1], mixed)
    shapes = _degrees(kind, len(y), policy)
    remainders: dict[tuple[int, int], float] = {}
    if not shapes:
        return None
    monomials = kind.up_to(max(max(shape) for shape in shapes))
    # Unscaled, rows near a pole would drown all others.
    values = _values(x, monomials) / np.sqrt(1.0 + y**2)[:, None]
    if not any(_may_vanish(values, y, kind, shape, policy) for shape in _widest(shapes)):
        return None
    for above, below in shapes:
        split = kind.count(above)
        terms = [*monomials[:split], *monomials[: kind.count(below)]]
        columns = _columns(values, y, kind, (above, below))
        size = np.linalg.norm(columns, axis=0)
        if not np.isfinite(size).all() or (size == 0.0).any():
            continue
        remainders[above, below] = remainder = _remainder(columns / size)
        before = min(remainders.get(smaller, np.inf) for smaller in ((above - 1, below), (above, below - 1)))
        if remainder > policy.vanishes:
            continue
        direction = _vanishing(columns / size, policy)
        if direction is None:
            return None
        needed = [terms[k] for k in np.flatnonzero(direction)]
        columns_needed = np.count_nonzero(np.sum(needed, axis=0))
        if before < policy.leap * max(remainder, _ROUNDING) and (
            len(needed) > policy.few_terms or columns_needed < policy.several_columns
        ):
            # The error of a smooth function falls with every degree, and with many terms it finally vanishes too.
            return None
        weights = direction / size
        denominator = _polynomial(weights[split:], terms[split:], symbols)
        if denominator == 0:
            return None
        numerator = _polynomial(weights[:split], terms[:split], symbols)
        return Fraction(numerator / denominator, int(np.count_nonzero(weights)), max(above, below) <= 1)
    return None


def squares(x: np.ndarray, symbols: Sequence[Any]) -> Iterator[tuple[np.ndarray, list[Any]]]:
    """Yield the columns with those of both signs squared, then with all squared; in these, even functions have half
    the degree."""
    both = [bool((column > 0).any() and (column < 0).any()) for column in x.T]
    for chosen in (both, [True] * len(both)) if any(both) and not all(both) else ([True] * len(both),):
        written = [symbol**2 if is_chosen else symbol for symbol, is_chosen in zip(symbols, chosen, strict=True)]
        yield np.where(np.array(chosen), x**2, x), written


def images(
    x: np.ndarray,
    symbols: Sequence[Any],
    plain: np.ndarray,
    plain_symbols: Sequence[Any],
    names: Sequence[str],
    policy: FractionPolicy = FractionPolicy(),
) -> Iterator[tuple[np.ndarray, list[Any]]]:
    """Yield columns and symbols in which one column, in the user's units, is replaced by an operator applied to it.

    If the values become too large, the operator is applied to the negative of the column: an exponential then falls.
    Nothing is yielded for tables with many columns: it would take too long, with room for little beyond linear
    fractions.
    """
    for name in names if x.shape[1] <= policy.most_replaced else ():
        operator = get(name)
        for k, (column, symbol) in enumerate(zip(plain.T, plain_symbols, strict=True)):
            for sign in (1, -1):
                with np.errstate(all="ignore"):
                    image = operator.real(sign * column)
                if np.isfinite(image).all() and np.abs(image).max() < policy.moderate and np.ptp(image) > 0:
                    columns, written = x.copy(), list(symbols)
                    columns[:, k], written[k] = image, operator.symbolic(sign * symbol)
                    yield columns, written
                    break


def _widest(shapes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the shapes that no other contains. A combination that vanishes in a smaller shape also does in these."""
    return [a for a in shapes if not any(a != b and a[0] <= b[0] and a[1] <= b[1] for b in shapes)]


def _may_vanish(
    values: np.ndarray, y: np.ndarray, kind: _Terms, shape: tuple[int, int], policy: FractionPolicy
) -> bool:
    columns = _columns(values, y, kind, shape)
    size = np.linalg.norm(columns, axis=0)
    if not np.isfinite(size).all() or (size == 0.0).any():
        return True  # a smaller shape may still vanish
    columns = columns / size
    sizes = np.linalg.eigvalsh(columns.T @ columns)  # squared singular values: half of the digits, but quick
    return bool(sizes[0] < policy.glance * sizes[-1]) and _remainder(columns) < policy.glimpse


def _columns(values: np.ndarray, y: np.ndarray, kind: _Terms, shape: tuple[int, int]) -> np.ndarray:
    above, below = map(kind.count, shape)
    return np.column_stack([values[:, :above], -y[:, None] * values[:, :below]])


def _remainder(columns: np.ndarray) -> float:
    """Return the smallest singular value of the columns as a share of the largest."""
    sizes = np.linalg.svd(columns, compute_uv=False)
    return float(sizes[-1] / sizes[0])


def _vanishing(columns: np.ndarray, policy: FractionPolicy) -> np.ndarray | None:
    """Return the vanishing combination of these columns that uses as few of them as possible; None if there is none."""
    alive = np.ones(columns.shape[1], bool)
    while alive.sum() > 1:
        _, sizes, directions = np.linalg.svd(columns[:, alive], full_matrices=False)
        if sizes[-1] > policy.vanishes * sizes[0]:
            return None
        direction = np.zeros(columns.shape[1])
        direction[alive] = directions[-1]
        idle = alive & (np.abs(direction) < policy.idle * np.max(np.abs(direction)))
        if not idle.any():
            return direction
        alive &= ~idle
    return None


def _degrees(kind: _Terms, n_rows: int, policy: FractionPolicy) -> list[tuple[int, int]]:
    """Return the degrees of numerator and denominator to try, fewest terms first."""

    def room(below: int) -> float:
        return min(policy.most_columns, n_rows / (policy.rows_per_column if below else policy.rows_per_power))

    degrees = {*product(range(policy.above + 1), range(policy.below + 1)), *((p, 0) for p in range(policy.alone + 1))}
    columns = {(p, q): kind.count(p) + kind.count(q) for p, q in degrees}
    return sorted((s for s, count in columns.items() if 2 < count <= room(s[1])), key=lambda s: (columns[s], s))


@dataclass(frozen=True)
class _Terms:
    """The monomials in a number of columns, lowest degree first; without `mixed`, only powers of single columns."""

    columns: int
    mixed: bool

    def count(self, degree: int) -> int:
        return comb(self.columns + degree, degree) if self.mixed else 1 + self.columns * degree

    def up_to(self, degree: int) -> list[Exponents]:
        return _monomials(self.columns, degree) if self.mixed else _powers(self.columns, degree)


@lru_cache(maxsize=64)
def _monomials(n_inputs: int, degree: int) -> list[Exponents]:
    chosen = [c for total in range(degree + 1) for c in combinations_with_replacement(range(n_inputs), total)]
    return [tuple(c.count(k) for k in range(n_inputs)) for c in chosen]


def _powers(n_inputs: int, degree: int) -> list[Exponents]:
    single = [
        tuple(power * (j == k) for j in range(n_inputs)) for power in range(1, degree + 1) for k in range(n_inputs)
    ]
    return [(0,) * n_inputs, *single]


def _values(x: np.ndarray, terms: Sequence[Exponents]) -> np.ndarray:
    """Return the values of all these monomials; each is one of lower degree times a column."""
    place = {exponents: k for k, exponents in enumerate(terms)}
    values = np.ones((len(x), len(terms)))
    for k, exponents in enumerate(terms):
        if any(exponents):
            last = max(j for j, power in enumerate(exponents) if power)
            lower = (*exponents[:last], exponents[last] - 1, *exponents[last + 1 :])
            values[:, k] = values[:, place[lower]] * x[:, last]
    return values


def _polynomial(weights: np.ndarray, terms: Sequence[Exponents], symbols: Sequence[Any]) -> Any:
    total: Any = 0
    for weight, exponents in zip(weights, terms, strict=True):
        if weight != 0.0:
            term: Any = float(weight)
            for symbol, power in zip(symbols, exponents, strict=True):
                term = term * symbol**power
            total = total + term
    return total
