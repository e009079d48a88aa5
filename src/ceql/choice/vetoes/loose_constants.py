"""Constants that the data do not determine, and formulas that do without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from ceql.choice.criterion import criterion
from ceql.choice.vetoes.case import Case
from ceql.choice.vetoes.policy import VetoPolicy
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.expression import parametrise
from ceql.expression.constants.dropping import without_constant
from ceql.formula import Formula, constants_of, refitted

Constants = tuple[tuple[float, float], ...]


def constants_with_errors(formula: Formula, data: Dataset) -> Constants:
    """The constants that the formula carries, or newly computed ones if it was rewritten or has none."""
    values = parametrise(formula.expression).values
    carried = np.array([value for value, _ in formula.constants])
    if len(values) == len(carried) and np.allclose(values, carried, rtol=1e-9, atol=0.0):
        return formula.constants
    return constants_of(formula.form, formula.symbols, data)


def loose(constants: Constants, times: float = 1.0) -> list[int]:
    """The places of constants whose error is infinite or at least `times` as large as themselves, the loosest first."""
    found = [k for k, (value, error) in enumerate(constants) if not error <= times * abs(value)]
    return sorted(found, key=lambda k: -_looseness(*constants[k]))


def _looseness(value: float, error: float) -> float:
    with np.errstate(all="ignore"):
        ratio = np.float64(error) / np.abs(value)
    return float(ratio) if np.isfinite(ratio) else np.inf


def fewer(formula: Formula, data: Dataset, policy: VetoPolicy = VetoPolicy(), until: Deadline = NEVER) -> list[Formula]:
    """The formula refitted without a constant that the data do not determine, the best by the criterion first.

    If the best of these still has such a constant, it is removed as well. Once the time is up, no further refit begins.
    """
    found: list[Formula] = []
    tries = policy.most_refits if len(formula.constants) <= policy.most_constants else 0
    current: Formula | None = formula
    while current is not None and tries > 0 and not until.over:
        variants: list[Formula] = []
        for draft in islice(_drafts(current, data), tries):
            if until.over:
                break
            tries -= 1
            variant = refitted(draft, data, formula.symbols)
            if variant is not None:
                variant = replace(variant, costs=formula.costs)
                variants.append(variant)
                if variant.loss <= policy.as_well * current.loss:  # the constant was not needed: no other need be tried
                    break
        found += variants
        current = min(variants, key=lambda v: criterion(v, len(data.y)), default=None)
    distinct = {variant.expression: variant for variant in found}
    return sorted(distinct.values(), key=lambda v: criterion(v, len(data.y)))


def _drafts(formula: Formula, data: Dataset) -> Iterator[Any]:
    """The formula without each of its loose constants, not yet refitted; generated on demand."""
    constants = constants_with_errors(formula, data)
    unknown = [k for k, (_, error) in enumerate(constants) if not np.isfinite(error)]
    together = {k: [other for other in unknown if other != k] for k in unknown}
    for index in loose(constants):
        yield from without_constant(formula.expression, index, together.get(index, ()))


def undetermined(case: Case) -> str | None:
    """A sentence about a constant with an infinite error, or one far smaller than its error without which the formula
    fits as well."""
    if case.formula.is_shrunk:  # what the rows leave open of its weights is held small
        return None
    constants = constants_with_errors(case.formula, case.data)
    for value, error in constants:
        if not np.isfinite(error):
            return f"has the constant {value:.4g}, which the rows do not determine: its standard error is infinite"
    loosest = loose(constants, case.policy.hopeless)
    if not loosest:
        return None
    rows = len(case.data.y)
    better = fewer(case.formula, case.data, case.policy, case.until)
    if not better or criterion(better[0], rows) > criterion(case.formula, rows):
        return None
    value, error = constants[loosest[0]]
    return (
        f"has the constant {value:.4g} with a standard error of {error:.2g}, far larger than the constant; "
        f"{better[0]} fits as well without it"
    )


def out_of_scale(case: Case) -> str | None:
    """Constants that are astronomically large or small beside the data."""
    sizes = [np.abs(case.data.y), *np.abs(case.data.x.T)]
    decades = [max(abs(np.log10(s[s > 0])).max(initial=0.0), 0.0) for s in sizes]
    most = case.policy.decades + decades[0] + case.policy.highest_power * sum(decades[1:])
    for value in parametrise(case.formula.expression).values:
        if value != 0 and abs(np.log10(abs(value))) > most:
            return f"has the constant {value:.4g}, which is out of all proportion to the sizes of the data"
    return None
