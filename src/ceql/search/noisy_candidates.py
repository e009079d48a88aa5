"""Formulas for noisy data that need no search, for y itself and for the other aims: ranked, fitted, finished.

Hundreds of them are proposed. Most are far off, which a look at some rows tells; only the best are fitted to y.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ceql.choice.criterion import criterion
from ceql.choice.exactness import size_of
from ceql.choice.residuals import look_like_noise, neighbours
from ceql.constraints import Constraints
from ceql.data.dataset import Dataset
from ceql.formula import Formula, mean_square, polish, sketch, values_of
from ceql.search.finishing import Finishing
from ceql.search.target_search import Hunt
from ceql.transforms import TransformedTarget

_LOOKED_AT = 2000  # rows
_NOISE = 1e-6, 0.5  # size of what is left of y, as a share of its own, that may be noise
_FEWEST_ROWS = 100  # in which noise can be told from what a formula fails to say
_LEEWAY = 1.5  # a smooth function is judged on few rows


class Proposed:
    """What was proposed so far. Every hunt is asked once."""

    def __init__(self, data: Dataset, symbols: tuple[Any, ...], constraints: Constraints) -> None:
        self._data, self._few, self._symbols, self._constraints = data, data.thinned(_LOOKED_AT), symbols, constraints
        self._asked: set[TransformedTarget] = set()
        self._ranked: dict[Any, tuple[float, Formula]] = {}

    def ask(self, hunt: Hunt) -> None:
        if hunt.whole not in self._asked:
            self._asked.add(hunt.whole)
            for expression in hunt.proposals():
                self._rank(expression)

    def explain(self, main: Hunt, noise_at_most: float) -> bool:
        """Whether nothing but noise is left of y beside the best of them.

        Few rows do not tell, and `noise_at_most` says what a smooth function leaves, in the units of the main hunt.
        """
        if not self._ranked or len(self._few.y) < _FEWEST_ROWS:
            return False
        _, best = min(self._ranked.values(), key=lambda pair: pair[0])
        values = best(self._few.x)
        left = self._few.y - values
        share = np.sqrt(best.loss / size_of(self._few))
        weight = self._few.weight / (1.0 + (self._few.y / main.scaling.y) ** 2)
        if not _NOISE[0] < share < _NOISE[1] or mean_square(left / main.scaling.y, weight) > _LEEWAY * noise_at_most:
            return False
        return bool(look_like_noise(left, values, self._neighbours))

    def drawn(self, plan: Finishing) -> Iterator[list[Formula]]:
        """The best of them, fitted to y, and a few with the full effort.

        Yields what there is again and again as it grows; the last is all.
        """
        formulas: list[Formula] = []
        for sketched in self.sketched(plan.sketched):
            formulas = sketched
            yield formulas
        for formula in formulas[: plan.polished]:
            finished = polish(formula.expression, self._data, self._symbols, self._constraints)
            formulas = [*formulas, *([] if finished is None else [finished])]
            yield formulas

    def sketched(self, most: int) -> Iterator[list[Formula]]:
        """The best of them, fitted to y. Yields what there is as it grows, best first."""
        ranked = sorted(self._ranked.values(), key=lambda pair: pair[0])[:most]
        formulas: list[Formula] = []
        for _, raw in ranked:
            sketched = sketch(raw.expression, self._data, self._symbols, self._constraints)
            formulas = sorted([*formulas, *([] if sketched is None else [sketched])], key=self._criterion)
            yield formulas

    @cached_property
    def _neighbours(self) -> np.ndarray:
        return neighbours(self._few.x)

    def _rank(self, expression: Any) -> None:
        values = values_of(expression, self._symbols, self._few.x)
        if values is not None:
            formula = Formula(expression, self._symbols, mean_square(values - self._few.y, self._few.weight))
            self._ranked[expression] = self._criterion(formula), formula

    def _criterion(self, formula: Formula) -> float:
        return criterion(formula, len(self._data.y))
