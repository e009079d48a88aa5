"""A contest of structures: each is fitted with its shared constants determined, and the best are simplified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ceql.catalogue.law import Law
from ceql.data.dataset import Dataset
from ceql.engine.deadline import Deadline
from ceql.engine.one_thread import one_thread
from ceql.expression.prices import PRICES, Prices, exponents_price, structure_price
from ceql.expression.symbolic import Expr
from ceql.formula import make_symbols
from ceql.groups.joint import covariance, errors_of
from ceql.groups.policy import GroupPolicy
from ceql.groups.rows import GroupedRows
from ceql.groups.screening import Tried, improved, spread
from ceql.groups.splitting import (
    SplitFit,
    Splitter,
    Structure,
    tied,
    with_simple_numbers,
    written_otherwise,
)
from ceql.groups.structures import expression_in


class Contest:
    """Fits each structure once, however often it is proposed, and gives up those that cannot come near the best."""

    def __init__(
        self,
        rows: GroupedRows,
        policy: GroupPolicy,
        allows: Callable[[Expr], bool],
        prices: Prices = PRICES,
        numbers: int | None = None,
    ) -> None:
        self._rows, self._policy, self._allows, self._prices = rows, policy, allows, prices
        self._numbers = numbers  # how many constants are per group, if the user says so
        self._seen: set[tuple[str, tuple[int, ...]]] = set()
        self._structure: dict[tuple[str, tuple[int, ...]], float] = {}
        self.fits: list[SplitFit] = []

    @property
    def best(self) -> float:
        return min((self.score(fit) for fit in self.fits), default=np.inf)

    def score(self, fit: SplitFit) -> float:
        """The criterion, as far as it is known before there is a formula."""
        return fit.score + 2.0 * self._price(fit.structure)

    def _price(self, structure: Structure) -> float:
        """The price of writing the structure; infinite if it is not allowed."""
        key = structure.law.formula, structure.places
        if key not in self._structure:
            expression = self._expression(structure.law, self._rows.data, structure.places)
            price = structure_price(expression, self._prices) + exponents_price(expression, self._prices)
            if structure.law.known:
                price = min(price, self._prices.of_law(structure.law.known))
            self._structure[key] = price if self._allows(expression) else np.inf
        return self._structure[key]

    @staticmethod
    def _expression(law: Law, data: Dataset, places: Sequence[int]) -> Expr:
        return expression_in(law, [data.names[k] for k in places], make_symbols(tuple(f"{n}[]" for n in law.names)))

    @one_thread
    def enter(self, structures: Iterable[Structure], until: Deadline) -> None:
        for structure in structures:
            key = structure.law.formula, structure.places
            if key in self._seen or (self.fits and until.over):
                continue
            self._seen.add(key)
            price = self._price(structure)
            if np.isfinite(price):
                splitter = Splitter(structure, self._rows, self._policy, self._prices)
                found = splitter.all_splits(self.best - 2.0 * price)
                self.fits += [fit for fit in found[: self._policy.splits_kept] if np.isfinite(fit.score)]

    def enter_tried(self, tried: Sequence[Tried], few: GroupedRows, until: Deadline) -> None:
        """Enters the most promising structures, after fitting them in every group until they converge."""
        steps = self._policy.last_steps // 2
        for one in _promising(tried, self._policy):
            if self.fits and until.over:
                return
            done = spread(improved(one, few, steps), few, steps)
            structure = Structure(done.law, done.places, done.best, numbers=self._numbers)
            self.enter([structure, *written_otherwise(structure, few.sizes)], until)

    def simplify(self, until: Deadline) -> None:
        """Tries whole numbers for shared constants, and one constant for two, in the best structures while that
        helps."""
        before = np.inf
        while self.best < before and not until.over:
            before = self.best
            for fit in self.leading():
                self.enter(self._simpler(fit), until)

    def leading(self) -> list[SplitFit]:
        return sorted(self.fits, key=self.score)[: self._policy.leading]

    def _simpler(self, fit: SplitFit) -> Iterator[Structure]:
        rows = self._rows.seen_by(fit.structure.places)
        errors = errors_of(fit.fit, covariance(fit.structure.law, rows, fit.fit, self._rows.data.noise))
        yield from with_simple_numbers(fit.structure, fit.fit, errors, self._policy.simple_within)
        yield from tied(fit.structure, fit.fit, errors, self._policy.tied_within)


def _promising(tried: Sequence[Tried], policy: GroupPolicy) -> list[Tried]:
    """The best structures overall and for each number of constants, since the cost depends on which are shared."""
    ranked = sorted((one for one in tried if np.isfinite(one.score)), key=lambda one: one.score)
    counts: dict[int, int] = {}
    kept = []
    for place, one in enumerate(ranked):
        size = len(one.law.constants)
        counts[size] = counts.get(size, 0) + 1
        if place < policy.finished or counts[size] <= policy.finished_per_size:
            kept.append(one)
    return kept
