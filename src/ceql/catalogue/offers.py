"""What is offered without a search: the laws of the catalogue, plain models and small forms, fitted to the table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ceql.catalogue.fitting import LawFit, fit_all, judged, on_all_rows
from ceql.catalogue.law import catalogue
from ceql.catalogue.logarithms import of_logarithms
from ceql.catalogue.plain import of_some_columns, shrunk
from ceql.catalogue.policy import POLICY, CataloguePolicy
from ceql.catalogue.small_forms import small_forms
from ceql.choice.criterion import criterion
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.expression.operations import contained
from ceql.expression.symbolic import Expr
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
    known = None if operators is None else _with_powers(operators)

    def is_allowed(fit: LawFit) -> bool:
        return may_be_said(fit.formula.expression)

    def may_be_said(expression: Expr) -> bool:
        is_known = known is None or contained(expression) <= known
        return is_known and constraints.allows(expression) and can_be_read(expression)

    few = data.thinned(policy.offered_rows)
    fits = [*fit_all(few, policy, laws), *of_logarithms(few, laws, policy), *small_forms(few, policy)]
    fits = [fit for fit in fits if is_allowed(fit)]
    if few is not data:
        ranked = sorted(fits, key=lambda fit: criterion(fit.formula, len(few.y)))[: policy.offered]
        longer = (on_all_rows(short, data, policy) for short in ranked)
        fits = [fit for fit in longer if fit is not None and is_allowed(fit)]  # its constants have moved
    if data.x.shape[1] > policy.most_table_columns:
        lines = (judged(*line, data) for line in of_some_columns(data, policy.line_columns))
        fits += [fit for fit in lines if fit is not None and is_allowed(fit)]
    formulas = [fit.formula for fit in fits]
    line = shrunk(data)
    if line is not None and may_be_said(line.expression):
        formulas.append(line)
    return [replace(formula, costs=constraints.costs) for formula in formulas]


def seconds_for_offers(rows: int, columns: int, policy: CataloguePolicy = POLICY) -> float:
    """About how long that takes, by the price list."""
    several = min(columns, policy.form_columns) - 1
    return policy.seconds + policy.seconds_a_column * several + policy.seconds_a_row * min(rows, policy.priced_rows)


def _with_powers(operators: Collection[str]) -> frozenset[str]:
    """A product can be a power, and a quotient by a reciprocal is a product."""
    powers = {"square", "cube", "pow"} if "mul" in operators else frozenset()
    products = {"mul"} if "div" in operators else frozenset()
    return frozenset(operators) | powers | products
