"""The model without scikit-learn: the parameters, the fit, and the methods of a fitted model."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ceql.data.dataset import is_table, shape_of
from ceql.data.groups import column_apart
from ceql.errors import InputError
from ceql.estimator.bringing import bring_the_library
from ceql.estimator.checked_rows import checked_rows
from ceql.estimator.grouped import Grouped
from ceql.estimator.presentation import Presented

if TYPE_CHECKING:
    from ceql.constraints import Constraints
    from ceql.data.targets import Targets
    from ceql.discovery import Discovery
    from ceql.estimator.results import Finding
    from ceql.expression.prices import Prices
    from ceql.formula import Formula
    from ceql.search.policy import SearchPolicy
    from ceql.storage.checkpoint import Checkpoint
    from ceql.templates import Template


class Model(Grouped, Presented):
    """The model behind `CEQLRegressor`, which documents its parameters and attributes."""

    def __init__(
        self,
        recipe: Any = "search",
        operators: Any = None,
        time_limit: float = 60.0,
        max_complexity: int | None = None,
        model_selection: str = "best",
        cv: Any = None,
        per_group: Any = None,
        catalogue: bool = True,
        prices: Prices | None = None,
        more: int = 20,
        random_state: Any = 0,
        n_jobs: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        template: Template | None = None,
        loss: str = "squared",
        guesses: Any = None,
        constraints: Constraints | None = None,
        units: Any = None,
        constants: Any = "any",
        policy: SearchPolicy | None = None,
        warm_start: bool = False,
        checkpoint: str | Path | Checkpoint | None = None,
        verbose: bool | None = None,
    ) -> None:
        bring_the_library()
        self.recipe = recipe
        self.operators = operators
        self.time_limit = time_limit
        self.max_complexity = max_complexity
        self.model_selection = model_selection
        self.cv = cv
        self.per_group = per_group
        self.catalogue = catalogue
        self.prices = prices
        self.more = more
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.threads = threads
        self.device = device
        self.template = template
        self.loss = loss
        self.guesses = guesses
        self.constraints = constraints
        self.units = units
        self.constants = constants
        self.policy = policy
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        sigma: Any = None,
        sigma_x: Any = None,
        absolute_sigma: bool = True,
        censored: Any = None,
        detection_limit: float | None = None,
    ) -> Self:
        """Searches for a formula for y, or for each column of y. Ctrl-C stops the search and keeps the best so far.

        `groups` holds a label for each row, as an array or the name of a column of X (which is then not used as an
        input). With `per_group`, each group has its own constants; without it, rows with the same label are held out
        together (see `cv`).

        `sigma` holds the standard deviations of y, as an array or the name of a column (which is then not used as an
        input): rows are weighted by 1/sigma**2, and the errors of constants follow from it. `sigma_x` gives errors of
        input columns, such as ``{"x1": 0.1}``, as numbers, arrays or names of columns. With ``absolute_sigma=False``
        all errors are known only up to a common factor, which is estimated from the rows.

        `censored` says for each row whether the true y lies "below" or "above" the given value ("" if the value is
        known), as an array or the name of a column. With `detection_limit`, all values below this limit are censored.
        """
        from ceql.estimator.around_a_fit import advise, checkpoint_of, earlier_formulas
        from ceql.estimator.grouping import discover_grouped, grouped_labels, wanted_of
        from ceql.estimator.measured import with_folds
        from ceql.estimator.settings_of_model import settings_of
        from ceql.estimator.several_targets import discover_each
        from ceql.estimator.unit_texts import read_units
        from ceql.output.progress import live_display

        settings, from_frame, wanted = settings_of(self), is_table(X), wanted_of(self.per_group, self.template)
        X, groups = column_apart(X, groups)
        errors, limits = (sigma, sigma_x, absolute_sigma), (censored, detection_limit)
        held = None if wanted is not None else groups
        given, folds = with_folds(X, y, sample_weight, errors, self.template, self.cv, held, limits)
        labels = grouped_labels(self, groups, shape_of(X, "X")[0], given.weight, y, sigma_x, limits)
        with live_display(self.verbose) as display:
            if labels is not None and wanted is not None:
                found, targets = discover_grouped(given.targets, labels, settings, wanted, self.cv, folds, display)
            else:
                earlier = earlier_formulas(self, given.targets)
                units = read_units(self.units, self.constants, given.targets.inputs, given.targets.names)
                kept_in = checkpoint_of(self)
                discoveries = discover_each(given.targets, settings, earlier, display, kept_in, folds, units)
                found, targets = given.fitted_again(discoveries, settings.constraints, folds)
        self._take(found, targets, from_frame)
        advise(self)
        return self

    def _take(self, discoveries: Sequence[Discovery], targets: Targets, from_frame: bool) -> None:
        from ceql.choice.chi_square import chi_square
        from ceql.estimator.results import constants_table, equations_table, one_or_all, struck_table
        from ceql.estimator.settings_of_model import prices_of

        self._targets = targets
        inputs = targets.inputs[:-1] if self._has_parts or targets.groups else targets.inputs
        self.n_features_in_ = len(inputs)
        if from_frame:
            self.feature_names_in_ = np.array(inputs, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.discoveries_ = list(discoveries)
        self.target_names_ = list(targets.names)
        prices = prices_of(self)
        self.equations_ = one_or_all([equations_table(discovery, prices) for discovery in discoveries])
        self.constants_ = one_or_all([constants_table(found.best, found.units) for found in discoveries])
        pairs = zip(discoveries, targets.datasets, strict=True)
        self.chi_square_ = one_or_all([chi_square(discovery.best, data) for discovery, data in pairs])
        self.poles_ = one_or_all([list(discovery.poles) for discovery in discoveries])
        self.struck_ = one_or_all([struck_table(discovery) for discovery in discoveries])

    @property
    def _has_parts(self) -> bool:
        """Whether the target is complex; the last column then tells real from imaginary parts."""
        from ceql.expression.complex_parts import PART

        return self.template is not None and self.template.has_unit and self._targets.inputs[-1] == PART

    @property
    def discovery_(self) -> Discovery:
        """How the search went. With several targets, use ``discoveries_``, which has one for each."""
        self._require_fit()
        if len(self.discoveries_) > 1:
            raise AttributeError(
                f"This model has {len(self.discoveries_)} targets ({', '.join(self.target_names_)}): see discoveries_."
            )
        return self.discoveries_[0]

    def save(self, path: str | Path) -> None:
        """Writes the fitted model to one JSON file; ``ceql.load`` reads it back."""
        from ceql.estimator.parameters import checked_policy
        from ceql.storage.model_file import write_model

        self._require_fit()
        structured = {"template": self.template, "constraints": self.constraints}
        plain = {name: None if value is None else value.as_dict() for name, value in structured.items()}
        policy = None if self.policy is None else asdict(checked_policy(self.policy))
        cv = self.cv if isinstance(self.cv, int | np.integer) else None  # splitters cannot be saved in a file
        prices = None if self.prices is None else asdict(self.prices)
        others = {"policy": policy, "prices": prices, "checkpoint": None, "cv": cv}
        parameters = {**self.get_params(deep=False), **plain, **others}
        write_model(path, parameters, self.discoveries_, self._targets, hasattr(self, "feature_names_in_"))

    def predict(self, X: Any, row: Any = None, return_std: bool = False, groups: Any = None) -> Any:
        """Values of the formula (or of another row of ``equations_``); NaN where it is undefined.

        With several targets there is one column for each, and `row` may be a list with one row for each.

        With ``return_std=True``, also returns the standard deviation of a new measurement. It combines the noise of the
        residuals, the errors of the constants, and the disagreement of the competing formulas, weighted by their
        weights. It grows outside the data, and is infinite where the data do not determine the constants that matter.

        With a complex target both are complex: the standard deviation holds those of the real and of the imaginary
        part.

        `groups` holds the labels of the rows for a model with `per_group`, unless X has the column of labels.
        """
        from ceql.estimator.forecasts import forecasts

        formulas = self._formulas(row)
        x = self._with_codes(self._checked(X), X, groups)
        values = self._joined([formula(x) for formula in formulas])
        if not return_std:
            return values
        known = forecasts(formulas, self.discoveries_, self._targets, x)
        return values, self._joined([one.deviation for one in known])

    def predict_interval(
        self, X: Any, level: float = 0.95, row: Any = None, groups: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper bounds that contain a new measurement with the probability `level`.

        Their distance from the prediction follows from ``predict(X, return_std=True)`` and Student's t distribution.
        """
        from ceql.estimator.forecasts import checked_level, forecasts

        level, formulas = checked_level(level), self._formulas(row)
        x = self._with_codes(self._checked(X), X, groups)
        known = forecasts(formulas, self.discoveries_, self._targets, x)
        lower, upper = zip(*(one.interval(level) for one in known), strict=True)
        return self._joined(lower), self._joined(upper)

    def sympy(self, row: Any = None, form: str = "smallest") -> Any:
        """The formula in SymPy; with several targets a list of them.

        `form` is "smallest" for the fewest nodes, "readable" for the shortest constants, or "named" for names in place
        of the constants; for a template these are the names in ``constants_``.
        """
        from ceql.estimator.results import one_or_all

        if form == "named":
            return one_or_all([formula.named for formula in self._formulas(row)])
        return one_or_all([formula.shown for formula in self._in_form(row, form)])

    def latex(self, row: Any = None, form: str = "smallest") -> Any:
        """The formula in LaTeX; with several targets a list of them."""
        from ceql.estimator.results import one_or_all

        return one_or_all([formula.latex() for formula in self._in_form(row, form)])

    def export(
        self,
        to: str = "python",
        row: int | None = None,
        path: str | Path | None = None,
        target: str | None = None,
        group: Any = None,
    ) -> str:
        """The formula as source text: "python", "numpy", "jax", "torch", "c", "fortran", "julia", "excel" or "latex".

        The text computes what `predict` computes. With `path` it is also written to that file. `target` chooses one of
        several targets, and `group` the group whose constants are used.
        """
        from ceql.output.export import write
        from ceql.storage.destinations import write_text

        found = self._finding(row, target)
        text = write(*self._of_group(found, group, to), to, found.name)
        if path is not None:
            write_text(Path(path), text)
        return text

    def _in_form(self, row: Any, form: str) -> list[Formula]:
        from ceql.estimator.results import over_table
        from ceql.formula import in_readable_form

        formulas = self._formulas(row)
        if form not in ("smallest", "readable"):
            raise InputError(f"form must be 'smallest', 'readable' or, of sympy(), 'named', not {form!r}.")
        if form == "smallest":
            return formulas
        pairs = zip(formulas, self._targets.datasets, strict=True)
        return [in_readable_form(f, data, over_table(self.constraints, data)) for f, data in pairs]

    def _formulas(self, row: Any = None) -> list[Formula]:
        """The chosen formula of each target, or the formula in the given row."""
        from ceql.estimator.results import formula_in_row

        self._require_fit()
        count = len(self.discoveries_)
        rows = list(row) if isinstance(row, list | tuple | np.ndarray) else [row] * count
        if len(rows) != count:
            raise InputError(f"row has {len(rows)} entries, but there are {count} target(s): give one for each.")
        return [formula_in_row(found, wanted) for found, wanted in zip(self.discoveries_, rows, strict=True)]

    def _finding(self, row: int | None = None, target: str | None = None) -> Finding:
        """One target's formula with its discovery and data, for output that shows one formula at a time."""
        from ceql.constraints import NONE
        from ceql.estimator.results import finding
        from ceql.estimator.settings_of_model import prices_of

        self._require_fit()
        return finding(self.discoveries_, self._targets, row, target, prices_of(self), self.constraints or NONE)

    def _checked(self, X: Any) -> np.ndarray:
        from ceql.estimator.complex_targets import rows_of_parts

        x = checked_rows(X, getattr(self, "feature_names_in_", None), self.n_features_in_)
        return rows_of_parts(x) if self._has_parts else x

    def _joined(self, values: Sequence[np.ndarray]) -> np.ndarray:
        from ceql.estimator.complex_targets import joined
        from ceql.estimator.forecasts import in_columns

        return joined(values[0]) if self._has_parts else in_columns(values)

    def _require_fit(self) -> None:
        if not hasattr(self, "discoveries_"):
            from sklearn.utils.validation import check_is_fitted  # raises the usual error

            check_is_fitted(self)


class PlainModel(Model):
    """A model that does not import scikit-learn, which takes a third of a second to import."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        # sorted by name as in scikit-learn, so that both print the same lines to repeat a fit
        return {name: getattr(self, name) for name in sorted(inspect.signature(type(self)).parameters)}
