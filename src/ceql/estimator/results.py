"""What was found, as tables and rows: the way a fitted model shows it."""

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
    """One target: what it is called, its formula, the search behind it and the data."""

    name: str
    formula: Formula
    discovery: Discovery
    data: Dataset
    prices: Prices = PRICES
    constraints: Constraints = NONE

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether the formula keeps to each shape that is asked of it, and how that is known."""
        return verdicts_on(self.formula, self.data, self.constraints)

    @property
    def row(self) -> int:
        """Its place among the formulas."""
        return next(k for k, formula in enumerate(self.discovery.formulas) if formula is self.formula)


def finding(
    discoveries: Sequence[Discovery],
    targets: Targets,
    row: int | None = None,
    target: str | None = None,
    prices: Prices = PRICES,
    constraints: Constraints = NONE,
) -> Finding:
    """The one that `target` names. A model with a single target may be given another name for it."""
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
    """The constraints as they are for these data, whose ranges they may be about."""
    return (constraints or NONE).over(data.names, data.x, data.y)


def verdicts_on(formula: Formula, data: Dataset, constraints: Constraints | None) -> tuple[Verdict, ...]:
    return over_table(constraints, data).verdicts(formula.expression) if constraints and constraints.asked else ()


def shapes_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """A row for each shape that was asked for: whether it is kept, and how that is known."""
    rows = [(str(one.shape), one.kept, one.how) for one in verdicts]
    return pd.DataFrame(rows, columns=pd.Index(["shape", "kept", "how"]))


def one_or_all(values: list) -> Any:
    """The value for the only target, or the list for several."""
    return values[0] if len(values) == 1 else values


def formula_in_row(discovery: Discovery, row: Any = None) -> Formula:
    """The chosen formula, or the one in that row of the table: the front, then what competes beside it."""
    formulas = discovery.formulas
    if row is None:
        return discovery.best
    if not isinstance(row, int | np.integer) or not -len(formulas) <= row < len(formulas):
        raise InputError(f"The rows are 0 to {len(formulas) - 1}; there is no row {row!r}.")
    return formulas[row]


def constants_table(formula: Formula, units: Dimensions | None = None) -> pd.DataFrame:
    """The decimal constants of a formula as it shows them, or those of the law that it is, under the names that they
    have there, each with its standard error, and with its unit where units are known; of a formula with constants of
    groups those that all share."""
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
    """Units of the constants of the table, and where constants have names, those that they are made of."""
    found = constant_units(formula, units)
    columns = {"unit": [one.unit for one in found]}
    return {**columns, "made_of": [one.made_of for one in found]} if units.constants else columns


def covariance_table(formula: Formula, data: Dataset) -> pd.DataFrame:
    """The covariances of the constants of a formula; of a template by their names."""
    if isinstance(formula, GroupedFormula):
        names = pd.Index(formula.parts.names)
        problem = Problem(formula.program, data.x, data.y, np.sqrt(data.weight))
        known = covariance_of(problem, formula.values, problem.misfit(formula.values), data.noise)
        return pd.DataFrame(known, index=names, columns=names, dtype=float)
    law = formula.law
    names = pd.Index([c.name for c in law.constants]) if law is not None and law.is_template else None
    return pd.DataFrame(covariance(formula, data), index=names, columns=names, dtype=float)


# Made here, since pandas imports a library for the first texts that it meets, and a fit should import nothing.
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
    """The formulas that may not be chosen, each with the sentence that says why."""
    texts = {"equation": [str(one.formula) for one in discovery.struck], "why": [one.why for one in discovery.struck]}
    return pd.DataFrame(texts, columns=_STRUCK_COLUMNS, dtype=object)


def equations_table(discovery: Discovery, prices: Prices = PRICES) -> pd.DataFrame:
    """The front as a table, simplest formula first, then what competes beside it, likeliest first.

    `price` is what it takes to say the formula but for its constants, in nats, and `law` the name that it has.
    `front` tells the two apart, and `chosen` marks the row that `predict` uses. Those beside the front have no `score`,
    and `r2_cv` is known for rows that compete.
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
