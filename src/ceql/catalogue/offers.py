"""Formulas offered without a search: laws of the catalogue, plain models and small forms, fitted to the table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from ceql.catalogue.fitting import LawFit, fit_all, judged, on_all_rows
from ceql.catalogue.law import Law, catalogue
from ceql.catalogue.logarithms import of_logarithms
from ceql.catalogue.mended import mended, seeded
from ceql.catalogue.plain import of_some_columns, shrunk
from ceql.catalogue.policy import POLICY, CataloguePolicy
from ceql.catalogue.small_forms import small_forms
from ceql.choice.criterion import criterion
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.expression.operations import contained
from ceql.expression.symbolic import Expr
from ceql.expression.text.formula_values import can_be_read
from ceql.formula import Formula, mean_square


def offers(
    data: Dataset,
    with_laws: bool = True,
    constraints: Constraints = NONE,
    operators: Collection[str] | None = None,
    policy: CataloguePolicy = POLICY,
    until: Deadline = NEVER,
) -> list[Formula]:
    """Fitted formulas that use these operators (None: any) and satisfy the constraints.

    The plain models are included even without the laws, so that the choice is never worse than a straight line. Once
    the time is up, no further model is started.
    """
    laws = catalogue() if with_laws else tuple(law for law in catalogue() if law.is_plain)
    known = None if operators is None else with_powers(operators)

    def is_allowed(fit: LawFit) -> bool:
        return may_be_said(fit.formula.expression)

    def may_be_said(expression: Expr) -> bool:
        return is_known(expression) and constraints.allows(expression)

    def is_known(expression: Expr) -> bool:
        return (known is None or contained(expression) <= known) and can_be_read(expression)

    whole, data = data, data.thinned(policy.most_rows)
    few = data.thinned(policy.offered_rows)
    policy = policy.wider if constraints.is_about_shape else policy
    tried = [fit for part in _on_some_rows(few, laws, policy, until) for fit in part]
    fits = [fit for fit in tried if is_allowed(fit)]
    broken = [fit.formula for fit in tried if is_known(fit.formula.expression) and not is_allowed(fit)]
    if few is not data:
        ranked = sorted(fits, key=lambda fit: criterion(fit.formula, len(few.y)))[: policy.offered]
        longer = (on_all_rows(short, data, policy) for k, short in enumerate(ranked) if k == 0 or not until.over)
        fits = [fit for fit in longer if fit is not None and is_allowed(fit)]  # refitting changed the constants
    if data.x.shape[1] > policy.most_table_columns and not until.over:
        lines = takewhile(lambda _: not until.over, of_some_columns(data, policy.line_columns))
        fits += [fit for line in lines if (fit := judged(*line, data)) is not None and is_allowed(fit)]
    formulas = [fit.formula for fit in fits]
    formulas += _line_in_all(data, policy, may_be_said, until)
    if constraints.is_about_shape:
        formulas += mended(broken, data, constraints, policy, until)
        formulas += [formula for formula in seeded(data, constraints) if is_known(formula.expression)]
    formulas = [replace(formula, costs=constraints.costs) for formula in formulas]
    return formulas if whole is data else _judged_on(whole, formulas, len(data.y), until)


def line_out_of_time(
    data: Dataset,
    constraints: Constraints = NONE,
    operators: Collection[str] | None = None,
    policy: CataloguePolicy = POLICY,
) -> list[Formula]:
    """The straight line in all columns, fitted after the time is up if that is almost instant.

    Choices by held-out rows are measured against it.
    """
    known = None if operators is None else with_powers(operators)

    def may_be_said(expression: Expr) -> bool:
        return (known is None or contained(expression) <= known) and constraints.allows(expression)

    few = data.thinned(policy.most_rows)
    lines = [replace(line, costs=constraints.costs) for line in _line_in_all(few, policy, may_be_said)]
    return lines if few is data else _judged_on(data, lines, len(few.y), NEVER)


def _line_in_all(
    data: Dataset, policy: CataloguePolicy, may_be_said: Callable[[Expr], bool], until: Deadline | None = None
) -> list[Formula]:
    """The straight line in all columns, if it is allowed; without a deadline, only if fitting it is quick."""
    is_quick = data.x.size * data.x.shape[1] <= policy.quick_line
    line = shrunk(data) if is_quick or (until is not None and not until.over) else None
    return [line] if line is not None and may_be_said(line.expression) else []


def _judged_on(whole: Dataset, formulas: Sequence[Formula], fitted: int, until: Deadline) -> list[Formula]:
    """The formulas with their loss on all rows of a long table, the best first, leaving out those undefined on some
    row."""
    found: list[Formula] = []
    for formula in sorted(formulas, key=lambda formula: criterion(formula, fitted)):
        if found and until.over:
            break
        values = formula(whole.x)
        if np.isfinite(values).all():
            found.append(replace(formula, loss=mean_square(values - whole.y, whole.weight)))
    return found


def _on_some_rows(
    few: Dataset, laws: Sequence[Law], policy: CataloguePolicy, until: Deadline
) -> Iterator[Iterable[LawFit]]:
    """Fits of laws, logarithms of laws and small forms, one kind after another until the time is up."""
    yield fit_all(few, policy, laws, until)
    if not until.over:
        yield of_logarithms(few, laws, policy)
    if not until.over:
        yield small_forms(few, policy)


def seconds_for_offers(rows: int, columns: int, policy: CataloguePolicy = POLICY) -> float:
    """The approximate time that `offers` takes, in seconds."""
    several = min(columns, policy.form_columns) - 1
    return policy.seconds + policy.seconds_a_column * several + policy.seconds_a_row * min(rows, policy.priced_rows)


def with_powers(operators: Collection[str]) -> frozenset[str]:
    """The operators, and those that they imply: products can be powers, and quotients can be products."""
    powers = {"square", "cube", "pow"} if "mul" in operators else frozenset()
    products = {"mul"} if "div" in operators else frozenset()
    return frozenset(operators) | powers | products
