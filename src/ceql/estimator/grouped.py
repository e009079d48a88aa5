"""Methods for models with constants of groups: show the constants, apply them, and learn new groups."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ceql.data.dataset import Dataset, column_names, column_of, is_table
from ceql.data.groups import as_texts, known_codes, labels_of
from ceql.data.targets import Targets
from ceql.errors import InputError

if TYPE_CHECKING:
    from ceql.discovery import Discovery
    from ceql.estimator.results import Finding
    from ceql.formula import Formula


class Grouped:
    """The part of CEQLRegressor that deals with constants of groups."""

    if TYPE_CHECKING:
        discoveries_: list[Discovery]
        _targets: Targets
        n_features_in_: int

        def _checked(self, X: Any) -> np.ndarray: ...
        def _take(self, discoveries: Sequence[Discovery], targets: Targets, from_frame: bool) -> None: ...
        def _formulas(self, row: Any = None) -> list[Formula]: ...

    @property
    def groups_(self) -> list[str]:
        """The labels of the groups that have their own constants; empty without `per_group`."""
        return list(self._targets.groups)

    @property
    def group_constants_(self) -> Any:
        """The constants of each group with their standard errors, as a table; with several targets a list of tables."""
        from ceql.estimator.grouping import group_constants_table
        from ceql.estimator.results import one_or_all

        return one_or_all([group_constants_table(found.best) for found in self.discoveries_])

    def group_formula(self, group: Any, row: Any = None) -> Any:
        """The formula of one group as a ``ceql.Formula`` over the columns of X; with several targets a list of them."""
        from ceql.estimator.grouping import of_group
        from ceql.estimator.results import one_or_all

        label = as_texts([group], 1)[0]
        if not self._targets.groups:
            raise InputError("This model has no constants of groups: fit it with groups= and per_group=.")
        known_codes([label], 1, self._targets.groups, self._targets.inputs[-1])
        return one_or_all([of_group(formula, label) for formula in self._formulas(row)])

    def _of_group(self, found: Finding, group: Any, to: str) -> tuple[Formula, Sequence[str]]:
        """The formula to export and its columns; where groups have their own constants, that of the given group."""
        from ceql.estimator.grouping import of_group
        from ceql.groups.grouped_formula import GroupedFormula

        formula, names = found.formula, found.data.names
        if not self._targets.groups:
            return formula, names
        if group is not None:
            label = as_texts([group], 1)[0]
            known_codes([label], 1, self._targets.groups, names[-1])
            return of_group(formula, label), names[:-1]
        if not isinstance(formula, GroupedFormula) or not formula.parts.own:
            return of_group(formula, self._targets.groups[0]), names[:-1]
        if to == "latex":
            return formula, names
        raise InputError(
            f"Each group of {names[-1]} has constants of its own: name the group, such as "
            f"group={self._targets.groups[0]!r}."
        )

    def _alone(self, found: Finding, group: Any) -> Finding:
        """The finding for one group with its rows, where groups have their own constants; otherwise `found` itself."""
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
        """The inputs with the number of each row's group as the last column; unchanged for a model without groups."""
        if not self._targets.groups:
            if groups is not None and not isinstance(groups, str):
                as_texts(groups, len(x))
            return x
        from ceql.groups.grouped_formula import GroupedFormula

        column = self._targets.inputs[-1]
        name = groups if isinstance(groups, str) else column
        if groups is None or isinstance(groups, str):
            names = column_names(X) if is_table(X) else ()
            if name not in names:
                if not any(isinstance(f, GroupedFormula) and f.parts.own for f in self._formulas()):
                    return np.column_stack([x, np.zeros(len(x))])
                raise InputError(
                    f"Each group of {column} has constants of its own: give the group of each row, with groups=... "
                    f"or a column {name!r} of X."
                )
            groups = column_of(X, names.index(name))
        return np.column_stack([x, known_codes(groups, len(x), self._targets.groups, column)])

    def adapt(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Any:
        """Returns a model that also knows the groups of these rows; this model is not changed.

        The constants of the new groups are fitted to these rows, and the shared constants stay as they are. `groups`
        may be one label for all rows, an array, or the name of a column. A group needs at least as many rows as it has
        constants of its own; the standard errors of these constants follow from the noise of the original fit.
        """
        from ceql.groups.adapting import with_new_groups

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
