"""The results of a search as tables, as a fitted model shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ceql.choice.criterion import description
from ceql.choice.front import gains
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.data.targets import Targets
from ceql.dimensions import Dimensions
from ceql.discovery import Discovery, constant_units
from ceql.errors import InputError, unknown_name
from ceql.expression.constants.refit import covariance_of
from ceql.expression.evaluate.residual_problem import Problem
from ceql.expression.prices import PRICES, Prices
from ceql.formula import Formula, covariance
from ceql.groups.grouped_formula import GroupedFormula
from ceql.shapes.verdicts import Verdict


@dataclass(frozen=True, eq=False)
class Finding:
    """One target: its name, its formula, the search behind it and the data."""

    name: str
    formula: Formula
    discovery: Discovery
    data: Dataset
    prices: Prices = PRICES
    constraints: Constraints = NONE

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """For each required shape, whether the formula has it and how this is known."""
        return verdicts_on(self.formula, self.data, self.constraints)

    @property
    def row(self) -> int:
        """The row of the formula among the formulas of the discovery."""
        return next(k for k, formula in enumerate(self.discovery.formulas) if formula is self.formula)


def finding(
    discoveries: Sequence[Discovery],
    targets: Targets,
    row: int | None = None,
    target: str | None = None,
    prices: Prices = PRICES,
    constraints: Constraints = NONE,
) -> Finding:
    """The finding for `target`. A model with a single target accepts any name, which is then displayed."""
    names = targets.names
    if len(names) > 1 and target is None:
        raise InputError(f"This model has {len(names)} targets ({', '.join(names)}): name the one you mean.")
    if len(names) > 1 and target not in names:
        raise unknown_name("target", str(target), names)
    place = names.index(str(target)) if len(names) > 1 else 0
    found = discoveries[place]
    name = names[place] if target is None else str(target)
    return Finding(name, formula_in_row(found, row), found, targets.datasets[place], prices, constraints)


def over_table(constraints: Constraints | None, data: Dataset) -> Constraints:
    """The constraints applied to these data, since they may refer to the ranges of columns."""
    return (constraints or NONE).over(data.names, data.x, data.y)


def verdicts_on(formula: Formula, data: Dataset, constraints: Constraints | None) -> tuple[Verdict, ...]:
    return over_table(constraints, data).verdicts(formula.expression) if constraints and constraints.asked else ()


def shapes_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """A table of the required shapes: whether each is kept, and how this is known."""
    rows = [(str(one.shape), one.kept, one.how) for one in verdicts]
    return pd.DataFrame(rows, columns=pd.Index(["shape", "kept", "how"]))


def one_or_all(values: list) -> Any:
    """The only value of a list with one entry, otherwise the list."""
    return values[0] if len(values) == 1 else values


def formula_in_row(discovery: Discovery, row: Any = None) -> Formula:
    """The chosen formula, or the one in the given row; rows of the front come before those beside it."""
    formulas = discovery.formulas
    if row is None:
        return discovery.best
    if not isinstance(row, int | np.integer) or not -len(formulas) <= row < len(formulas):
        raise InputError(f"The rows are 0 to {len(formulas) - 1}; there is no row {row!r}.")
    return formulas[row]


def constants_table(formula: Formula, units: Dimensions | None = None) -> pd.DataFrame:
    """The constants of a formula with their standard errors, and with their units if units are known.

    For a named law or a template, constants are listed under the names they have there; for a formula with constants of
    groups, only the shared ones are listed.
    """
    if isinstance(formula, GroupedFormula):
        shared = formula.parts.shared
        pairs, names = list(formula.constants[: len(shared)]), pd.Index(shared, name="constant")
        return pd.DataFrame(pairs, columns=["value", "standard_error"], index=names, dtype=float)
    law = formula.law
    known = {} if units is None else _unit_columns(formula, units)
    if law is None:
        table = pd.DataFrame(list(formula.constants), columns=["value", "standard_error"], dtype=float)
        return table.assign(**known)
    pairs = [(constant.value, constant.error) for constant in law.constants]
    names = pd.Index([constant.name for constant in law.constants], name=law.name)
    return pd.DataFrame(pairs, columns=["value", "standard_error"], index=names, dtype=float).assign(**known)


def _unit_columns(formula: Formula, units: Dimensions) -> dict[str, list[str]]:
    """The column of units for the table of constants and, if there are named constants, what each is made of."""
    found = constant_units(formula, units)
    columns = {"unit": [one.unit for one in found]}
    return {**columns, "made_of": [one.made_of for one in found]} if units.constants else columns


def covariance_table(formula: Formula, data: Dataset) -> pd.DataFrame:
    """The covariances of the constants of a formula; for a template under their names."""
    if isinstance(formula, GroupedFormula):
        names = pd.Index(formula.parts.names)
        problem = Problem(formula.program, data.x, data.y, np.sqrt(data.weight))
        known = covariance_of(problem, formula.values, problem.misfit(formula.values), data.noise)
        return pd.DataFrame(known, index=names, columns=names, dtype=float)
    law = formula.law
    names = pd.Index([c.name for c in law.constants]) if law is not None and law.is_template else None
    return pd.DataFrame(covariance(formula, data), index=names, columns=names, dtype=float)


# Made on import, since pandas imports a library for the first strings it sees, and a fit should import nothing.
_COLUMNS = pd.Index(
    [
        "complexity",
        "price",
        "loss",
        "score",
        "weight",
        "r2",
        "r2_cv",
        "equation",
        "law",
        "sympy_format",
        "front",
        "chosen",
    ]
)


_STRUCK_COLUMNS = pd.Index(["equation", "why"])


def struck_table(discovery: Discovery) -> pd.DataFrame:
    """The formulas that may not be chosen, each with the reason."""
    texts = {"equation": [str(one.formula) for one in discovery.struck], "why": [one.why for one in discovery.struck]}
    return pd.DataFrame(texts, columns=_STRUCK_COLUMNS, dtype=object)


def equations_table(discovery: Discovery, prices: Prices = PRICES) -> pd.DataFrame:
    """The front as a table, simplest formula first, then the formulas beside the front, likeliest first.

    `price` is the cost of the formula without its constants, in nats, and `law` is its name if it is a named law.
    `front` is False for formulas beside the front, and `chosen` marks the row that `predict` uses. Formulas beside the
    front have no `score`, and `r2_cv` is known only for rows that compete.
    """
    formulas, front = discovery.formulas, len(discovery.front)
    unknown = (np.nan,) * len(formulas)
    return pd.DataFrame(
        {
            "complexity": [formula.complexity for formula in formulas],
            "price": [description(formula, prices) for formula in formulas],
            "loss": [formula.loss for formula in formulas],
            "score": [*gains(discovery.front), *unknown[front:]],
            "weight": discovery.weights or unknown,
            "r2": discovery.r2 or unknown,
            "r2_cv": discovery.r2_cv or unknown,
            "equation": [str(formula) for formula in formulas],
            "law": [formula.law.name if formula.law else "" for formula in formulas],
            "sympy_format": [formula.expression for formula in formulas],
            "front": [k < front for k in range(len(formulas))],
            "chosen": [k == discovery.chosen for k in range(len(formulas))],
        },
        columns=_COLUMNS,
    )
