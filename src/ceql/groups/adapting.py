"""Adding new groups to a known formula: their own constants are fitted to a few rows; the shared ones stay fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ceql.choice.validation import r2_of
from ceql.data.dataset import Dataset
from ceql.data.groups import Labels
from ceql.discovery import Discovery, poles_of
from ceql.errors import InputError
from ceql.expression.constants.refit import covariance_of, minimise
from ceql.expression.evaluate.residual_problem import Problem
from ceql.formula import Formula, mean_square
from ceql.groups.grouped_formula import GroupedFormula, GroupedProgram
from ceql.groups.making import to_their_errors

Array = np.ndarray
_STEPS = 80  # most steps of a fit that starts at the constants of a known group
_LEAST_NOISE = 1e-300


@dataclass(frozen=True, eq=False)
class _OneGroup:
    """The structure with its shared constants fixed, as a program of the constants of one group."""

    program: GroupedProgram
    shared: Array

    def _every(self, constants: Array) -> Array:
        return np.concatenate([self.shared, np.asarray(constants, float)])

    def value(self, x: Array, constants: Array) -> Array:
        return self.program.compiled.value(x, self._every(constants))

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]:
        values, slopes = self.program.compiled(x, self._every(constants))
        return values, slopes[:, len(self.shared) :]


def with_new_groups(found: Discovery, old: Dataset, new: Dataset, labels: Labels) -> tuple[Discovery, Dataset]:
    """The discovery with the new groups added, and the table of all rows, old and new.

    The last column of `old` holds the numbers of the groups; `new` has no such column.
    """
    first = max(_groups(formula) for formula in found.formulas)
    joined = _joined(old, new, labels.codes + first)
    # Besides the chosen formula, keep those whose per-group constants so few rows can determine.
    rows = int(labels.sizes.min())
    kept = [k for k, f in enumerate(found.formulas) if k == found.chosen or _own(f) <= rows]
    formulas = tuple(_extended(found.formulas[k], old, new, labels, joined) for k in kept)
    on_front = sum(k < len(found.front) for k in kept)
    shares = np.array([found.weights[k] for k in kept])
    whole = replace(
        found,
        front=formulas[:on_front],
        shortlist=formulas[on_front:],
        chosen=kept.index(found.chosen),
        struck=(),
        weights=tuple((shares / shares.sum()).tolist()),
        r2=r2_of(formulas, joined),
        r2_cv=tuple(found.r2_cv[k] for k in kept),
    )
    return replace(whole, poles=poles_of(whole.best, joined)), joined


def _own(formula: Formula) -> int:
    return len(formula.parts.own) if isinstance(formula, GroupedFormula) else 0


def _groups(formula: Formula) -> int:
    return len(formula.parts.labels) if isinstance(formula, GroupedFormula) else 0


def _joined(old: Dataset, new: Dataset, codes: Array) -> Dataset:
    """The rows of both tables, so that a new row of weight one counts as much as an old one."""
    x = np.vstack([old.x, np.column_stack([new.x, codes])])
    weight = np.concatenate([old.weight, new.weight])
    mean = float(weight.mean())
    noise = None if old.noise is None else old.noise / mean
    return Dataset(x, np.concatenate([old.y, new.y]), weight / mean, old.names, noise)


def _extended(formula: Formula, old: Dataset, new: Dataset, labels: Labels, joined: Dataset) -> Formula:
    if not isinstance(formula, GroupedFormula):
        return replace(formula, loss=mean_square(formula(joined.x) - joined.y, joined.weight))
    rows = len(old.y)
    freedom = max(rows - formula.parts.count, 1)
    noise = old.noise if old.noise is not None else formula.loss * rows / freedom
    pairs = list(formula.constants)
    for code, label in enumerate(labels.names):
        mine = labels.codes == code
        pairs += _constants(formula, new.x[mine], new.y[mine], new.weight[mine], label, max(noise, _LEAST_NOISE))
    parts = replace(formula.parts, labels=(*formula.parts.labels, *labels.names))
    values, errors = np.array(pairs, float).reshape(-1, 2).T
    more = {"costs": formula.costs, "bounds": formula.bounds}
    made = GroupedFormula.of(formula.structure, formula.symbols, parts, values, errors, formula.loss, **more)
    law = formula.law
    if law is not None:
        own = law.constants[len(parts.shared) : len(parts.shared) + len(parts.own)]
        fresh = zip(parts.names[len(law.constants) :], pairs[len(law.constants) :], strict=True)
        added = tuple(
            replace(own[k % len(own)], name=name, value=float(value), error=float(error))
            for k, (name, (value, error)) in enumerate(fresh)
        )
        law = replace(law, constants=(*law.constants, *added))
    made = replace(made, law=law)
    return replace(made, loss=mean_square(made(joined.x) - joined.y, joined.weight))


def _constants(
    formula: GroupedFormula, x: Array, y: Array, weight: Array, label: str, noise: float
) -> list[tuple[float, float]]:
    """Values and errors of one group's constants: the best fit among starts at every known group and their median."""
    parts = formula.parts
    if not parts.own:
        return []
    if len(y) < len(parts.own):
        raise InputError(
            f"Group {label!r} has {len(y)} {'row' if len(y) == 1 else 'rows'}, too few for its {len(parts.own)} "
            f"constants ({', '.join(parts.own)}): give at least {len(parts.own)}."
        )
    program = formula.program
    assert isinstance(program, GroupedProgram)
    known = parts.table(formula.values)
    one = _OneGroup(program, formula.values[: len(parts.shared)])
    low, high = (np.broadcast_to(end, (parts.count,)) for end in (formula.form.low, formula.form.high))
    of_one = slice(len(parts.shared), len(parts.shared) + len(parts.own))
    problem = Problem(one, x, y, np.sqrt(weight), low=low[of_one], high=high[of_one])
    starts = np.vstack([np.median(known, axis=0), known])
    ends = [minimise(problem, start, _STEPS) for start in starts]
    values, misfit = min(ends, key=lambda end: end[1])
    if not np.isfinite(misfit):
        raise InputError(f"The formula has no value in some row of group {label!r}: check its rows, or fit again.")
    errors = np.sqrt(np.abs(np.diag(covariance_of(problem, values, misfit, noise))))
    short = problem.within(to_their_errors(values, errors))
    return list(zip(map(float, short), map(float, errors), strict=True))
