"""Sums of terms that, integrated along the path, give a state.

All terms are integrated at once. The best sums so far are extended by one term, by any two terms without numbers, or by
one term with numbers and one without; the residual after solving for all weights decides. A term with numbers brings
its derivatives by them along, since the later fit of the sum will find the numbers. So of terms, or sums, that differ
only in the starting values of their numbers, only the best counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import sympy

from ceql.dynamics.integral_form import IntegralTarget
from ceql.dynamics.policy import TERMS, TermPolicy
from ceql.dynamics.vocabulary import Vocabulary
from ceql.engine.deadline import NEVER, Deadline
from ceql.engine.one_thread import one_thread
from ceql.expression.prices import PRICES
from ceql.formula import Formula

_INDEPENDENT = 1e-10  # square of what is left of a term beside others, below which rounding rules


@dataclass(frozen=True, eq=False)
class _Units:
    """Terms integrated up to each sample, as directions: those without a number, and pairs of a term and tangent."""

    plain: np.ndarray  # (samples, plain terms), of length 1
    parts: np.ndarray  # (samples, terms with numbers, 3): the term and its derivatives by its numbers, of length 1 or 0
    of_plain: np.ndarray  # numbers of the terms in the vocabulary
    of_pairs: np.ndarray  # numbers of the terms with numbers, family by family
    begins: np.ndarray  # (families,): where each family begins in `of_pairs`
    families: np.ndarray  # (terms of the vocabulary,)
    plain_price: np.ndarray
    pair_price: np.ndarray

    # Inner products are made once for all sums: what is left of them beside a sum needs no pass over the samples.
    @cached_property
    def among_plain(self) -> np.ndarray:
        return self.plain.T @ self.plain

    @cached_property
    def within_parts(self) -> np.ndarray:
        """(terms with numbers, 3, 3)"""
        return np.einsum("nbk,nbl->bkl", self.parts, self.parts)

    @cached_property
    def across(self) -> np.ndarray:
        """(terms with numbers, 3, plain terms)"""
        return np.tensordot(self.parts, self.plain, axes=([0], [0]))


@dataclass(frozen=True, eq=False)
class _Sum:
    terms: tuple[int, ...]
    families: tuple[int, ...]  # of the terms: what the sum is, whatever its numbers
    span: np.ndarray  # (samples, directions), orthonormal
    left: np.ndarray
    price: float
    score: float

    @property
    def directions(self) -> int:
        return self.span.shape[1]


@one_thread
def term_sums(
    target: IntegralTarget,
    words: Vocabulary,
    symbols: Sequence[sympy.Symbol],
    floor: float,
    policy: TermPolicy = TERMS,
    until: Deadline = NEVER,
) -> list[Formula]:
    """The best sums of every size with their weights, and their losses if no term has a number left to be fitted.

    Residuals below `floor` cannot be distinguished from errors of the path.
    """
    rows = _thinned(len(target.values), policy.most_rows)
    units = _units(target, words, rows)
    y = target.values[rows]
    least = len(y) * floor**2
    start = _Sum((), (), np.zeros((len(y), 0)), y, 0.0, float(len(y) * np.log(np.sum(y**2) + least)))
    kept: dict[int, dict[tuple[int, ...], _Sum]] = {}
    expanded: set[tuple[int, ...]] = set()
    roots = [start, *_roots(start, units, least, policy)]
    for turn in range(len(roots) + policy.expansions):
        chosen = roots[turn] if turn < len(roots) else _next(kept, expanded, policy)
        if chosen is None:
            break
        until.require_time()
        expanded.add(chosen.families)
        for grown in _extended(chosen, units, least, policy):
            alike = kept.setdefault(grown.directions, {})
            if grown.families not in alike or grown.score < alike[grown.families].score:
                alike[grown.families] = grown
        for size, sums in kept.items():
            best = sorted(sums.values(), key=lambda one: one.score)[: policy.beam]
            kept[size] = {one.families: one for one in best}
    return [_formula(one.terms, target, words, tuple(symbols)) for one in _few(kept, words, policy)]


def _few(kept: dict[int, dict[tuple[int, ...], _Sum]], words: Vocabulary, policy: TermPolicy) -> list[_Sum]:
    """The best of all, the best of each size, and the best fractions of each size."""
    by_size = [sorted(sums.values(), key=lambda one: one.score) for sums in kept.values()]
    found = sorted((one for sums in by_size for one in sums), key=lambda one: one.score)[: policy.best]
    for sums in by_size:
        found += sums[: policy.kept]
        found += [one for one in sums if words.are_fractions[list(one.terms)].all()][: policy.fractions]
    return list({one.families: one for one in found}.values())


def _roots(start: _Sum, units: _Units, least: float, policy: TermPolicy) -> list[_Sum]:
    """Sums of the cheapest terms, alone and in pairs, however they fit: laws often add one term to these."""
    cheap = np.argsort(units.plain_price, kind="stable")[: policy.cheap]
    groups = [(k,) for k in cheap] + list(combinations(cheap, 2))
    found = [_grown(start, [("p", int(k)) for k in group], units, least) for group in groups]
    return sorted((one for one in found if one is not None), key=lambda one: one.price)[: policy.roots]


def _next(
    kept: dict[int, dict[tuple[int, ...], _Sum]], expanded: set[tuple[int, ...]], policy: TermPolicy
) -> _Sum | None:
    """The next sum to extend: sizes take turns, small ones more often; of each, the best not extended yet."""
    waiting = []
    for size, sums in kept.items():
        fresh = [one for one in sums.values() if one.families not in expanded and len(one.terms) < policy.most_terms]
        if fresh:
            done = sum(one.families in expanded for one in sums.values())
            waiting.append((done * size, size, min(fresh, key=lambda one: one.score)))
    return min(waiting, key=lambda entry: entry[:2])[2] if waiting else None


def _thinned(count: int, most: int) -> np.ndarray:
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).round().astype(int)


def _units(target: IntegralTarget, words: Vocabulary, rows: np.ndarray) -> _Units:
    values = target.path.integrals(words.values)[rows]
    size = np.linalg.norm(values, axis=0)
    usable = np.isfinite(size) & (size > 0.0)
    plain = np.flatnonzero(usable & (words.numbers == 0))
    others = np.flatnonzero(usable & (words.numbers > 0))
    others = others[np.argsort(words.families[others], kind="stable")]
    columns = [values[:, others]]
    columns += [target.path.integrals(words.tangents[:, others, k])[rows] for k in range(2) if len(others)]
    parts = np.stack(columns, axis=2)
    lengths = np.linalg.norm(parts, axis=0)
    constant = PRICES.constant * np.log(len(rows))
    return _Units(
        values[:, plain] / size[plain],
        parts / np.where(lengths > 0.0, lengths, 1.0),
        plain,
        others,
        np.flatnonzero(np.diff(words.families[others], prepend=-1)),
        words.families,
        words.prices[plain] + constant + PRICES.add + PRICES.mul,
        words.prices[others] + (1.0 + words.numbers[others]) * constant + PRICES.add + PRICES.mul,
    )


def _rest(span: np.ndarray, columns: np.ndarray) -> np.ndarray:
    for _ in range(2):  # once would leave rounding of nearly dependent terms
        columns = columns - span @ (span.T @ columns)
    return columns


def _extended(one: _Sum, units: _Units, least: float, policy: TermPolicy) -> list[_Sum]:
    """The best ways to extend a sum, of each kind."""
    shadow = one.span.T @ units.plain
    power = float(one.left @ one.left)
    toward = one.left @ units.plain
    gram = units.among_plain - shadow.T @ shadow
    square = np.diag(gram)
    alone = np.where(square > _INDEPENDENT, toward**2 / np.maximum(square, _INDEPENDENT), 0.0)
    moves: list[tuple[float, tuple[tuple[str, int], ...]]] = []
    rows = len(one.left)

    def offer(gains: np.ndarray, prices: np.ndarray, kind: str) -> None:
        scores = rows * np.log(np.maximum(power - gains, 0.0) + least) + 2.0 * (one.price + prices)
        scores = np.where(gains > 0.0, scores, np.inf)
        best = np.minimum.reduceat(scores, units.begins, axis=0) if kind[0] == "b" else scores
        flat = best.ravel()
        few = np.argpartition(flat, min(policy.branches, len(flat) - 1))[: policy.branches] if len(flat) else []
        for place in few:
            if np.isfinite(flat[place]):
                members = [int(k) for k in np.unravel_index(place, best.shape)]
                if kind[0] == "b":
                    members[0] = _first_number(scores[:, *members[1:]], units.begins, members[0])
                moves.append((float(flat[place]), tuple(zip(kind, members, strict=True))))

    offer(alone, units.plain_price, "p")
    offer(_both(gram, toward, square), units.plain_price[:, None] + units.plain_price, "pp")
    if units.parts.shape[1]:
        inside, shadows, cut = _directions(one, units, shadow)
        gain = np.where(cut, 0.0, np.sum(inside**2, axis=1))
        offer(gain, units.pair_price, "b")
        both = _beside(inside, shadows, cut, gain, toward, square)
        offer(both, units.pair_price[:, None] + units.plain_price, "bp")
    moves.sort(key=lambda move: move[0])
    return [grown for _, members in moves if (grown := _grown(one, members, units, least)) is not None]


def _first_number(scores: np.ndarray, begins: np.ndarray, family: int) -> int:
    """The best term of a family."""
    begin = int(begins[family])
    end = int(begins[family + 1]) if family + 1 < len(begins) else len(scores)
    return begin + int(np.argmin(scores[begin:end]))


def _both(gram: np.ndarray, toward: np.ndarray, square: np.ndarray) -> np.ndarray:
    """The decrease in squares by every pair of plain terms, as an upper triangle."""
    scale = np.outer(square, square)
    room = scale - gram**2
    top = np.outer(toward**2, square) + np.outer(square, toward**2) - 2.0 * np.outer(toward, toward) * gram
    fine = (room > _INDEPENDENT * scale) & (scale > _INDEPENDENT**2)
    return np.triu(np.where(fine, top / np.where(fine, room, 1.0), 0.0), 1)


def _directions(one: _Sum, units: _Units, shadow: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How terms with numbers line up, beside the sum, with the residual and with the plain terms.

    Returns the residual along the orthonormal directions of each (terms, 3), the plain terms along them (terms, 3,
    plain), and which terms have no direction. They are computed from inner products by Cholesky's steps, since the
    result only ranks ways to extend the sum.
    """
    onto = np.tensordot(one.span, units.parts, axes=([0], [0]))  # (directions of the sum, terms, 3)
    gram = units.within_parts - np.einsum("sbk,sbl->bkl", onto, onto)
    inside = np.tensordot(one.left, units.parts, axes=([0], [0]))
    shadows = units.across - np.tensordot(onto, shadow, axes=([0], [0]))
    cut = np.zeros(len(gram), bool)
    for k in range(3):
        idle = gram[:, k, k] < _INDEPENDENT
        cut = idle if k == 0 else cut
        size = np.where(idle, np.inf, np.sqrt(np.maximum(gram[:, k, k], _INDEPENDENT)))
        inside[:, k] /= size
        shadows[:, k] /= size[:, None]
        for later in range(k + 1, 3):
            share = gram[:, later, k] / size
            inside[:, later] -= share * inside[:, k]
            shadows[:, later] -= share[:, None] * shadows[:, k]
            for other in range(later, 3):
                gram[:, other, later] -= share * gram[:, other, k] / size
    return inside, shadows, cut


def _beside(
    inside: np.ndarray, shadows: np.ndarray, cut: np.ndarray, gain: np.ndarray, toward: np.ndarray, square: np.ndarray
) -> np.ndarray:
    """The decrease in squares by a term with numbers and a plain one together."""
    rest = square - np.einsum("bkp,bkp->bp", shadows, shadows)
    pull = toward - np.einsum("bk,bkp->bp", inside, shadows)
    fine = (rest > _INDEPENDENT) & ~cut[:, None]
    return np.where(fine, gain[:, None] + pull**2 / np.where(fine, rest, 1.0), 0.0)


def _grown(one: _Sum, members: Sequence[tuple[str, int]], units: _Units, least: float) -> _Sum | None:
    terms, span, left, price = list(one.terms), one.span, one.left, one.price
    for kind, k in members:
        term = int(units.of_plain[k] if kind == "p" else units.of_pairs[k])
        if term in terms:
            return None
        terms.append(term)
        price += float(units.plain_price[k] if kind == "p" else units.pair_price[k])
        columns = [units.plain[:, k]] if kind == "p" else units.parts[:, k].T
        for number, column in enumerate(columns):
            direction = _rest(span, column[:, None])[:, 0]
            size = np.linalg.norm(direction)
            if size**2 < _INDEPENDENT:
                if number == 0:
                    return None
                continue
            span = np.column_stack([span, direction / size])
            left = left - span[:, -1] * (span[:, -1] @ left)
    score = float(len(left) * np.log(left @ left + least) + 2.0 * price)
    families = tuple(sorted(int(units.families[term]) for term in terms))
    return _Sum(tuple(sorted(terms)), families, span, left, price, score)


def _formula(
    terms: Sequence[int], target: IntegralTarget, words: Vocabulary, symbols: tuple[sympy.Symbol, ...]
) -> Formula:
    columns = target.path.integrals(words.values[:, list(terms)])
    scale = np.linalg.norm(columns, axis=0)
    weights = np.linalg.lstsq(columns / scale, target.values, rcond=None)[0] / scale
    parts = (sympy.Float(float(w)) * words.terms[k] for w, k in zip(weights, terms, strict=True))
    is_done = not words.numbers[list(terms)].any()
    loss = float(np.sum((columns @ weights - target.values) ** 2)) / target.rows if is_done else np.inf
    return Formula(sympy.Add(*parts), symbols, loss)
