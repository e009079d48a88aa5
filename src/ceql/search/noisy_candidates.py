"""Formulas for noisy data that need no search, for y and the other targets: ranked, fitted, finished.

Hundreds of them are proposed. Most are far off, which some of the rows show; only the best are fitted to y.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ceql.choice.criterion import criterion
from ceql.choice.exactness import size_of
from ceql.choice.residuals import look_like_noise, neighbours
from ceql.constraints import Constraints
from ceql.data.dataset import Dataset
from ceql.formula import Formula, make_symbols, mean_square, polish, sketch, values_of
from ceql.search.policy import Finishing, SearchPolicy
from ceql.search.target_search import TargetProblem, noisy_expressions
from ceql.transforms import TransformedTarget

Ranked = dict[Any, tuple[float, Formula]]  # by expression: its criterion, and the formula with its loss on some rows


class NoisyCandidates:
    """What the targets propose. They are asked once each; the answers depend on the data alone and are remembered."""

    def __init__(self, data: Dataset, constraints: Constraints, policy: SearchPolicy) -> None:
        self._data, self._few, self._policy = data, data.thinned(policy.noisy.rows), policy
        self._symbols, self._constraints = make_symbols(data.names), constraints
        self._more = data.thinned(policy.noisy.rows_of_best)
        self._closer: dict[Any, Formula] = {}  # by expression, with their loss on these
        self._answers: dict[TransformedTarget, Ranked] = {}  # by all rows of a target, whatever they weigh by now

    def of(self, problems: Collection[TargetProblem], others: Sequence[Any] = ()) -> list[Formula]:
        """What these targets propose and the other expressions, the best by the criterion first."""
        ranked = self._ranked(others)
        for problem in problems:
            ranked |= self._answer(problem)
        formulas = [formula for _, formula in sorted(ranked.values(), key=lambda pair: pair[0])]
        most = self._policy.noisy.compared
        return sorted(map(self._on_more_rows, formulas[:most]), key=self._criterion) + formulas[most:]

    def explain(self, problems: Collection[TargetProblem], main: TargetProblem, noise_at_most: float) -> bool:
        """Whether nothing but noise is left of y beside the best of them.

        Few rows do not tell, and `noise_at_most` says what a smooth function leaves, in the units of the main target.
        """
        candidates, few, policy = self.of(problems), self._few, self._policy.noisy
        if not candidates or len(few.y) < policy.fewest_rows:
            return False
        values = candidates[0](few.x)
        left = few.y - values
        share = np.sqrt(candidates[0].loss / size_of(few))
        weight = few.weight / (1.0 + (few.y / main.scaling.y) ** 2)
        if not policy.smallest < share < policy.largest:
            return False
        if mean_square(left / main.scaling.y, weight) > policy.leeway * noise_at_most:
            return False
        return bool(look_like_noise(left, values, self._neighbours, self._policy.residuals))

    def drawn(
        self, problems: Collection[TargetProblem], plan: Finishing, others: Sequence[Any] = ()
    ) -> Iterator[list[Formula]]:
        """The best of them, fitted to y, and a few with the full effort.

        Yields what there is again and again as it grows; the last is all.
        """
        formulas: list[Formula] = []
        for formulas in self.sketched(problems, plan.sketched, others):
            yield formulas
        given = self._data, self._symbols, self._constraints, self._policy.polish
        for formula in formulas[: plan.polished]:
            finished = polish(formula.expression, *given)
            formulas = [*formulas, *([] if finished is None else [finished])]
            yield formulas

    def sketched(
        self, problems: Collection[TargetProblem], most: int, others: Sequence[Any] = ()
    ) -> Iterator[list[Formula]]:
        """The best of them, fitted to y. Yields what there is as it grows, best first."""
        formulas: list[Formula] = []
        given = self._data, self._symbols, self._constraints, self._policy.polish
        for raw in self.of(problems, others)[:most]:
            sketched = sketch(raw.expression, *given)
            formulas = sorted([*formulas, *([] if sketched is None else [sketched])], key=self._criterion)
            yield formulas

    @cached_property
    def _neighbours(self) -> np.ndarray:
        return neighbours(self._few.x)

    def _answer(self, problem: TargetProblem) -> Ranked:
        if problem.whole not in self._answers:
            self._answers[problem.whole] = self._ranked(noisy_expressions(problem))
        return self._answers[problem.whole]

    def _ranked(self, expressions: Sequence[Any]) -> Ranked:
        ranked: Ranked = {}
        for expression in expressions:
            values = values_of(expression, self._symbols, self._few.x)
            if values is not None:
                loss = mean_square(values - self._few.y, self._few.weight)
                formula = Formula(expression, self._symbols, loss)
                ranked[expression] = self._criterion(formula), formula
        return ranked

    def _on_more_rows(self, formula: Formula) -> Formula:
        """With its loss on more rows, where chance is less: the best of many are the most favoured by it."""
        if len(self._more.y) == len(self._few.y):
            return formula
        if formula.expression not in self._closer:
            values = values_of(formula.expression, self._symbols, self._more.x)
            loss = np.inf if values is None else mean_square(values - self._more.y, self._more.weight)
            self._closer[formula.expression] = Formula(formula.expression, self._symbols, loss)
        return self._closer[formula.expression]

    def _criterion(self, formula: Formula) -> float:
        return criterion(formula, len(self._data.y), self._policy.prices)
