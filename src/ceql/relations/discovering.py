"""From a table to the relations in it: propose, finish, choose, check, and look for further ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from ceql.engine.deadline import Deadline, Stopwatch
from ceql.expression import parametrise
from ceql.formula import constants_of
from ceql.relations.candidates import Report, solved_columns, sums_of_terms
from ceql.relations.finding import Number, Relation, RelationsFinding
from ceql.relations.finishing import Finished, finished_draft, finished_equation
from ceql.relations.judging import Verdict, is_another, leaves_a_pattern, leaves_room, verdict_on
from ceql.relations.policy import SETTINGS, RelationsPolicy, RelationsSettings
from ceql.relations.rows import Rows
from ceql.relations.surface import Equation, put_onto
from ceql.relations.table import checked_rows
from ceql.relations.terms import Term, make_terms


@dataclass(frozen=True, eq=False)
class Accepted:
    """A relation that holds on the held-out rows, with the verdict on it."""

    found: Finished
    verdict: Verdict


def find_relations(
    data: Any,
    settings: RelationsSettings = SETTINGS,
    progress: Report | None = None,
    groups: Any = None,
) -> RelationsFinding:
    """Finds relations between the columns of a table, none of which is a target.

    `groups` are labels of the rows, or the name of their column; a relation may have a different level in each group.
    `progress` is called with the current stage and the share of it that is done.
    """
    watch, policy = Stopwatch(), settings.policy
    rows, grouped_by, notes = checked_rows(data, groups, policy.table)
    fit, held = rows.split(policy.judging.held_out, settings.seed)
    accepted: list[Accepted] = []
    if len(rows.names) > 1:
        until = watch.until(settings.time_limit)
        accepted = _Hunt(fit, held, settings, until, progress or (lambda stage, share: None)).all()
    whole = rows.thinned(policy.supports.most_fitted)
    relations = tuple(_told(one, whole, policy) for one in accepted)
    return RelationsFinding(
        relations, rows.names, grouped_by, rows.labels, len(rows.x), len(held.x), watch.seconds, notes
    )


@dataclass(frozen=True, eq=False)
class _Hunt:
    fit: Rows
    held: Rows
    settings: RelationsSettings
    until: Deadline
    report: Report

    @property
    def policy(self) -> RelationsPolicy:
        return self.settings.policy

    def all(self) -> list[Accepted]:
        """The first relation, and then others that do not follow from earlier ones."""
        before = self.until.left
        pool = self._finished_sums(self.fit)
        a_search = before - self.until.left
        pool += self._solved(pool)
        accepted = _as_list(self._first_that_holds(pool))
        while accepted and len(accepted) < min(self.policy.judging.most, len(self.fit.names) - 1):
            known = [one.found.equation for one in accepted]
            if self.until.left < a_search or not leaves_room(known, self.fit, self.policy.judging):
                break
            further = _as_list(self._further(accepted, pool, a_search))
            if not further:
                break
            accepted += further
        return accepted

    def _finished_sums(self, rows: Rows, given: Sequence[Term] = ()) -> list[Finished]:
        self.report("sums of terms", 0.0)
        own = self.policy.supports
        drafts = sums_of_terms(rows.thinned(own.most_rows), self.policy, given)
        found = [finished_draft(draft, rows.thinned(own.most_fitted), self.policy) for draft in drafts]
        return [one for one in found if one is not None]

    def _further(self, accepted: Sequence[Accepted], pool: Sequence[Finished], a_search: float) -> Accepted | None:
        """The next relation, or None.

        Distances are measured along the surfaces of the known relations, so that combining a new relation with them
        gains nothing. The search is repeated without multiples of single terms of the last relation, so that it finds
        different ones.
        """
        equations = [one.found.equation for one in accepted]
        own = self.policy
        rows = put_onto(equations, self.fit, own.fitting.flat, own.judging.put_onto)
        parts = {_without_number(term) for term in sympy.Add.make_args(sympy.expand(equations[-1].difference))}
        terms = make_terms(rows.x, rows.symbols, own.vocabulary, own.prices)
        given = sorted((term for term in terms if term.expression in parts), key=lambda term: -term.price)
        others = [one.equation for one in pool if is_another(one.equation, rows, own)][: own.judging.given_another]
        found = [finished_equation(equation, rows.thinned(own.supports.most_fitted), own) for equation in others]
        found += self._finished_sums(rows)
        for term in given[: own.judging.given]:
            found += [] if self.until.left < a_search else self._finished_sums(rows, [term])
        candidates = [one for one in found if one is not None and is_another(one.equation, rows, own)]
        near = [one for one in candidates if self._is_as_near(one, accepted[0])]
        return self._first_that_holds(near)

    def _solved(self, pool: Sequence[Finished]) -> list[Finished]:
        """Formulas of single columns: of those in the likeliest relation so far, or of all; none if that relation is
        exact."""
        policy = self.policy.solving
        likely = self._first_that_holds(pool)
        if likely is not None and likely.found.fit.distance <= self.policy.judging.exact:
            return []
        if not self.settings.solve or self.fit.groups > 1:
            return []
        columns = range(len(self.fit.names)) if likely is None else likely.found.equation.columns(self.fit)
        columns = list(columns)[: policy.most_columns]
        share = policy.share if len(self.fit.names) < 3 else policy.share_of_many
        seconds = share * self.until.left
        if seconds < policy.least_seconds * len(columns):
            return []
        rows = self.fit.thinned(self.policy.supports.most_fitted)
        equations = solved_columns(rows, columns, self.settings, seconds, self.report)
        found = [finished_equation(equation, rows, self.policy) for equation in equations]
        return [one for one in found if one is not None]

    def _first_that_holds(self, pool: Sequence[Finished]) -> Accepted | None:
        for found in sorted(pool, key=lambda one: one.criterion)[: self.policy.judging.tried]:
            verdict = verdict_on(found, self.held, self.policy)
            if verdict.holds:
                return Accepted(found, verdict)
        return None

    def _is_as_near(self, found: Finished, first: Accepted) -> bool:
        """Whether its distance is similar to that of the first relation, since all relations have the same noise."""
        own = self.policy.judging
        return found.fit.distance <= max(own.as_near**2 * first.found.fit.distance, own.exact)


def _as_list(found: Accepted | None) -> list[Accepted]:
    return [] if found is None else [found]


def _without_number(term: Any) -> Any:
    return term.as_coeff_Mul()[1]


def _told(accepted: Accepted, rows: Rows, policy: RelationsPolicy) -> Relation:
    """The relation as it is reported, with its numbers fitted to all rows."""
    equation = accepted.found.equation
    again = finished_equation(equation, rows, policy)
    found = accepted.found if again is None or not _same_columns(again.equation, equation, rows) else again
    left, level = _sides(found.equation, rows)
    verdict = accepted.verdict
    errors = _errors(found, rows)
    levels = tuple(_number(value, errors) for value in level)
    constants = tuple(_number(sympy.Float(value), errors) for value in parametrise(left).values)
    return Relation(
        left,
        rows.names,
        levels,
        constants,
        float(np.sqrt(found.fit.distance)),
        verdict.distance,
        verdict.share,
        tuple((rows.names[k], share) for k, share in verdict.shares),
        found.criterion,
        found.fit.distance <= policy.judging.exact,
        leaves_a_pattern(found, rows, policy),
    )


def _same_columns(one: Equation, other: Equation, rows: Rows) -> bool:
    return one.columns(rows) == other.columns(rows)


def _sides(equation: Equation, rows: Rows) -> tuple[Any, list[Any]]:
    """The part that contains columns, and its level, or one level for each group if they differ."""
    marks = set(rows.marks)
    left, level = [], []
    for term in sympy.Add.make_args(equation.difference):
        (left if term.free_symbols - marks else level).append(term)
    right = -sympy.Add(*level)
    if not right.free_symbols:
        return sympy.Add(*left), [right]
    each = [right.xreplace({mark: sympy.Integer(mark is own) for mark in rows.marks}) for own in rows.marks]
    return sympy.Add(*left), each


def _errors(found: Finished, rows: Rows) -> dict[float, float]:
    """The standard errors of the fitted numbers, keyed by their absolute values."""
    known = constants_of(parametrise(found.equation.rest), rows.inputs, found.fit.near)
    return {abs(value): error for value, error in known}


def _number(value: Any, errors: dict[float, float]) -> Number:
    is_fitted = bool(value.atoms(sympy.Float)) and errors
    size = abs(float(value))
    nearest = min(errors, key=lambda known: abs(known - size)) if is_fitted else 0.0
    return Number(float(value), errors[nearest] if is_fitted else 0.0)
