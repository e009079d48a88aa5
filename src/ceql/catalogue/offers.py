"""What is offered without a search: the laws of the catalogue, plain models and small forms, fitted to the table."""

from __future__ import annotations

from collections.abc import Collection

from ceql.catalogue.fitting import fit_all, on_all_rows
from ceql.catalogue.law import catalogue
from ceql.catalogue.policy import POLICY, CataloguePolicy
from ceql.catalogue.small_forms import small_forms
from ceql.choice.criterion import criterion
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.expression.operations import contained
from ceql.expression.text.formula_values import can_be_read
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
    few = data.thinned(policy.offered_rows)
    fits = [
        fit
        for fit in (*fit_all(few, policy, laws), *small_forms(few, policy))
        if constraints.allows(fit.formula.expression)
        and can_be_read(fit.formula.expression)
        and (operators is None or contained(fit.formula.expression) <= _with_powers(operators))
    ]
    if few is not data:
        ranked = sorted(fits, key=lambda fit: criterion(fit.formula, len(few.y)))[: policy.offered]
        fits = [fit for short in ranked if (fit := on_all_rows(short, data, policy)) is not None]
    return [fit.formula for fit in fits]


def seconds_for_offers(rows: int, columns: int, policy: CataloguePolicy = POLICY) -> float:
    """About how long that takes, by the price list."""
    several = min(columns, policy.form_columns) - 1
    return policy.seconds + policy.seconds_a_column * several + policy.seconds_a_row * min(rows, policy.priced_rows)


def _with_powers(operators: Collection[str]) -> frozenset[str]:
    """A product can be a power, and a product with a reciprocal a quotient."""
    return frozenset(operators) | ({"square", "cube", "pow"} if "mul" in operators else frozenset()) | {"mul"}
