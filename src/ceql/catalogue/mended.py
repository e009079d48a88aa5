"""Laws and forms that violate the required shape, refitted so that they have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ceql.catalogue.policy import CataloguePolicy
from ceql.choice.criterion import criterion
from ceql.constraints import Constraints
from ceql.data.dataset import Dataset
from ceql.engine.deadline import Deadline
from ceql.expression import parametrise
from ceql.formula import POLISH, Formula, NamedLaw, make_symbols, refitted


def mended(
    broken: Sequence[Formula], data: Dataset, constraints: Constraints, policy: CataloguePolicy, until: Deadline
) -> list[Formula]:
    """The best of the broken formulas, refitted to have the required shape; only a few once the time is up."""
    found: list[Formula] = []
    ranked = sorted(broken, key=lambda formula: criterion(formula, len(data.y)))
    for place, formula in enumerate(ranked[: policy.mended]):
        if place >= policy.mended_anyway and until.over:
            break
        again = refitted(formula.expression, data, formula.symbols, constraints)
        if again is not None:
            found.append(replace(again, law=_same_law(formula, again)))
    return found


def seeded(data: Dataset, constraints: Constraints) -> list[Formula]:
    """Plain formulas that have the required shape by construction, fitted to the data."""
    few = data.thinned(POLISH.checked_rows)
    symbols = make_symbols(data.names)
    found = (refitted(seed, data, symbols, constraints) for seed in constraints.seeds(few.x, few.y, few.weight))
    return [formula for formula in found if formula is not None]


def _same_law(before: Formula, after: Formula) -> NamedLaw | None:
    """The law with its new constants, if each is one number of the formula, up to its sign; otherwise None."""
    law, old, new = before.law, parametrise(before.expression), parametrise(after.expression)
    if law is None or old.expr != new.expr or len(after.constants) != len(new.values):
        return None
    places = [[k for k, value in enumerate(old.values) if abs(value) == abs(c.value)] for c in law.constants]
    if any(len(found) != 1 for found in places) or len({found[0] for found in places}) != len(old.values):
        return None
    signs = [np.sign(c.value * old.values[k]) for c, (k,) in zip(law.constants, places, strict=True)]
    values = np.array([sign * new.values[k] for sign, (k,) in zip(signs, places, strict=True)])
    return law.at(values, np.array([after.constants[k][1] for (k,) in places]))
