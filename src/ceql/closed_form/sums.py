"""Sums of a few terms found without a search: each term is a constant times powers and functions of the columns.

Hundreds of possible terms are the columns of a matrix. Orthogonal least squares adds them one by one, each time the one
with the smallest residual; a few rivals are followed side by side. Without noise, the last of the right terms lowers
the residual by many decades, to rounding level. For a smooth function that is no such sum the residual falls gradually,
and it is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations, islice, product
from typing import Any

import numpy as np

from ceql.closed_form.policy import NoisyFormPolicy, PowerPolicy, SumPolicy
from ceql.closed_form.sparse import few_of
from ceql.data.correlations import best_products
from ceql.engine.one_thread import one_thread
from ceql.operators import get


@dataclass(frozen=True, eq=False)
class _Atom:
    """A factor of terms, with its lowest and highest power."""

    values: np.ndarray
    symbol: Any
    lowest: int
    highest: int


Written = tuple[np.ndarray, Callable[[], Any]]  # the values of a term and a way to write it
_Term = tuple[tuple[int, int], ...]  # pairs of atom and power


@one_thread
def sparse_sum(
    x: np.ndarray, y: np.ndarray, symbols: Sequence[Any], functions: Sequence[str], policy: SumPolicy = SumPolicy()
) -> Any:
    """Return the sum of few terms that equals y, over these symbols; None if there is none.

    `functions` are names of operators that may be applied to a column. With sqrt among them, terms may also be products
    of powers of square roots; with abs as well, also of columns of both signs.
    """
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[: policy.rows])
    x, y = x[rows], y[rows]
    bases = [_powers(x.T, symbols, policy.powers)]
    if "sqrt" in functions and ("abs" in functions or (x > 0).all()):
        roots = [get("sqrt").symbolic(sized(column, symbol)) for column, symbol in zip(x.T, symbols, strict=True)]
        bases.append(_powers([np.sqrt(np.abs(column)) for column in x.T], roots, policy.powers))
    images = _images(functions, x, symbols)
    for powers in bases:
        if (found := _sum_of(powers, _terms(powers, policy.most_candidates, policy.powers), y, policy)) is not None:
            return found
    for powers in bases if images else []:
        if (found := _sum_of([*powers, *images], _with_functions(powers, images, y, policy), y, policy)) is not None:
            return found
    if x.shape[1] > policy.few_columns:
        return None
    nested = [*images, *_images(functions, *_inner(x, symbols))]
    terms = _nested(bases[0], len(images), len(nested), policy)
    return _sum_of([*bases[0], *nested], terms, y, policy) if nested else None


def _inner(x: np.ndarray, symbols: Sequence[Any]) -> tuple[np.ndarray, list[Any]]:
    """Return further arguments of functions, besides the columns: squares, cubes, products and ratios."""
    columns = list(zip(x.T, symbols, strict=True))
    inner = [(u**power, symbol**power) for power in (2, 3) for u, symbol in columns]
    for (a, one), (b, other) in combinations(columns, 2):
        inner += [(a * b, one * other), *([(a / b, one / other)] if (b != 0.0).all() else [])]
    return np.column_stack([values for values, _ in inner]), [symbol for _, symbol in inner]


def _nested(powers: Sequence[_Atom], simple: int, images: int, policy: SumPolicy) -> list[_Term]:
    """Return terms, smallest first: products of powers, these times one function, products of two functions, and of one
    with the square of another among the first `simple` ones."""
    first = len(powers)
    plain = _terms(powers, policy.most_nested, policy.powers)
    pairs = list(_pairs(first, images))
    squares = [((i, 1), (j, 2)) for i, j in product(range(first, first + simple), repeat=2) if i != j]
    room = max((policy.most_with_functions - len(plain) - len(pairs)) // max(images, 1), 1)
    products = [(*term, (first + k, 1)) for term in plain[:room] for k in range(images)]
    return sorted([*plain, *products, *pairs, *squares], key=_size)


def sized(column: np.ndarray, symbol: Any) -> Any:
    """Return the absolute value of a column as an expression, without bars if the column has one sign."""
    return symbol if (column >= 0.0).all() else -symbol if (column <= 0.0).all() else get("abs").symbolic(symbol)


def monomials(x: np.ndarray, symbols: Sequence[Any], most: int, policy: PowerPolicy = PowerPolicy()) -> list[Written]:
    """Return products of powers of the columns, smallest first, without the constant."""
    atoms = _powers(x.T, symbols, policy)
    with np.errstate(all="ignore"):
        return _all_of(atoms, (term for term in _terms(atoms, most, policy) if term))


def candidates(
    x: np.ndarray,
    symbols: Sequence[Any],
    functions: Sequence[str],
    most: int,
    goal: np.ndarray,
    weight: np.ndarray | float = 1.0,
    policy: NoisyFormPolicy = NoisyFormPolicy(),
) -> list[Written]:
    """Return the terms that a sum may have: products of powers, the first of these times a function of a column, and,
    for few columns, products of two functions. If there are too many products, those that best explain the goal."""
    return [written for written, _ in sized_candidates(x, symbols, functions, most, goal, weight, policy)]


def sized_candidates(
    x: np.ndarray,
    symbols: Sequence[Any],
    functions: Sequence[str],
    most: int,
    goal: np.ndarray,
    weight: np.ndarray | float = 1.0,
    policy: NoisyFormPolicy = NoisyFormPolicy(),
) -> list[tuple[Written, int]]:
    """Return `candidates` with their sizes: the sum of the powers, where a function counts double."""
    powers, images = _powers(x.T, symbols, policy.powers), _images(functions, x, symbols, policy.moderate)
    atoms, few = [*powers, *images], _terms(powers, 1 + 2 * len(powers), policy.powers)
    plain = _terms(powers, most, policy.powers)
    last = [((len(powers) + k, 1),) for k in range(len(images))]
    with np.errstate(all="ignore"):
        terms = [
            *plain,
            *(_telling_pairs(powers, plain, most, goal, weight) if len(powers) > policy.many_columns else ()),
            *_products(atoms, few, last, goal, weight, (policy.most_products, policy.best_products)),
            *(_pairs(len(powers), len(images)) if len(powers) <= policy.few_columns else ()),
        ]
        sizes = [_size(term) + sum(abs(power) for k, power in term if k >= len(powers)) for term in terms]
        return list(zip(_all_of(atoms, terms), sizes, strict=True))


def _products(
    atoms: Sequence[_Atom],
    first: Sequence[_Term],
    last: Sequence[_Term],
    goal: np.ndarray,
    weight: np.ndarray | float,
    room: tuple[int, int],
) -> list[_Term]:
    """Return all products of a first and a last term; if there are too many, those that best explain the goal."""
    most, best = room
    if len(first) * len(last) <= most:
        return [(*one, *other) for one, other in product(first, last)]
    left, right = (_columns(atoms, terms) for terms in (first, last))
    chosen = sorted(zip(*best_products(left, right, goal[:, None], best, weight), strict=True))
    return [(*first[i], *last[j]) for i, j in chosen]


def _telling_pairs(
    powers: Sequence[_Atom], plain: Sequence[_Term], most: int, goal: np.ndarray, weight: np.ndarray | float
) -> list[_Term]:
    """Return the squares, products and ratios that best explain the goal, if there is no room for all of them."""
    room = most - len(plain)
    if room < 1 or max(map(_size, plain)) > 1:
        return []
    columns = np.stack([atom.values for atom in powers], axis=1)
    below = np.flatnonzero([atom.lowest < 0 for atom in powers])
    pairs = zip(*best_products(columns, columns, goal[:, None], room, weight), strict=True)
    terms: list[_Term] = [((int(i), 2),) if i == j else ((int(i), 1), (int(j), 1)) for i, j in pairs]
    if not len(below):
        return terms
    pairs = zip(*best_products(columns, 1.0 / columns[:, below], goal[:, None], room, weight), strict=True)
    ratios: list[_Term] = [((int(i), 1), (int(below[j]), -1)) for i, j in pairs if i != below[j]]
    return [*terms[: room - room // 2], *ratios[: room // 2]]


def _size(term: _Term) -> int:
    return sum(abs(power) for _, power in term)


def _pairs(first: int, n_images: int) -> Iterator[_Term]:
    for k in range(first, first + n_images):
        yield ((k, 2),)
        yield from (((k, 1), (other, 1)) for other in range(k + 1, first + n_images))


def _powers(columns: Iterable[np.ndarray], symbols: Sequence[Any], policy: PowerPolicy) -> list[_Atom]:
    """Return the columns as factors; those of one sign may also have negative powers."""
    highest = policy.highest_alone if len(symbols) == 1 else policy.highest
    atoms = []
    for column, symbol in zip(columns, symbols, strict=True):
        keeps_sign = bool((column > 0).all() or (column < 0).all())
        atoms.append(_Atom(column, symbol, -highest if keeps_sign else 0, highest))
    return atoms


def _images(functions: Sequence[str], x: np.ndarray, symbols: Sequence[Any], moderate: float = np.inf) -> list[_Atom]:
    """Return each function except sqrt and abs, applied to each column for which it is defined and of moderate size."""
    found = []
    operators = [get(name) for name in functions if name not in ("sqrt", "abs")]
    for operator, (column, symbol) in product(operators, zip(x.T, symbols, strict=True)):
        if operator.domain.has_inside(column).all():
            values = operator.real(column)
            largest = np.abs(values).max()
            if np.isfinite(largest) and np.ptp(values) > 0 and 1.0 / moderate <= largest <= moderate:
                found.append(_Atom(values, operator.symbolic(symbol), 0, 2))
    return found


def _sum_of(atoms: Sequence[_Atom], terms: Sequence[_Term], y: np.ndarray, policy: SumPolicy) -> Any:
    with np.errstate(all="ignore"):
        columns = _columns(atoms, terms)
        weight = _weight(y, policy)
        found = few_of(columns * weight[:, None], y * weight, policy.terms)
    if found is None:
        return None
    total = sum(float(c) * _written(atoms, terms[k]) for k, c in zip(*found, strict=True))
    return total if getattr(total, "free_symbols", None) else None


def _weight(y: np.ndarray, policy: SumPolicy) -> np.ndarray:
    """Return row weights for relative errors, bounded where y is near zero."""
    return 1.0 / np.hypot(y, np.quantile(np.abs(y), policy.small))


def _with_functions(powers: Sequence[_Atom], images: Sequence[_Atom], y: np.ndarray, policy: SumPolicy) -> list[_Term]:
    """Return products of powers, alone and times one function of a column or its square, smallest first."""
    most = policy.most_with_functions
    plain = _terms(powers, max(most // (1 + 2 * len(images)), 1 + 2 * len(powers)), policy.powers)
    last = [((len(powers) + k, power),) for power in (1, 2) for k in range(len(images))]
    with np.errstate(all="ignore"):
        weight = _weight(y, policy)
        products = _products([*powers, *images], plain, last, y, weight, (policy.most_products, most))
    return sorted([*plain, *products], key=_size)


def _terms(atoms: Sequence[_Atom], most: int, policy: PowerPolicy) -> list[_Term]:
    return _within(tuple((atom.lowest, atom.highest) for atom in atoms), most, policy.together)


@lru_cache(maxsize=64)
def _within(limits: tuple[tuple[int, int], ...], most: int, largest: int) -> list[_Term]:
    """Return products of powers, smallest first, up to the last size of which all fit within `most`."""
    terms: list[_Term] = []
    for size in range(largest + 1):
        more = list(islice(_of_size(limits, 0, size), most + 1))  # enough to see that they do not fit
        if terms and len(terms) + len(more) > most:
            break
        terms += more
    return terms[:most]


def _of_size(limits: Sequence[tuple[int, int]], first: int, size: int) -> Iterator[_Term]:
    if size == 0:
        yield ()
        return
    for atom in range(first, len(limits)):
        lowest, highest = limits[atom]
        for power in range(max(lowest, -size), min(highest, size) + 1):
            if power:
                for rest in _of_size(limits, atom + 1, size - abs(power)):
                    yield ((atom, power), *rest)


def _all_of(atoms: Sequence[_Atom], terms: Iterable[_Term]) -> list[Written]:
    terms = list(terms)
    return list(zip(_columns(atoms, terms).T, [partial(_written, atoms, term) for term in terms], strict=True))


def _columns(atoms: Sequence[_Atom], terms: Sequence[_Term]) -> np.ndarray:
    """Return the values of the terms, (rows, terms); powers and common prefixes of terms are computed once."""
    known: dict[_Term, np.ndarray] = {(): np.ones(len(atoms[0].values))}
    powers: dict[tuple[int, int], np.ndarray] = {}

    def product_of(term: _Term) -> np.ndarray:
        value = known.get(term)
        if value is None:
            atom, power = last = term[-1]
            if last not in powers:
                powers[last] = atoms[atom].values ** float(power)
            value = known[term] = product_of(term[:-1]) * powers[last]
        return value

    columns = np.empty((len(terms), len(atoms[0].values)))
    for k, term in enumerate(terms):
        columns[k] = product_of(term)
    return np.ascontiguousarray(columns.T)


def _written(atoms: Sequence[_Atom], term: _Term) -> Any:
    product: Any = 1
    for atom, power in term:
        product = product * atoms[atom].symbol ** power
    return product
