"""Fits in which groups of rows have their own constants: the meaning of `per_group`, and the fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ceql.choice.validation import Folds
from ceql.data.dataset import Dataset
from ceql.data.groups import Labels, labels_of
from ceql.data.targets import Targets
from ceql.discovery import Discovery, Progress, Settings
from ceql.errors import CeqlWarning, InputError
from ceql.estimator.complex_targets import wants_parts
from ceql.formula import Formula
from ceql.groups.choosing import folds_within
from ceql.groups.discovering import Wanted, discover_groups
from ceql.groups.grouped_formula import GroupedFormula
from ceql.groups.policy import POLICY
from ceql.network.libraries import search_network
from ceql.pipeline import discover
from ceql.search.losses import SQUARED

_KINDS = "'auto', a number of constants, or the names of parameters of the template"


def wanted_of(per_group: Any, template: Any) -> Wanted | None:
    """The parameter `per_group` as a checked object; None if all rows share all constants."""
    if per_group is None:
        return None
    if isinstance(per_group, str):
        if per_group == "auto":
            return Wanted()
        raise InputError(f"per_group must be {_KINDS} in a list, not {per_group!r}.")
    if isinstance(per_group, int | np.integer) and not isinstance(per_group, bool):
        if per_group < 1:
            raise InputError(f"per_group must be a number of constants of at least 1, not {per_group}.")
        return Wanted(number=int(per_group))
    if not isinstance(per_group, Sequence) or not per_group or not all(isinstance(n, str) for n in per_group):
        raise InputError(f"per_group must be {_KINDS}, not {per_group!r}.")
    if template is None:
        raise InputError(
            f"per_group names {', '.join(per_group)}, which only a template has: give a template, or use "
            "per_group='auto'."
        )
    return Wanted(names=tuple(per_group))


def grouped_labels(
    model: Any, groups: Any, rows: int, weight: Any, y: Any, sigma_x: Any, limits: tuple[Any, Any] = (None, None)
) -> Labels | None:
    """The group labels of the rows with a weight; None without `per_group`, or if all labels are the same."""
    wanted = wanted_of(model.per_group, model.template)
    if wanted is None:
        return None
    if groups is None:
        raise InputError("per_group needs labels of the rows: fit(X, y, groups=...), an array or the name of a column.")
    _refuse(model, y, sigma_x)
    _refuse_what_is_known(model, limits)
    labels = labels_of(groups, rows)
    counted = np.ones(rows, bool) if weight is None else np.broadcast_to(np.asarray(weight, float).ravel(), rows) > 0
    labels = labels_of(
        pd.Series(np.array(labels.names, object)[labels.codes][counted]), int(counted.sum()), labels.column
    )
    if len(labels.names) == 1:
        warnings.warn(
            f"groups has the same label, {labels.names[0]!r}, in all rows: with a single group this is an ordinary "
            "fit. Leave out per_group.",
            CeqlWarning,
            stacklevel=4,
        )
        return None
    _require_rows(labels)
    return labels


def _require_rows(labels: Labels) -> None:
    sizes = labels.sizes
    small = np.flatnonzero(sizes < POLICY.fewest_rows)
    if len(small) == len(sizes):
        raise InputError(
            f"There are as many groups of {labels.column} as rows ({len(sizes)}): with constants for each group, "
            "every formula would fit. Is it the right column? If it holds numbers, make it an input."
        )
    if len(small):
        more = f" and {len(small) - 1} more" if len(small) > 1 else ""
        raise InputError(
            f"Group {labels.names[small[0]]!r} of {labels.column}{more} has 1 row, too few for constants of its own: "
            f"give at least {POLICY.fewest_rows}, or leave it out and add it with adapt."
        )


def _refuse_what_is_known(model: Any, limits: tuple[Any, Any]) -> None:
    """Refuses censored rows, units and shapes, which cannot be combined with `per_group`."""
    if any(limit is not None for limit in limits):
        raise InputError(
            "per_group cannot be combined with censored rows: leave out these rows and the detection limit."
        )
    if model.units is not None:
        raise InputError("per_group cannot be combined with units yet: leave units out, or fit each group by itself.")
    if model.constraints is not None and model.constraints.is_about_shape:
        raise InputError("per_group cannot be combined with shapes or exponents yet: leave these constraints out.")


def _refuse(model: Any, y: Any, sigma_x: Any) -> None:
    """Refuses other parameters that cannot be combined with `per_group`."""
    if model.loss != SQUARED:
        raise InputError("per_group needs loss='squared': groups are fitted together by least squares.")
    if sigma_x is not None:
        raise InputError("per_group cannot be combined with sigma_x: give only sigma=, the errors of y.")
    if model.recipe != "search":
        raise InputError("per_group needs recipe='search'.")
    if model.template is not None and not model.template.is_fixed:
        raise InputError(
            "per_group needs a template whose unknowns are all numbers: functions and sums of terms cannot differ "
            "between groups."
        )
    if wants_parts(model.template, y):
        raise InputError("per_group needs a real y: fit the real and the imaginary part as columns of y.")
    if model.checkpoint is not None:
        raise InputError("A fit with per_group cannot use a checkpoint: leave checkpoint out.")


def discover_grouped(
    targets: Targets,
    labels: Labels,
    settings: Settings,
    wanted: Wanted,
    cv: Any,
    folds: Folds | None,
    progress: Callable[[Progress], None] | None,
) -> tuple[list[Discovery], Targets]:
    """A discovery for each target; the number of each row's group is the last column of the data."""
    numbered = tuple(labels.beside(data) for data in targets.datasets)
    own = folds if folds is not None and not isinstance(cv, int | np.integer) else _within(numbered[0], cv)
    _check_folds(own, labels)
    operators = None
    if settings.operators is not None:
        operators = search_network(1, settings.operators, settings.constraints.without).operator_names
    found = []
    for k, data in enumerate(targets.datasets):
        settings.constraints.check_columns(data.names)
        left = settings.time_limit - sum(earlier.seconds for earlier in found)
        share = replace(settings, time_limit=max(left / (len(targets.datasets) - k), 1e-3))
        report = progress or (lambda _: None)
        found.append(discover_groups(data, labels, share, wanted, _search(share), report, own, operators))
    return found, replace(targets, datasets=numbered, groups=labels.names)


def _search(settings: Settings) -> Callable[[Dataset], Sequence[Formula]]:
    """A function that searches a table without groups, with fixed effort."""
    limit = POLICY.share_of_limit * settings.time_limit
    alone = replace(
        settings, time_limit=limit, max_starts=POLICY.starts, catalogue=False, guesses=(), model_selection="best"
    )
    return lambda table: discover(table, alone).formulas


def _within(data: Dataset, cv: Any) -> Folds:
    return folds_within(data, None if cv is None else int(cv))


def _check_folds(folds: Folds, labels: Labels) -> None:
    for train, _ in folds:
        missing = np.setdiff1d(np.arange(len(labels.names)), labels.codes[train])
        if len(missing):
            raise InputError(
                f"cv holds out all rows of group {labels.names[int(missing[0])]!r}, whose constants can only be "
                "fitted to its own rows: give a number of folds as cv, so that each fold has rows of every group."
            )


def group_constants_table(formula: Formula) -> pd.DataFrame:
    """The constants of each group, with value and standard error; one row for each label."""
    if not isinstance(formula, GroupedFormula):
        return pd.DataFrame()
    parts = formula.parts
    values, errors = (parts.table([pair[k] for pair in formula.constants]) for k in (0, 1))
    numbers = np.stack([values, errors], axis=2).reshape(len(parts.labels), -1)
    columns = pd.MultiIndex.from_product([parts.own, ["value", "standard_error"]], names=["constant", ""])
    return pd.DataFrame(numbers, index=pd.Index(parts.labels, name=formula.column), columns=columns)


def of_group(formula: Formula, label: str) -> Formula:
    if isinstance(formula, GroupedFormula):
        return formula.of_group(label)
    return replace(formula, symbols=formula.symbols[:-1])
