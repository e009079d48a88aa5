"""Which constants of a structure the groups share: tried from none to all shared and from all to none, one at a
time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import sympy

from ceql.catalogue.law import Law
from ceql.catalogue.separable import evaluated
from ceql.choice.criterion import price_of_constants
from ceql.choice.exactness import EXACT, size_of
from ceql.expression.prices import PRICES, Prices
from ceql.formula import make_symbols
from ceql.groups.joint import Bounds, JointFit, fitted, misfit_of, residuals
from ceql.groups.policy import GroupPolicy
from ceql.groups.rows import GroupedRows
from ceql.groups.structures import rewritten, substituted

Array = np.ndarray
Split = tuple[bool, ...]
_CONSTANT = 0.3  # a product or ratio of two constants is tried below this share of their smaller spread
_LEAST = 1e-300
_GAIN = 1e-3  # relative gain of a repair below which no further one is tried
# Simple numbers other than zero are tried only for constants with smaller errors; whole and half ones, below this size.
_TELLING, _SIMPLE = 0.05, 2.25
_MOST = 0.9  # share of the groups in which two constants must agree


@dataclass(frozen=True, eq=False)
class Structure:
    """A law in these columns of a table, with starting constants for every group and bounds from the user."""

    law: Law
    places: tuple[int, ...]
    start: Array  # (groups, constants)
    low: Array | None = None
    high: Array | None = None
    given: Split | None = None  # which constants are per group, if the user says so
    numbers: int | None = None  # or how many of them

    def allows(self, split: Split) -> bool:
        if self.given is not None:
            return split == self.given
        return self.numbers is None or sum(split) == self.numbers


@dataclass(frozen=True, eq=False)
class SplitFit:
    """A structure with a choice of shared constants, fitted to all rows, and its score (smaller is better)."""

    structure: Structure
    fit: JointFit
    score: float


class Splitter:
    """Fits one structure with different choices of shared constants (splits), each at most once.

    Sharing a constant never lowers the misfit. If sharing some constants costs too much while all others are free, no
    other split that shares them is worthwhile either, so only a few of the many splits are fitted.
    """

    def __init__(self, structure: Structure, rows: GroupedRows, policy: GroupPolicy, prices: Prices = PRICES) -> None:
        self.structure, self.policy, self.prices = structure, policy, prices
        self._table = rows
        self._rows = rows.seen_by(structure.places)
        self._bounds = Bounds.of(structure.law, structure.low, structure.high)
        self._least = EXACT.loss * size_of(rows.data)
        self._precision = self._precisions()
        self.known: dict[Split, SplitFit] = {}
        self._kept: set[Split] = set()
        self._to_beat = np.inf

    @np.errstate(all="ignore")
    def _precisions(self) -> Array:
        """How well the rows of each group determine each constant, up to a factor."""
        law, start = self.structure.law, self.structure.start
        _, slopes = evaluated(law, self._rows, start, range(len(law.constants)))
        squares = np.nansum((slopes * self._rows.root_weight[..., None]) ** 2, axis=1)
        squares = np.where(np.isfinite(squares), squares, 0.0)
        return squares / (squares.max(axis=0) + _LEAST) + _LEAST

    @np.errstate(all="ignore")
    def fit(self, split: Split, values: Array) -> SplitFit:
        """Fits a split from these constants; shared ones begin at their median or weighted mean, whichever fits
        better."""
        if split not in self.known:
            law, mask = self.structure.law, np.array(split)
            weighted = np.sum(values * self._precision, axis=0) / self._precision.sum(axis=0)
            starts = [
                self._led(np.where(mask, values, shared), mask) for shared in (np.median(values, axis=0), weighted)
            ]
            start = min(starts, key=lambda start: misfit_of(law, self._rows, start))
            found = self._repaired(self._fitted(start, split))
            self.known[split] = SplitFit(self.structure, found, self.score(found))
        return self.known[split]

    def _led(self, start: Array, own: Array) -> Array:
        """Starting values in which groups that fit worse than a constant restart from other groups, if that helps.

        Constants determined by few rows, or those of a mirror image of the law, would otherwise lead all groups astray.
        """
        left = self._left(start)
        odd = ~(left <= self._table.variances)
        if not own.any() or not odd.any() or odd.all():
            return start
        for place in (np.median(start[~odd], axis=0), start[int(np.nanargmin(left))]):
            tried = np.where(odd[:, None] & own, place, start)
            again = self._left(tried)
            better = odd & ~(left <= again)
            start, left = np.where(better[:, None], tried, start), np.where(better, again, left)
        return start

    def _left(self, values: Array) -> Array:
        """The mean square of the residuals of each group; NaN if the law is undefined there."""
        return np.sum(residuals(self.structure.law, self._rows, values) ** 2, axis=1) / self._table.sizes

    def _repaired(self, fit: JointFit) -> JointFit:
        """Refits groups that fit far worse than most, and so may be in another minimum, from the constants of
        others."""
        own = np.array(fit.own)
        for _ in range(self.policy.repairs if own.any() and np.isfinite(fit.misfit) else 0):
            left = self._left(fit.values)
            odd = left > self.policy.odd * np.median(left)
            if not odd.any() or self._is_too_much(float(np.minimum(left, np.median(left)) @ self._table.sizes), own):
                break
            others = fit.values[~odd]
            places = (np.median(others, axis=0), fit.values[int(np.argmin(left))])
            starts = [np.where(odd[:, None] & own, place, fit.values) for place in places]
            again = [self._fitted(start, fit.own) for start in starts]
            better = min(again, key=lambda one: one.misfit)
            if not better.misfit < (1.0 - _GAIN) * fit.misfit:
                break
            fit = better
        return fit

    def _fitted(self, start: Array, split: Split) -> JointFit:
        policy = self.policy
        return fitted(
            self.structure.law, self._rows, start, split, policy.explored_steps, self._bounds, policy.explored_gain
        )

    def _is_too_much(self, misfit: float, own: Array) -> bool:
        """Whether a split with this misfit is too far behind the best to be followed."""
        best = min([self._to_beat, *(known.score for known in self.known.values())])
        return self._priced(misfit, len(own)) > best + self.policy.slack

    def score(self, fit: JointFit) -> float:
        """The criterion without the price of the structure, which is the same for all splits."""
        rows = len(self._table.codes)
        if 2 * fit.count >= rows or not all(map(self.structure.law.allows, fit.values)):
            return np.inf
        return self._priced(fit.misfit, fit.count)

    def _priced(self, misfit: float, count: int) -> float:
        rows = len(self._table.codes)
        loss = max(misfit / rows, self._least)
        return float(rows * np.log(loss) + 2.0 * price_of_constants(min(count, rows - 1), rows, self.prices))

    def all_splits(self, to_beat: float = np.inf) -> list[SplitFit]:
        """The allowed splits that were fitted, the best first; none if the structure cannot come near the score
        `to_beat`."""
        self._to_beat = to_beat
        if self.structure.given is not None:
            return [self.fit(self.structure.given, self.structure.start)]
        count = len(self.structure.law.constants)
        every = self.fit((True,) * count, self.structure.start)
        if self._is_hopeless(every):
            return []
        self._share(every)
        if (self._table.sizes <= count).any() or not np.isfinite(every.fit.misfit):
            self._free(self.fit((False,) * count, self.structure.start))
        found = [one for split, one in self.known.items() if self.structure.allows(split)]
        return sorted(found, key=lambda one: one.score)

    def _is_hopeless(self, one: SplitFit) -> bool:
        """Whether neither this split nor any with fewer per-group constants can come near the best."""
        return self._is_too_much(one.fit.misfit, np.array(one.fit.own))

    def _share(self, every: SplitFit) -> None:
        """Shares one more constant at a time, following every split that is not hopeless."""
        level = [every]
        while level:
            wanted: dict[Split, SplitFit] = {}
            for parent in level:
                for k, own in enumerate(parent.fit.own):
                    split = _turned(parent.fit.own, k)
                    if own and self._may_be_shared(split):
                        wanted.setdefault(split, parent)
            children = [self.fit(split, parent.fit.values) for split, parent in wanted.items()]
            level = [child for child in children if not self._is_hopeless(child)]
            self._kept |= {child.fit.own for child in level}

    def _may_be_shared(self, split: Split) -> bool:
        """Whether all splits with one shared constant fewer were worth following."""
        less = [_turned(split, k) for k, own in enumerate(split) if not own]
        return all(all(one) or one in self._kept for one in less)

    def _free(self, current: SplitFit) -> None:
        """Starts with all constants shared and frees the best one at a time, for groups too small to determine them
        all."""
        while not all(current.fit.own):
            own = current.fit.own
            nearby = [self.fit(_turned(own, k), current.fit.values) for k, mine in enumerate(own) if not mine]
            current = min(nearby, key=lambda one: (one.score, one.fit.misfit))


def _turned(split: Split, place: int) -> Split:
    return tuple(not mine if k == place else mine for k, mine in enumerate(split))


# ---- the same structure over other constants ------------------------------------------------------------------------


@np.errstate(all="ignore")
def written_otherwise(structure: Structure, sizes: Array) -> Iterator[Structure]:
    """The structure with plainer constants, and versions with a product or ratio of two constants in place of one.

    The latter are tried if the product or ratio varies less between the groups than the constants do.
    """
    plain = plainer(structure)
    if plain is not structure:
        yield plain
        structure = plain
    values = structure.start[sizes > structure.start.shape[1]]
    if len(values) < 2 or structure.given is not None:
        return
    count, symbols = values.shape[1], make_symbols(structure.law.names)
    for i in range(count):
        for j in range(count):
            if i == j or not _one_sign(values[:, i]) or not _one_sign(values[:, j]):
                continue
            spreads = [_spread(values[:, k]) for k in (i, j)]
            for power in (1, -1):
                if _spread(values[:, i] * values[:, j] ** power) < _CONSTANT * min(spreads):
                    law = substituted(structure.law, {i: symbols[i] / symbols[j] ** power})
                    start = structure.start.copy()
                    start[:, i] = start[:, i] * start[:, j] ** power
                    if law is not None:
                        yield Structure(law, structure.places, start, numbers=structure.numbers)


def plainer(structure: Structure) -> Structure:
    """The structure with each constant that occurs only as a power replaced by that power, such as s**2 by s.

    The new constant is as good as the old one, and the formula is shorter.
    """
    law, start = structure.law, structure.start
    if structure.given is not None or structure.low is not None:
        return structure
    for k, symbol in enumerate(make_symbols(law.names)):
        powers = {power.exp for power in law.expression.atoms(sympy.Pow) if power.base == symbol}
        if len(powers) != 1 or not (exponent := powers.pop()).is_Integer or not _one_sign(start[:, k]):
            continue
        stand_in = sympy.Dummy(positive=True)
        inside = law.expression.xreplace({symbol**exponent: stand_in})
        if symbol in inside.free_symbols:
            continue
        changed = rewritten(law, inside.xreplace({stand_in: symbol}), k)
        if changed is not None:
            start = start.copy()
            start[:, k] = start[:, k] ** int(exponent)
            law = changed
    return structure if law is structure.law else replace(structure, law=law, start=start)


def _one_sign(values: Array) -> bool:
    return bool((values > 0).all() or (values < 0).all())


@np.errstate(all="ignore")
def _spread(values: Array) -> float:
    """The median deviation of the logarithms, so that poorly determined groups have no influence."""
    logs = np.log(np.abs(values))
    return float(np.median(np.abs(logs - np.median(logs))))


def tied(structure: Structure, fit: JointFit, errors: Array, within: float) -> Iterator[Structure]:
    """Versions with one constant in place of two whose values agree within their errors, up to the sign."""
    symbols = make_symbols(structure.law.names)
    for i in range(len(symbols)):
        for j in range(i + 1, len(symbols)):
            if fit.own[i] is not fit.own[j]:
                continue
            for sign in (1, -1):
                apart = fit.values[:, i] - sign * fit.values[:, j]
                error = np.hypot(errors[:, i], errors[:, j])
                if not (np.abs(apart) <= within * error).mean() >= _MOST:
                    continue
                for gone, kept in ((i, j), (j, i)):
                    law = substituted(structure.law, {gone: sign * symbols[kept]})
                    if law is not None:
                        left = [k for k in range(len(symbols)) if k != gone]
                        yield Structure(law, structure.places, fit.values[:, left], numbers=structure.numbers)
                        break


def with_simple_numbers(structure: Structure, fit: JointFit, errors: Array, within: float) -> Iterator[Structure]:
    """Versions in which a shared constant is zero, a small whole or half number, or a multiple of pi/2.

    A number is tried if the constant agrees with it within its error.
    """
    for k, own in enumerate(fit.own):
        value, error = float(fit.values[0, k]), float(errors[0, k])
        if own or not np.isfinite(error):
            continue
        simple = [sympy.Rational(round(2.0 * value), 2)] if error < _TELLING and abs(value) < _SIMPLE else []
        turns = [round(2.0 * value / np.pi) * sympy.pi / 2] if error < _TELLING else []
        for near in dict.fromkeys((sympy.Integer(0), *simple, *turns)):
            law = substituted(structure.law, {k: near}) if abs(value - float(near)) <= within * error else None
            if law is not None:
                left = [other for other in range(len(fit.own)) if other != k]
                yield Structure(law, structure.places, fit.values[:, left], numbers=structure.numbers)
