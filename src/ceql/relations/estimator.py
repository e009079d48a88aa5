"""Relations with the interface of scikit-learn: `fit`, then attributes that end in an underscore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sympy
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ceql.data.dataset import column_names, columns_named, is_table, numeric_matrix
from ceql.data.groups import column_apart, known_codes
from ceql.errors import InputError
from ceql.relations.discovering import find_relations
from ceql.relations.display import stage_display
from ceql.relations.finding import Relation, RelationsFinding
from ceql.relations.model_file import read_relations, write_relations
from ceql.relations.policy import POLICY, RelationsPolicy, RelationsSettings
from ceql.relations.solving import level_symbol, solved_for
from ceql.relations.summary import relations_table


class RelationFinder(BaseEstimator):
    """Finds relations F(x, y, ...) = 0, or F = constant, between the columns of a table without a target.

    Parameters
    ----------
    time_limit : float
        Seconds after which nothing new is begun.
    random_state : int
        Which rows are held out, and the seed of the search.
    threads : int, optional
        Threads of the search for formulas; all cores by default.
    solve : bool
        Whether formulas for single columns are searched for where no sum of simple terms is exact.
    policy : RelationsPolicy, optional
        Every number that steers the search.
    verbose : bool, optional
        Whether a bar is shown; by default where somebody looks.
    """

    finding_: RelationsFinding
    relations_: pd.DataFrame
    feature_names_in_: np.ndarray
    n_features_in_: int

    def __init__(
        self,
        time_limit: float = 30.0,
        random_state: int = 0,
        threads: int | None = None,
        solve: bool = True,
        policy: RelationsPolicy | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.time_limit = time_limit
        self.random_state = random_state
        self.threads = threads
        self.solve = solve
        self.policy = policy
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> RelationFinder:
        """Looks for relations between the columns of X.

        `groups` are labels of the rows, or the name of their column; a relation may have a different level in each
        group. `y` exists only for pipelines and must be None.
        """
        if y is not None:
            raise InputError(
                "A relation has no target: make y a column of X, or use CEQLRegressor to find a formula for it."
            )
        settings = RelationsSettings(
            time_limit=float(self.time_limit),
            seed=int(self.random_state),
            threads=self.threads,
            solve=self.solve,
            policy=self.policy or POLICY,
        )
        with stage_display(quiet=self.verbose is False) as progress:
            finding = find_relations(X, settings, progress, groups)
        return self._with(finding)

    def _with(self, finding: RelationsFinding) -> RelationFinder:
        self.finding_ = finding
        self.relations_ = relations_table(finding)
        self.feature_names_in_ = np.array(finding.names, dtype=object)
        self.n_features_in_ = len(finding.names)
        return self

    def relation(self, place: int = 0) -> Relation:
        """One of the relations, by default the most certain one."""
        check_is_fitted(self, "finding_")
        if not self.finding_.relations:
            raise InputError("No relation was found in these rows.")
        if not 0 <= place < len(self.finding_.relations):
            raise InputError(
                f"There is no relation {place}: {len(self.finding_.relations)} were found, counted from 0."
            )
        return self.finding_.relations[place]

    def residual(self, X: Any, relation: int = 0, groups: Any = None) -> np.ndarray:
        """The left side of a relation minus its level in these rows: zero where the relation holds."""
        chosen = self.relation(relation)
        named = self.finding_.groups
        if named and groups is None and is_table(X) and named in column_names(X):
            groups = named
        X, groups = column_apart(X, groups)
        x = self._columns(X)
        levels = np.array([level.value for level in chosen.levels])
        return chosen.left_side(x) - levels[self._codes(chosen, groups, len(x))]

    def _codes(self, chosen: Relation, groups: Any, rows: int) -> np.ndarray | int:
        if not chosen.is_grouped:
            return 0
        if groups is None:
            raise InputError(f"The level depends on {self.finding_.groups}: give groups=, a label for each row.")
        return known_codes(groups, rows, self.finding_.labels, self.finding_.groups)

    def _columns(self, X: Any) -> np.ndarray:
        wanted = self.finding_.names
        if not is_table(X):
            x = numeric_matrix(X, column_names(X))
            if x.shape[1] != len(wanted):
                raise InputError(f"X has {x.shape[1]} columns, the relations are between {', '.join(wanted)}.")
            return x
        missing = [name for name in wanted if name not in column_names(X)]
        if missing:
            raise InputError(f"X has no column {missing[0]!r}; the relations are between {', '.join(wanted)}.")
        return numeric_matrix(columns_named(X, wanted), wanted)

    def sympy(self, relation: int = 0) -> Any:
        """A relation as a SymPy equation; a level that differs between groups is the symbol `level`."""
        chosen = self.relation(relation)
        level = level_symbol(chosen) if chosen.is_grouped else sympy.Float(chosen.levels[0].value)
        return sympy.Eq(chosen.left, level, evaluate=False)

    def solve_for(self, column: str, relation: int = 0) -> list[Any]:
        """SymPy formulas for this column, one for each branch; raises an error if no closed form is known."""
        return solved_for(self.relation(relation), column)

    def save(self, path: str | Path) -> None:
        """Writes the relations to a JSON file."""
        check_is_fitted(self, "finding_")
        write_relations(path, self.finding_)


def load_relations(path: str | Path) -> RelationFinder:
    """A finder with the relations of a file written by `save` or `ceql relate --save`."""
    return RelationFinder()._with(read_relations(path))
