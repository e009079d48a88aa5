"""A search for formulas with required shapes, which are turned into further rows.

For a symmetry, the mirror image of every row is added; for a required point, that point with a large weight. So all
ways of finding formulas prefer those with the shape, without having to know about it. The formulas found are then
refitted to the measured rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ceql.catalogue.offers import offers
from ceql.catalogue.policy import CataloguePolicy
from ceql.choice.criterion import criterion
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.expression.prices import PRICES, Prices
from ceql.formula import POLISH, Formula, PolishPolicy, refitted
from ceql.search.outcome import Found
from ceql.search.policy import SearchPolicy, ShapedPolicy
from ceql.shapes.grid import image
from ceql.shapes.shape import Kind, Shape

SHAPED = ShapedPolicy()


def pictured(data: Dataset, shapes: Sequence[Shape], policy: ShapedPolicy = SHAPED) -> Dataset:
    """The rows, with mirror images and required points; unchanged if there are none."""
    x, y, weight = data.x, data.y, data.weight
    for shape in [shape for shape in shapes if shape.is_symmetry][: policy.images]:
        x = np.vstack([x, image(shape, x, data.names)])
        y = np.concatenate([y, -y if shape.kind is Kind.ODD else y])
        weight = np.concatenate([weight, weight])
    for shape in shapes:
        if shape.kind is Kind.POINT:
            rows = _rows_at(shape, data, policy)
            share = policy.point * float(weight.sum()) / len(rows)
            x, y = np.vstack([x, rows]), np.concatenate([y, np.full(len(rows), shape.value)])
            weight = np.concatenate([weight, np.full(len(rows), share)])
    if len(y) == len(data.y):
        return data
    return replace(data, x=x, y=y, weight=weight / weight.mean(), noise=None, censored=None)


def _rows_at(shape: Shape, data: Dataset, policy: ShapedPolicy) -> np.ndarray:
    """The point, as rows with typical values for the columns that it leaves free."""
    named = dict(shape.point)
    count = 1 if len(named) == len(data.names) else min(policy.rows_a_point, len(data.y))
    rows = data.x[np.linspace(0, len(data.y) - 1, count).astype(int)].copy()
    for name, value in named.items():
        rows[:, data.names.index(name)] = value
    return rows


def with_prices(policy: SearchPolicy, constraints: Constraints) -> SearchPolicy:
    """The policy with a higher price of a sketch if shapes are required, since formulas may have to be refitted."""
    if not constraints.is_about_shape:
        return policy
    price = policy.shaped.sketch * policy.finishing.sketch
    return replace(policy, finishing=replace(policy.finishing, sketch=price))


def fitted_to_rows(found: Found, data: Dataset, constraints: Constraints, policy: PolishPolicy = POLISH) -> Found:
    """The formulas found with further rows, refitted to the measured ones."""
    again = (refitted(formula.expression, data, formula.symbols, constraints, policy) for formula in found.formulas)
    formulas = [formula for formula in again if formula is not None]
    return replace(found, formulas=formulas, rows_searched=min(found.rows_searched, len(data.y)))


def sentence_against(
    best: Formula,
    data: Dataset,
    constraints: Constraints,
    catalogue: CataloguePolicy,
    prices: Prices = PRICES,
    policy: ShapedPolicy = SHAPED,
    until: Deadline = NEVER,
) -> str | None:
    """A warning if the rows contradict a shape: a simple formula without it is far more likely."""
    if not constraints.asked:
        return None
    broken = [str(v.shape) for v in constraints.verdicts(best.expression) if not v.kept]
    if broken:
        return (
            f"No formula was found that satisfies {_listed(broken)}; this is only {best}. Loosen the constraints, "
            "allow more operators, or raise time_limit."
        )
    forms = 0 if until.over else catalogue.forms_per_size
    few = replace(catalogue, most_finished=0, finished_per_size=0, forms_per_size=forms)  # and the plain models
    free = offers(data, False, NONE, None, few)
    other = min(free, key=lambda formula: criterion(formula, len(data.y), prices), default=None)
    if other is None or not other.loss > 0.0:
        return None
    apart = criterion(best, len(data.y), prices) - criterion(other, len(data.y), prices)
    kept = {str(v.shape) for v in constraints.verdicts(other.expression) if v.kept}
    contradicted = [str(shape) for shape in constraints.asked if str(shape) not in kept]
    if apart <= policy.against or not contradicted:
        return None
    times = best.loss / other.loss
    return (
        f"The rows contradict {_listed(contradicted)}: without this constraint {other} is found, whose mean squared "
        f"error is {times:.3g} times smaller. Check the constraint and the rows."
    )


def _listed(texts: Sequence[str]) -> str:
    return " and ".join(f"'{text}'" for text in texts)
