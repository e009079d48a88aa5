"""Finds one law for all groups: proposes structures, separates shared from per-group constants, and chooses one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.catalogue.offers import with_powers
from ceql.choice.residuals import look_like_noise, neighbours
from ceql.choice.validation import Folds
from ceql.data.dataset import Dataset
from ceql.data.groups import Labels
from ceql.discovery import Discovery, Outcome, Progress, Settings
from ceql.engine.deadline import Deadline, Stopwatch
from ceql.expression.operations import contained
from ceql.expression.symbolic import Expr
from ceql.groups.candidates import Pair, Search, from_laws, from_searches, from_small_forms
from ceql.groups.choosing import concluded
from ceql.groups.contest import Contest
from ceql.groups.grouped_formula import GroupedFormula
from ceql.groups.making import formula_of
from ceql.groups.policy import POLICY, GroupPolicy
from ceql.groups.rows import GroupedRows
from ceql.groups.screening import screened
from ceql.groups.structures import guessed_law
from ceql.groups.templates import template_structure

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Wanted:
    """Which constants differ between groups: a number of them, given names, or (neither) whatever the data show."""

    number: int | None = None
    names: tuple[str, ...] = ()


@np.errstate(all="ignore")  # undefined values are handled where they occur
def discover_groups(
    data: Dataset,
    labels: Labels,
    settings: Settings,
    wanted: Wanted,
    search: Search,
    report: Report = lambda _: None,
    folds: Folds | None = None,
    operators: Collection[str] | None = None,
    policy: GroupPolicy = POLICY,
) -> Discovery:
    """Finds formulas for `data`, whose rows have these labels. Ctrl-C ends the search and keeps what was found.

    `search` finds formulas for a table without groups. `operators` are those that formulas may use (None: any). The
    formulas found take the columns of `data` followed by the number of the group.
    """
    watch = Stopwatch()
    until = watch.until(settings.time_limit)
    rows = GroupedRows.of(data, labels.codes)
    allowed = None if operators is None else with_powers(operators)
    hunt = _Hunt(rows, settings, wanted, policy, watch, report, allowed)
    outcome = Outcome.SETTLED if settings.template is None else Outcome.FITTED
    try:
        if settings.template is not None:
            hunt.fit_template()
        else:
            hunt.look_around(until)
            hunt.search_further(search, until)
    except KeyboardInterrupt:
        if not hunt.contest.fits:
            raise
        outcome = Outcome.INTERRUPTED
    if outcome is Outcome.SETTLED and until.over:
        outcome = Outcome.OUT_OF_TIME
    found = hunt.formulas(labels)
    done = concluded(found, labels.beside(data), settings, outcome, hunt.looks, folds, policy)
    return replace(done, seconds=watch.seconds)


class _Hunt:
    """The state of a search for one law: the structures tried so far and how to try more."""

    def __init__(
        self,
        rows: GroupedRows,
        settings: Settings,
        wanted: Wanted,
        policy: GroupPolicy,
        watch: Stopwatch,
        report: Report,
        allowed: frozenset[str] | None,
    ) -> None:
        self._rows, self._settings, self._wanted, self._policy = rows, settings, wanted, policy
        self._watch, self._report = watch, report
        self._few = rows.thinned(policy.screened_rows, policy.least_rows)
        self._many = rows.thinned(policy.fitted_rows, policy.least_rows)
        self._known = allowed
        self.contest = Contest(self._many, policy, self._allows, settings.search.prices, wanted.number)
        self.looks = 0

    def _allows(self, expression: Expr) -> bool:
        return self._known is None or contained(expression) <= self._known

    def fit_template(self) -> None:
        assert self._settings.template is not None
        names = self._wanted.names
        given = names, self._wanted.number, self._settings.seed, self._policy
        structure = template_structure(self._settings.template, self._many, *given)
        self.contest.enter([structure], self._watch.until(np.inf))
        self.looks = 1

    def look_around(self, until: Deadline) -> None:
        """Tries the guesses, the catalogue and small forms on all groups at once."""
        guesses = [guessed_law(text, self._rows.data.names) for text in self._settings.guesses]
        self._enter(guesses, until)
        columns = self._rows.data.x.shape[1]
        self._enter(list(from_laws(self._settings.catalogue, columns, self._policy)), until)
        self.contest.simplify(until)
        forms = from_small_forms(self._few, self._policy, self._settings.search.catalogue, until)
        self._enter(list(forms.values()), until)
        self.contest.simplify(until)

    def search_further(self, search: Search, until: Deadline) -> None:
        """Searches networks as well, if the best structure leaves more than noise."""
        if until.over or self._is_explained():
            return
        self._enter(list(from_searches(self._many, search, self._policy, until)), until)
        self.contest.simplify(until)

    def _enter(self, pairs: Sequence[Pair], until: Deadline) -> None:
        if not pairs or (self.contest.fits and until.over):
            return
        tried = screened(pairs, self._few, self._policy, until)
        self.looks += len(pairs)
        self._tell("comparing structures")
        self.contest.enter_tried(tried, self._few, until)
        self._tell("telling constants apart")

    def _tell(self, message: str) -> None:
        leader = self.contest.leading()[:1]
        loss = leader[0].fit.misfit / len(self._many.codes) if leader else np.inf
        words = (lambda: leader[0].structure.law.formula) if leader else None
        limit = self._settings.time_limit
        self._report(Progress(self._watch.seconds, limit, self.looks, loss, message, formula=words))

    def _is_explained(self) -> bool:
        """Whether neighbours in the same group say nothing about the residuals of the best structure."""
        leader = self.contest.leading()[:1]
        if not leader or not np.isfinite(self.contest.best):
            return False
        law, places, fit = leader[0].structure.law, leader[0].structure.places, leader[0].fit
        data, codes = self._many.data, self._many.codes
        fitted = law.program.value(data.x[:, list(places)], fit.values[codes].T)
        near = np.empty(len(codes), int)
        for group in range(self._many.groups):
            mine = np.flatnonzero(codes == group)
            near[mine] = mine[neighbours(data.x[mine])] if len(mine) > 1 else mine
        return look_like_noise(data.y - fitted, fitted, near)

    def formulas(self, labels: Labels) -> list[GroupedFormula]:
        """The best structures as formulas, fitted to all rows."""
        constraints, most = self._settings.constraints, self._policy.vetoed + self._settings.more
        made: list[GroupedFormula] = []
        for split in sorted(self.contest.fits, key=self.contest.score)[:most]:
            formula = formula_of(split, self._rows, labels, self._policy, constraints.costs)
            if formula is not None and (self._settings.template or constraints.allows(formula.expression)):
                made.append(formula)
        return made
