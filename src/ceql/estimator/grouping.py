"""Constants of their own for groups of rows: what `per_group` asks for, the fit, predictions, and new groups."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ceql.choice.validation import Folds
from ceql.data.dataset import Dataset, column_names, column_of, is_table
from ceql.data.groups import Labels, as_texts, known_codes, labels_of
from ceql.data.targets import Targets
from ceql.discovery import Discovery, Progress, Settings
from ceql.errors import CeqlWarning, InputError
from ceql.estimator.complex_targets import wants_parts
from ceql.estimator.results import Finding, one_or_all
from ceql.formula import Formula
from ceql.groups.adapting import with_new_groups
from ceql.groups.choosing import folds_within
from ceql.groups.discovering import Wanted, discover_groups
from ceql.groups.grouped_formula import GroupedFormula
from ceql.groups.policy import POLICY
from ceql.network.libraries import search_network
from ceql.pipeline import discover
from ceql.search.losses import SQUARED

_KINDS = "'auto', a number of constants, or the names of parameters of the template"


def wanted_of(per_group: Any, template: Any) -> Wanted | None:
    """What `per_group` says; None where all constants are shared."""
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
            f"per_group names {', '.join(per_group)}, which only a template has: give one, or say per_group='auto'."
        )
    return Wanted(names=tuple(per_group))


def grouped_labels(
    model: Any, groups: Any, rows: int, weight: Any, y: Any, sigma_x: Any, limits: tuple[Any, Any] = (None, None)
) -> Labels | None:
    """The labels of the rows that count; None where there is nothing to tell apart."""
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
            f"groups has the same label, {labels.names[0]!r}, in all rows: with one group there is nothing to tell "
            "apart, and this is an ordinary fit.",
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
            f"There are as many groups of {labels.column} as rows ({len(sizes)}): constants of their own for each "
            "would meet any rows. Is it the right column? If it holds numbers, make it an input."
        )
    if len(small):
        more = f" and {len(small) - 1} more" if len(small) > 1 else ""
        raise InputError(
            f"Group {labels.names[small[0]]!r} of {labels.column}{more} has 1 row, which cannot show constants of its "
            f"own: give at least {POLICY.fewest_rows}, or leave it out and add it with adapt."
        )


def _refuse_what_is_known(model: Any, limits: tuple[Any, Any]) -> None:
    """What a user may know of the values of an ordinary formula."""
    if any(limit is not None for limit in limits):
        raise InputError("per_group needs values of y that are known: leave out censored rows and the detection limit.")
    if model.units is not None:
        raise InputError("per_group does not go with units yet: leave units out, or fit each group by itself.")
    if model.constraints is not None and model.constraints.is_about_shape:
        raise InputError("per_group does not go with shapes or exponents yet: leave these constraints out.")


def _refuse(model: Any, y: Any, sigma_x: Any) -> None:
    """What goes with constants of all rows alone, each in a sentence."""
    if model.loss != SQUARED:
        raise InputError("per_group needs loss='squared': groups are fitted together by least squares.")
    if sigma_x is not None:
        raise InputError("per_group does not go with sigma_x: give sigma=, the errors of y, alone.")
    if model.recipe != "search":
        raise InputError("per_group needs recipe='search'.")
    if model.template is not None and not model.template.is_fixed:
        raise InputError("per_group needs a template of numbers alone: functions and sums of terms are not told apart.")
    if wants_parts(model.template, y):
        raise InputError("per_group needs a real y: fit the real and the imaginary part as columns of y.")
    if model.checkpoint is not None:
        raise InputError("A fit with per_group keeps no checkpoint: leave checkpoint out.")


def discover_grouped(
    targets: Targets,
    labels: Labels,
    settings: Settings,
    wanted: Wanted,
    cv: Any,
    folds: Folds | None,
    progress: Callable[[Progress], None] | None,
) -> tuple[list[Discovery], Targets]:
    """A discovery for each target over its columns and the numbers of the groups."""
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
    """A search of a table without groups, of fixed effort."""
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
                f"cv holds out all rows of group {labels.names[int(missing[0])]!r}, whose constants only its rows can "
                "tell: take a number of folds, which takes its share of every group."
            )


def group_constants_table(formula: Formula) -> pd.DataFrame:
    """The constants of each group, value and standard error; a row for each label."""
    if not isinstance(formula, GroupedFormula):
        return pd.DataFrame()
    parts = formula.parts
    values, errors = (parts.table([pair[k] for pair in formula.constants]) for k in (0, 1))
    numbers = np.stack([values, errors], axis=2).reshape(len(parts.labels), -1)
    columns = pd.MultiIndex.from_product([parts.own, ["value", "standard_error"]], names=["constant", ""])
    return pd.DataFrame(numbers, index=pd.Index(parts.labels, name=formula.column), columns=columns)


class Grouped:
    """What CEQLRegressor inherits for models with constants of groups."""

    if TYPE_CHECKING:
        discoveries_: list[Discovery]
        _targets: Targets
        n_features_in_: int

        def _checked(self, X: Any) -> np.ndarray: ...
        def _take(self, discoveries: Sequence[Discovery], targets: Targets, from_frame: bool) -> None: ...
        def _formulas(self, row: Any = None) -> list[Formula]: ...

    @property
    def groups_(self) -> list[str]:
        """The labels of the groups that have constants of their own; empty without `per_group`."""
        return list(self._targets.groups)

    @property
    def group_constants_(self) -> Any:
        """The constants of each group with their standard errors; with several targets a list of tables."""
        return one_or_all([group_constants_table(found.best) for found in self.discoveries_])

    def group_formula(self, group: Any, row: Any = None) -> Any:
        """The formula of one group, a ``ceql.Formula`` over the columns of X; with several targets a list of them."""
        label = as_texts([group], 1)[0]
        if not self._targets.groups:
            raise InputError("This model has no constants of groups: fit it with groups= and per_group=.")
        known_codes([label], 1, self._targets.groups, self._targets.inputs[-1])
        return one_or_all([_of_group(formula, label) for formula in self._formulas(row)])

    def _of_group(self, found: Finding, group: Any, to: str) -> tuple[Formula, Sequence[str]]:
        """The formula to be exported and its columns: that of a group where each has constants of its own."""
        formula, names = found.formula, found.data.names
        if not self._targets.groups:
            return formula, names
        if group is not None:
            label = as_texts([group], 1)[0]
            known_codes([label], 1, self._targets.groups, names[-1])
            return _of_group(formula, label), names[:-1]
        if not isinstance(formula, GroupedFormula) or not formula.parts.own:
            return _of_group(formula, self._targets.groups[0]), names[:-1]
        if to == "latex":
            return formula, names
        raise InputError(
            f"Each group of {names[-1]} has constants of its own: say which one is meant, such as "
            f"group={self._targets.groups[0]!r}."
        )

    def _alone(self, found: Finding, group: Any) -> Finding:
        """What was found for one group, with its rows, where each has constants of its own."""
        if not self._targets.groups:
            return found
        formula, names = self._of_group(found, group, "")
        mine = np.ones(len(found.data.y), bool)
        if group is not None:
            mine = found.data.x[:, -1] == self._targets.groups.index(as_texts([group], 1)[0])
        weight = found.data.weight[mine]
        rows = Dataset(found.data.x[mine][:, :-1], found.data.y[mine], weight / weight.mean(), tuple(names))
        return replace(found, formula=formula, data=rows)

    def _with_codes(self, x: np.ndarray, X: Any, groups: Any) -> np.ndarray:
        """The inputs with the number of the group of each row behind them."""
        if not self._targets.groups:
            if groups is not None and not isinstance(groups, str):
                as_texts(groups, len(x))
            return x
        column = self._targets.inputs[-1]
        name = groups if isinstance(groups, str) else column
        if groups is None or isinstance(groups, str):
            names = column_names(X) if is_table(X) else ()
            if name not in names:
                if not any(isinstance(f, GroupedFormula) and f.parts.own for f in self._formulas()):
                    return np.column_stack([x, np.zeros(len(x))])
                raise InputError(
                    f"Each group of {column} has constants of its own: say which group each row is of, with groups=... "
                    f"or a column {name!r} of X."
                )
            groups = column_of(X, names.index(name))
        return np.column_stack([x, known_codes(groups, len(x), self._targets.groups, column)])

    def adapt(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Any:
        """A model that knows the groups of these rows as well: their own constants are fitted, the shared ones stay.

        The model itself is left as it is. `groups` may be one label for all rows, an array, or the name of a column. A
        group needs as many rows as it has constants of its own; errors of its constants go by the noise of the fit.
        """
        if not self._targets.groups:
            raise InputError("adapt needs a model with constants of groups: fit it with groups= and per_group=.")
        x = self._checked(X)
        column = self._targets.inputs[-1]
        names = column_names(X) if is_table(X) else ()
        if groups is None and column not in names:
            raise InputError(f"Say which group of {column} these rows are of: groups='name', or a label for each row.")
        if groups is None or (isinstance(groups, str) and groups in names):
            groups = column_of(X, names.index(column if groups is None else groups))
        elif isinstance(groups, str) or np.ndim(groups) == 0:
            groups = [groups] * len(x)
        labels = labels_of(groups, len(x), column)
        known = [name for name in labels.names if name in self._targets.groups]
        if known:
            raise InputError(f"The model knows group {known[0]!r} already: fit again to use more of its rows.")
        given = Targets.of(pd.DataFrame(x, columns=pd.Index(self._targets.inputs[:-1])), y, sample_weight)
        if len(given.datasets) != len(self._targets.datasets):
            raise InputError(f"y has {len(given.datasets)} targets, but the model has {len(self._targets.datasets)}.")
        both = zip(self.discoveries_, self._targets.datasets, given.datasets, strict=True)
        done = [with_new_groups(found, old, new, labels) for found, old, new in both]
        model = copy(self)
        targets = replace(
            self._targets, datasets=tuple(data for _, data in done), groups=(*self._targets.groups, *labels.names)
        )
        model._take([found for found, _ in done], targets, hasattr(self, "feature_names_in_"))
        return model


def _of_group(formula: Formula, label: str) -> Formula:
    if isinstance(formula, GroupedFormula):
        return formula.of_group(label)
    return replace(formula, symbols=formula.symbols[:-1])
