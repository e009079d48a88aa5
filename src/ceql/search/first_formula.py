"""A quick, simple formula for a table, where something must be known about it before the search."""

from __future__ import annotations

from dataclasses import replace

from ceql.catalogue.offers import offers
from ceql.catalogue.policy import POLICY
from ceql.choice.criterion import criterion
from ceql.data.dataset import Dataset
from ceql.formula import Formula, constant_formula


def first_formula(data: Dataset) -> Formula:
    """The best of the plain models and small forms by the criterion, or a constant."""
    plain = replace(POLICY, most_finished=0, finished_per_size=0)
    found = offers(data, with_laws=False, policy=plain)
    return min([*found, constant_formula(data)], key=lambda formula: criterion(formula, len(data.y)))
