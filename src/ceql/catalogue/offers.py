"""What is offered without a search: the laws of the catalogue, plain models and small forms, fitted to the table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ceql.catalogue.fitting import fit_all, judged, on_all_rows
from ceql.catalogue.law import catalogue
from ceql.catalogue.plain import of_some_columns
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
    few = data.thinned(policy.offered_rows)
    laws = catalogue() if with_laws else tuple(law for law in catalogue() if law.is_plain)
    fits = [*fit_all(few, policy, laws), *small_forms(few, policy)]
    if few is not data:
        ranked = sorted(fits, key=lambda fit: criterion(fit.formula, len(few.y)))[: policy.offered]
        fits = [fit for short in ranked if (fit := on_all_rows(short, data, policy)) is not None]
    if data.x.shape[1] > policy.most_table_columns:
        lines = of_some_columns(data, policy.line_columns)
        fits += [fit for line in lines if (fit := judged(*line, data)) is not None]
    names = None if operators is None else _with_powers(operators)
    formulas = [fit.formula for fit in fits]
    return [f for f in formulas if _is_allowed(f.expression, constraints, names)]


def _is_allowed(expression: Any, constraints: Constraints, operators: frozenset[str] | None) -> bool:
    if not (constraints.allows(expression) and can_be_read(expression)):
        return False
    return operators is None or contained(expression) <= operators


def seconds_for_offers(rows: int, columns: int, policy: CataloguePolicy = POLICY) -> float:
    """About how long that takes, by the price list."""
    several = min(columns, policy.form_columns) - 1
    return policy.seconds + policy.seconds_a_column * several + policy.seconds_a_row * min(rows, policy.priced_rows)


def _with_powers(operators: Collection[str]) -> frozenset[str]:
    """A product can be a power, and a product with a reciprocal a quotient."""
    return frozenset(operators) | ({"square", "cube", "pow"} if "mul" in operators else frozenset()) | {"mul"}
