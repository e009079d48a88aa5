"""What is offered without a search: the laws of the catalogue, plain models and small forms, fitted to the table."""

from __future__ import annotations

from collections.abc import Collection

from ceql.catalogue.fitting import fit_all
from ceql.catalogue.law import catalogue
from ceql.catalogue.policy import POLICY, CataloguePolicy
from ceql.catalogue.small_forms import small_forms
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.expression.operations import contained
from ceql.formula import Formula


def offers(
    data: Dataset,
    with_laws: bool = True,
    constraints: Constraints = NONE,
    operators: Collection[str] | None = None,
    policy: CataloguePolicy = POLICY,
) -> list[Formula]:
    """Formulas of these operators (None: of any) that keep to the constraints.

    Without the laws there are still the plain models, so that the choice is never worse than a straight line.
    """
    laws = catalogue() if with_laws else tuple(law for law in catalogue() if law.is_plain)
    fits = (*fit_all(data, policy, laws), *small_forms(data, policy))
    return [
        fit.formula
        for fit in fits
        if constraints.allows(fit.formula.expression)
        and (operators is None or contained(fit.formula.expression) <= _with_powers(operators))
    ]


def seconds_for_offers(rows: int, columns: int, policy: CataloguePolicy = POLICY) -> float:
    """About how long that takes, by the price list."""
    several = min(columns, policy.form_columns) - 1
    return policy.seconds + policy.seconds_a_column * several + policy.seconds_a_row * min(rows, policy.priced_rows)


def _with_powers(operators: Collection[str]) -> frozenset[str]:
    """A product can be a power, and a product with a reciprocal a quotient."""
    return frozenset(operators) | ({"square", "cube", "pow"} if "mul" in operators else frozenset()) | {"mul"}
