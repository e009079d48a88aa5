"""Which grouped formulas are shown and which one is chosen: vetoes in each group, the criterion, and held-out rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql.choice.criterion import criterion
from ceql.choice.evidence import EVIDENCE, scores, weights
from ceql.choice.exactness import is_hit
from ceql.choice.front import pareto_front
from ceql.choice.selection import choose
from ceql.choice.sifting import Struck, distinct
from ceql.choice.validation import VALIDATION, Folds, cross_validated, held_out, r2_of
from ceql.choice.vetoes.case import Case, columns_of
from ceql.choice.vetoes.frequencies import SLOW, unseen_frequency
from ceql.choice.vetoes.places import places_of
from ceql.choice.vetoes.policy import VetoPolicy
from ceql.choice.vetoes.undefined import undefined_between_rows
from ceql.choice.vetoes.unsupported import unsupported_by_rows
from ceql.data.dataset import Dataset
from ceql.discovery import Discovery, Outcome, Settings, poles_of
from ceql.formula import constant_formula, mean_square
from ceql.groups.grouped_formula import GroupedFormula
from ceql.groups.policy import GroupPolicy

_IN_ANY = (undefined_between_rows, unsupported_by_rows)  # a formula is struck if one of these applies in any group


def concluded(
    formulas: Sequence[GroupedFormula],
    data: Dataset,
    settings: Settings,
    outcome: Outcome,
    looks: int,
    folds: Folds | None,
    policy: GroupPolicy,
) -> Discovery:
    """The result: the front of these formulas, the best others beside it, the chosen formula, and how well each fits.

    The last column of `data` holds the numbers of the groups.
    """
    rows, prices = len(data.y), settings.search.prices
    folds = folds or folds_within(data)
    allowed, struck = _sifted(formulas, data, settings, policy)
    constant = constant_formula(data, settings.constraints)
    front = allowed[:1] if settings.template else pareto_front([*allowed, constant], rows, prices)
    on_front = {id(formula) for formula in front}
    beside = [] if settings.template else [f for f in allowed if id(f) not in on_front][: settings.more]
    shown = (*front, *beside)
    if not shown:
        shown = front = [constant]
        outcome = outcome if outcome is Outcome.INTERRUPTED else Outcome.NOT_ALLOWED
    held = held_out(shown, data, folds) if settings.model_selection == "cv" else None
    size = mean_square(data.y, data.weight)
    chosen = choose(shown, settings.model_selection, rows, size, held, prices)
    own = scores(shown, data, prices)
    exact = [k for k, formula in enumerate(shown) if is_hit(formula, data)]
    if exact and settings.model_selection == "best":  # among exact formulas, the named or the shortest one
        chosen = min(exact, key=lambda k: own[k])
    if is_hit(shown[chosen], data) and outcome is not Outcome.INTERRUPTED:
        outcome = Outcome.EXACT
    shares = weights(own)
    r2_cv = np.full(len(shown), np.nan) if held is None else np.array(held.r2)
    for k, share in enumerate(shares) if held is None else ():
        if share >= EVIDENCE.competes or k == chosen:
            (r2_cv[k],) = cross_validated([shown[k]], data, folds)
    return Discovery(
        tuple(front),
        chosen,
        poles_of(shown[chosen], data),
        outcome,
        0.0,
        looks,
        0.0,
        rows,
        len(data.names),
        shortlist=tuple(beside),
        struck=tuple(struck),
        weights=shares,
        r2=r2_of(shown, data),
        r2_cv=tuple(r2_cv.tolist()),
    )


def _sifted(
    formulas: Sequence[GroupedFormula], data: Dataset, settings: Settings, policy: GroupPolicy
) -> tuple[list[GroupedFormula], list[Struck]]:
    """The distinct formulas that may be chosen, the best first, and those that may not, each with the reason."""
    rows, prices = len(data.y), settings.search.prices
    ranked = sorted(formulas, key=lambda formula: criterion(formula, rows, prices))
    if settings.template is not None:
        return list(ranked), []
    limit = settings.max_complexity
    short = [f for f in ranked if limit is None or f.complexity <= limit]
    allowed, struck = [], []
    for place, formula in enumerate(distinct(short, data, settings.search.sifting.same)):
        why = _veto(formula, data, settings.search.sifting.vetoes, policy) if place < policy.vetoed else None
        if why is None:
            allowed.append(formula)
        else:
            struck.append(Struck(formula, why))
    return _told_by_rows(allowed, struck, policy)


def _told_by_rows(
    allowed: list[GroupedFormula], struck: list[Struck], policy: GroupPolicy
) -> tuple[list[GroupedFormula], list[Struck]]:
    """Reinstates a formula struck for a sine too slow to tell from a parabola, if no allowed formula fits nearly as
    well.

    In that case the rows can tell the two apart.
    """
    for one in struck:
        formula = one.formula
        if one.why.startswith(SLOW) and isinstance(formula, GroupedFormula):
            if any(other.loss <= policy.untold * formula.loss for other in allowed):
                break
            return [formula, *allowed], [other for other in struck if other is not one]
    return allowed, struck


def _veto(formula: GroupedFormula, data: Dataset, vetoes: VetoPolicy, policy: GroupPolicy) -> str | None:
    """Why the formula may not be chosen, however well it fits; None if it may."""
    errors = np.array([error for _, error in formula.constants])
    shared, own = errors[: len(formula.parts.shared)] == np.inf, formula.parts.table(errors) == np.inf
    loose = [*np.array(formula.parts.shared)[shared], *np.array(formula.parts.own)[own.mean(axis=0) > policy.loose]]
    if loose:
        return f"has the constant {loose[0]}, which the rows do not determine: its standard error is infinite"
    if is_hit(formula, data):
        return None
    cases = _cases(formula, data, vetoes, policy)
    for case, where in cases:
        said = next((sentence for veto in _IN_ANY if (sentence := veto(case)) is not None), None)
        if said is not None:
            return f"{said}{where}"
    # One group may cover only part of a period that another covers completely.
    slow = [(sentence, where) for case, where in cases if (sentence := unseen_frequency(case)) is not None]
    return "".join(slow[0]) if slow and len(slow) == len(cases) else None


def _cases(formula: GroupedFormula, data: Dataset, vetoes: VetoPolicy, policy: GroupPolicy) -> list[tuple[Case, str]]:
    """The formula for each of the largest groups with that group's rows, or one case if all groups share all
    constants."""
    codes = data.x[:, -1].astype(int)
    if not formula.parts.own:
        codes = np.zeros_like(codes)
    found = []
    for code in np.argsort(-np.bincount(codes), kind="stable")[: policy.vetoed_groups]:
        label, mine = formula.parts.labels[int(code)], codes == code
        alone, weight = formula.of_group(label), data.weight[mine]
        rows = Dataset(data.x[mine][:, :-1], data.y[mine], weight / weight.mean(), data.names[:-1])
        columns = columns_of(alone)
        if columns and len(rows.y) > 1:
            where = f" ({formula.column} {label})" if formula.parts.own else ""
            found.append((Case(alone, rows, places_of(rows, columns, vetoes), vetoes), where))
    return found


def folds_within(data: Dataset, count: int | None = None) -> Folds:
    """Folds that each hold out a share of every group, since a group without rows to fit to would have no constants."""
    rows = np.random.default_rng(0).permutation(len(data.y))
    rows = rows[np.argsort(data.x[rows, -1], kind="stable")]
    place = np.empty(len(rows), int)
    codes = data.x[rows, -1].astype(int)
    sizes = np.bincount(codes)
    place[rows] = np.concatenate([np.arange(size) for size in sizes])
    number = count or VALIDATION.folds
    # the groups start at different folds, so that small groups do not all put their rows into the first one
    part = (place + data.x[:, -1].astype(int)) % number
    everything = np.arange(len(part))
    parts = [(everything[part != k], everything[part == k]) for k in range(number)]
    alone = sizes[data.x[:, -1].astype(int)] < 2
    return [(train, test[~alone[test]]) for train, test in parts if len(test[~alone[test]]) and len(train)]
