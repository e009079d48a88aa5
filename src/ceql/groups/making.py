"""Turns a fitted structure into a formula: names, rounded constants with their errors, and the loss on all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ceql.catalogue.separable import Rows
from ceql.choice.exactness import EXACT, size_of
from ceql.data.groups import Labels
from ceql.expression.text.write import readable_text
from ceql.formula import TEMPLATE, LawConstant, NamedLaw, make_symbols
from ceql.groups.grouped_formula import Constants, GroupedFormula
from ceql.groups.joint import Bounds, JointFit, covariance, errors_of, fitted, misfit_of
from ceql.groups.policy import GroupPolicy
from ceql.groups.rows import GroupedRows
from ceql.groups.splitting import SplitFit, Structure
from ceql.groups.structures import expression_in, free_names

Array = np.ndarray
_EXACT_DIGITS = range(1, 15)  # numbers of digits tried for noiseless data, where the last digits are rounding
_ROUNDED = 4.0  # factor by which rounding such constants may raise the misfit
_BEYOND = 2  # digits shown beyond the error of a constant


def formula_of(
    split: SplitFit, rows: GroupedRows, labels: Labels, policy: GroupPolicy, costs: Mapping[str, int]
) -> GroupedFormula | None:
    """The structure fitted to all rows, as a formula; None if it is undefined in some row."""
    structure = split.structure
    law, table = structure.law, rows.seen_by(structure.places)
    bounds = Bounds.of(law, structure.low, structure.high)
    fit = fitted(law, table, split.fit.values, split.fit.own, policy.joint_steps, bounds)
    if not np.isfinite(fit.misfit):
        return None
    errors = errors_of(fit, covariance(law, table, fit, rows.data.noise))
    fit = _rounded(fit, errors, structure, table, EXACT.hit * size_of(rows.data) * len(rows.codes))
    own = np.array(fit.own)
    columns = (*rows.data.names, labels.column)
    names = np.array(_names(law.names, columns))
    parts = Constants(tuple(names[~own].tolist()), tuple(names[own].tolist()), labels.names)
    expression = expression_in(law, [columns[k] for k in structure.places], make_symbols(tuple(names.tolist())))
    values, sizes = (_in_line(numbers, own, rows.order) for numbers in (fit.values, errors))
    made = GroupedFormula.of(
        expression,
        make_symbols(columns),
        parts,
        values,
        sizes,
        fit.misfit / len(rows.codes),
        costs=costs,
        bounds=_limits(structure, own),
    )
    return replace(made, law=_law(structure, made, np.concatenate([np.flatnonzero(~own), np.flatnonzero(own)])))


def _names(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """The names of the constants, replaced by new ones where a column has the same name."""
    fresh = free_names([*names, *taken])
    return [next(fresh) if name in taken else name for name in names]


def _in_line(table: Array, own: Array, order: Array) -> Array:
    """One flat array: the shared values, then those of each group in the order of the labels."""
    of_groups = np.empty((len(table), int(own.sum())))
    of_groups[order] = table[:, own]
    return np.concatenate([table[0, ~own], of_groups.ravel()])


def _limits(structure: Structure, own: Array) -> tuple[tuple[float, float], ...]:
    if structure.low is None or structure.high is None:
        return ()
    pairs = np.column_stack([structure.low, structure.high])
    return tuple((float(low), float(high)) for low, high in np.vstack([pairs[~own], pairs[own]]))


def _law(structure: Structure, made: GroupedFormula, order: Array) -> NamedLaw | None:
    """The structure's named law with the constants of every group, or the template; None if it has no name."""
    law = structure.law
    is_template = law.name == TEMPLATE
    if not is_template and not law.is_named:
        return None
    shared, own, labels = len(made.parts.shared), len(made.parts.own), len(made.parts.labels)
    places = [*order[:shared], *(k for _ in range(labels) for k in order[shared : shared + own])]
    constants = tuple(
        LawConstant(name, law.constants[k].meaning, value, error, *_limit(structure, k))
        for name, k, (value, error) in zip(made.parts.names, places, made.constants, strict=True)
    )
    others = tuple(alias.name for alias in law.others)
    text = readable_text(made.named)
    if is_template:
        return NamedLaw(TEMPLATE, "the user", text, constants)
    return NamedLaw(law.name, law.field, text, constants, law.known, others)


def _limit(structure: Structure, place: int) -> tuple[float, float]:
    if structure.low is None or structure.high is None:
        return -np.inf, np.inf
    return float(structure.low[place]), float(structure.high[place])


def _rounded(fit: JointFit, errors: Array, structure: Structure, rows: Rows, exact: float) -> JointFit:
    """The fit with each constant rounded to its error and two more digits; for exact data, to as few digits as
    suffice."""
    law = structure.law
    if fit.misfit <= exact:
        for digits in _EXACT_DIGITS:
            short = _digits(fit.values, digits)
            misfit = misfit_of(law, rows, short)
            if misfit <= max(_ROUNDED * fit.misfit, EXACT.rounding * exact / EXACT.hit):
                return replace(fit, values=short, misfit=misfit)
        return fit
    short = to_their_errors(fit.values, errors)
    misfit = misfit_of(law, rows, short)
    allowed = all(map(law.allows, short)) and np.isfinite(misfit)
    within = structure.low is None or bool(((short >= structure.low) & (short <= structure.high)).all())
    return replace(fit, values=short, misfit=misfit) if allowed and within else fit


def to_their_errors(values: Array, errors: Array) -> Array:
    """The values rounded to two digits beyond their errors; unchanged where no error is known."""
    with np.errstate(all="ignore"):
        places = _BEYOND - np.floor(np.log10(errors))
    known = np.isfinite(places)
    return np.where(known, _to_places(values, np.where(known, places, 0.0)), values)


def _to_places(values: Array, places: Array) -> Array:
    return np.vectorize(lambda value, place: round(float(value), int(place)))(values, places)


def _digits(values: Array, digits: int) -> Array:
    return np.vectorize(lambda value: float(f"{value:.{digits - 1}e}"))(values)
