"""The estimator for scikit-learn: validate, discover, expose what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

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


class CEQLRegressor(Grouped, Presented, RegressorMixin, BaseEstimator):
    """Finds a short formula for y in terms of the columns of X, or one for each column of y.

    Parameters
    ----------
    recipe : "search", "real", "paper", "authors" or a Recipe
        "search" fits thousands of small sub-networks and is right for almost everything. "real" is the same with real
        weights, to see what the complex domain is good for. "paper" trains the one dense network of the Complex
        Equation Learner paper, for comparison, and "authors" does so as its authors' code.
    operators : list of str, "default" or "paper", optional
        What formulas are made of, for example ["mul", "div", "sqrt"]; sums and constants are always there. Name fewer
        to search faster, or others (see ``ceql.operators.names()``) when you know that they occur. "paper" is the
        library of the paper: two layers, without exponentials and sines.
    time_limit : float
        Seconds after which the best formula so far is returned; easy problems end long before. It holds for the whole
        fit: several targets share it, and what an easy one leaves over goes to those after it.
    max_complexity : int, optional
        The most nodes a formula may have, when you want something to read rather than the best fit.
    model_selection : "best", "accuracy", "score" or "cv"
        Which row of ``equations_`` is used for prediction: the noise-aware choice, the lowest loss, the steepest gain
        in accuracy per node, or the simplest row that rows held out cannot tell from the best of them, by one standard
        error. Change it when the chosen row is too long or too short for you; every other row can be used without a
        new fit.
    cv : int, splitter or list of (train, test), optional
        The rows that are held out to validate a finished formula, whose constants are fitted to the others: for
        ``r2_cv`` and for ``model_selection="cv"``. As in scikit-learn, except that a number of folds takes rows in
        random order, always the same, since tables are often sorted, and whole groups where `fit` is given `groups`.
        Take ``TimeSeriesSplit()`` for a series. None: 5 folds, or each row by itself where there are fewer than 10.
        Of more than 2000 rows 2000 serve. The search itself sees all rows.
    per_group : "auto", int or list of str, optional
        Which constants each group of rows has for itself, one structure for all: found out, so many of them, or these
        parameters of the template. The groups are the labels that `fit` is given. None: all rows share all constants.
    catalogue : bool
        Whether the laws that the fields of science know (``ceql.catalogue``, 300 and more) are fitted to the table as
        well and compete with what the search finds. A formula that was fitted as one has its name in ``equations_``,
        and ``constants_`` calls its constants what they are called there. False leaves plain models and the search.
    prices : Prices, optional
        What operators, numbers, constants and names of laws cost in the choice among formulas, a
        ``ceql.expression.prices.Prices``. Raise a price to see less of something.
    more : int
        How many formulas beside the front ``equations_`` may show: those that are about as likely as the best by the
        criterion, but beaten in size and loss by a formula of the front. They count in the weights and the intervals.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None
        The same number gives the same formula, whatever the number of workers, unless the clock ends the search. Try
        another one when a search fails. None takes a different seed each time.
    n_jobs : int, optional
        Processes that fit the starts. By default it is this one, with all cores as threads, which is the fastest on one
        machine. A number above 1 starts that many processes through joblib. Inside ``joblib.parallel_config`` the
        backend named there is used, such as a Dask or Ray cluster. The result is the same in each case. With
        ``device="gpu"`` each process has a GPU of its own, if there are enough of them, and rounds grow with their
        number, so that the search takes another course.
    threads : int, optional
        Threads of each process; by default they share all cores. Set it to 1 where something else, such as a grid
        search, already uses all of them.
    device : "cpu", "gpu" or "auto"
        Where starts are fitted. The default gives the same formula on every machine. "auto" takes an NVIDIA GPU if
        there is one and CuPy is installed (``ceql[gpu]``), unless ``n_jobs`` or a cluster is in use; "gpu" insists.
    template : Template, optional
        What is known of the formula, with the parameters, functions and sums to be found in it, and these alone;
        `operators` is not used: each unknown function has its own.
    loss : str
        What a residual costs: "squared", or one that gross outliers cannot rule: "absolute", "huber", "cauchy",
        "log-cosh". Or a formula of your own in ``residual``, ``y`` and ``prediction``, such as
        ``"log(1 + residual**2)"``. ``equations_`` shows the mean of it as `loss`.
    guesses : list of str, optional
        Formulas that you suspect, as text over the columns: ``"a*sin(b*x1)/x2"``. Other names are constants to be
        found, numbers are starting values. They compete with what is found and the search builds on them.
    constraints : Constraints, optional
        What every formula keeps to: operators not nested, columns that must occur, bounds of constants and exponents,
        costs, and the shape of its values: signs, slopes, limits, symmetries, points, poles. See also ``shapes_``.
    units : dict, optional
        The units of columns and of y by their names, ``{"distance": "mm", "y": "s"}``, as pint reads them (the extra
        ``units``); "1" is none, and ``"headers"`` takes those of names such as ``distance [mm]``. Formulas are then
        dimensionally possible, and ``constants_`` has the units of constants.
    constants : "any", "dimensionless", "physics", list or dict
        With `units`: numbers may carry any unit, none, or those of constants of nature, which may be named:
        ``["c", "k_B"]``, ``{"g": "9.81 m/s^2"}``. Where they carry none, the law is searched between groups without
        dimension, of which there are fewer than columns.
    policy : SearchPolicy, optional
        Every number that steers the search, for those who want to change one, such as
        ``ceql.search.policy.SearchPolicy(round_size=256)`` for shorter rounds. None takes the defaults.
    warm_start : bool
        True lets a second ``fit`` go on from the formulas of the first: fitted to the new data, they compete with what
        it finds, and if one of them is exact there is no search.
    checkpoint : str or path, optional
        A file in which the search keeps its state, so that it can go on after a kill: ``fit`` with the same data and
        parameters goes on from the file if it is there, and gives the result at once if the search had ended. A higher
        `time_limit` goes on as well. Several targets have a file each, with their names. A
        ``ceql.storage.checkpoint.Checkpoint`` also says how often it is written.
    verbose : bool, optional
        Show a live display. By default it is shown in a terminal or notebook and not when output is piped.

    Attributes
    ----------
    equations_ : DataFrame
        The front: for every size the best formula, with ``chosen`` at the one that ``predict`` uses. ``weight`` is
        how likely a row is among all of them as far as the data can tell, ``r2`` and ``r2_cv`` are its R2 on the
        training rows and on rows held out (NaN for rows without a chance). ``law`` is the name of the law that a row
        is, if it is one, and ``price`` what the formula costs in the choice but for its constants. Formulas beside the
        front come last, with False in the column ``front``.
    constants_ : DataFrame
        The decimal constants of the chosen formula with their standard errors, or those of the law or of the template
        that it is under the names that they have there. A constant on a bound has no error.
    covariance_ : DataFrame
        Their covariances; of a law of the catalogue those of the decimals of its formula.
    chi_square_ : ChiSquare or None
        Where `sigma` is known: the sum of squares in units of sigma, the degrees of freedom and the probability of a
        larger sum.
    groups_, group_constants_
        With `per_group`: the labels, and the constants of each group with their errors; ``constants_`` has the shared
        ones then.
    struck_ : DataFrame
        Formulas that were found but may not be chosen: ``equation`` and ``why``, such as a pole between two rows that
        no row shows. Empty where nothing was struck, and for models saved by 0.1.0.
    poles_ : list
        Where the chosen formula blows up within the range of the data.
    shapes_ : DataFrame
        What constraints ask of its shape: ``shape``, ``kept``, and ``how`` that is known.
    discovery_ : Discovery
        How the search went and ended. Of a long table it looks at some rows only: ``discovery_.rows_searched``.
        Of more than 64 columns it looks at 40 that promise most: ``discovery_.columns_searched``.
    discoveries_ : list of Discovery
        The same for each target. With several of them there is no ``discovery_``, and ``equations_``, ``constants_``,
        ``struck_`` and ``poles_`` are lists.
    target_names_ : list of str
        The columns of y; "y" where it has no name.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn; the names are there if X was a table.
    """

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
    ) -> CEQLRegressor:
        """Searches for a formula for y, or for each column of y. Ctrl-C stops the search and keeps the best so far.

        `groups` are labels of the rows, an array or the name of a column of X, which is no input then. With `per_group`
        each group has constants of its own; without it, rows with the same label are held out together (see `cv`).

        `sigma` are the standard deviations of y, an array or the name of a column, which is no input then: rows count
        as 1/sigma**2, and errors of constants follow. `sigma_x` gives columns errors, ``{"x1": 0.1}``, numbers, arrays
        or names of columns. With ``absolute_sigma=False`` all are known up to a factor, which the rows tell.

        `censored` says of each row whether y lies "below" or "above" what is written (or is known: ""), as an array or
        the name of a column; below a common `detection_limit` all rows are.
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
        """Whether the target is complex: then its parts are told apart by the last column."""
        from ceql.expression.complex_parts import PART

        return self.template is not None and self.template.has_unit and self._targets.inputs[-1] == PART

    @property
    def discovery_(self) -> Discovery:
        """How the search went. With several targets there is one in ``discoveries_`` for each."""
        check_is_fitted(self)
        if len(self.discoveries_) > 1:
            raise AttributeError(
                f"This model has {len(self.discoveries_)} targets ({', '.join(self.target_names_)}): see discoveries_."
            )
        return self.discoveries_[0]

    def save(self, path: str | Path) -> None:
        """Writes the fitted model to one JSON file; ``ceql.load`` reads it back."""
        from ceql.estimator.parameters import checked_policy
        from ceql.storage.model_file import write_model

        check_is_fitted(self)
        structured = {"template": self.template, "constraints": self.constraints}
        plain = {name: None if value is None else value.as_dict() for name, value in structured.items()}
        policy = None if self.policy is None else asdict(checked_policy(self.policy))
        cv = self.cv if isinstance(self.cv, int | np.integer) else None  # splitters have no form in a file
        prices = None if self.prices is None else asdict(self.prices)
        others = {"policy": policy, "prices": prices, "checkpoint": None, "cv": cv}
        parameters = {**self.get_params(deep=False), **plain, **others}
        write_model(path, parameters, self.discoveries_, self._targets, hasattr(self, "feature_names_in_"))

    def predict(self, X: Any, row: Any = None, return_std: bool = False, groups: Any = None) -> Any:
        """Values of the formula (or of another row of ``equations_``); NaN where it is undefined.

        With several targets the values have one column for each, and `row` may be a list with a row for each.

        ``return_std=True`` returns the standard deviation of what would be measured there as well: from the noise of
        the residuals, the errors of the constants and the disagreement of the formulas that compete, by their weights.
        It grows outside the data, and is infinite where the data do not determine the constants that matter.

        Of a complex target both are complex: the standard deviation has those of the real and of the imaginary part.

        `groups` are the labels of the rows of a model with `per_group`, unless X has the column of them.
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
        """The lower and upper bounds between which a new measurement lies with the probability `level`.

        They are as far from the prediction as ``predict(X, return_std=True)`` says, in units of Student's distribution.
        """
        from ceql.estimator.forecasts import checked_level, forecasts

        level, formulas = checked_level(level), self._formulas(row)
        x = self._with_codes(self._checked(X), X, groups)
        known = forecasts(formulas, self.discoveries_, self._targets, x)
        lower, upper = zip(*(one.interval(level) for one in known), strict=True)
        return self._joined(lower), self._joined(upper)

    def sympy(self, row: Any = None, form: str = "smallest") -> Any:
        """The formula in SymPy: the form with the fewest nodes, form="readable" for the shortest constants, or
        form="named" with names in place of them, which are those of ``constants_`` for a template.

        With several targets it is a list of them.
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

        The text computes what `predict` computes. With `path` it is written to that file as well. With several targets
        `target` names the one that is meant, and `group` the group whose constants are.
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
        """The chosen formula of each target, or the one in that row."""
        from ceql.estimator.results import formula_in_row

        check_is_fitted(self)
        count = len(self.discoveries_)
        rows = list(row) if isinstance(row, list | tuple | np.ndarray) else [row] * count
        if len(rows) != count:
            raise InputError(f"row has {len(rows)} entries, but there are {count} target(s): give one for each.")
        return [formula_in_row(found, wanted) for found, wanted in zip(self.discoveries_, rows, strict=True)]

    def _finding(self, row: int | None = None, target: str | None = None) -> Finding:
        """One target's formula and all that goes with it, for whatever shows one formula at a time."""
        from ceql.constraints import NONE
        from ceql.estimator.results import finding
        from ceql.estimator.settings_of_model import prices_of

        check_is_fitted(self)
        return finding(self.discoveries_, self._targets, row, target, prices_of(self), self.constraints or NONE)

    def _checked(self, X: Any) -> np.ndarray:
        from ceql.estimator.complex_targets import rows_of_parts

        x = checked_rows(X, getattr(self, "feature_names_in_", None), self.n_features_in_)
        return rows_of_parts(x) if self._has_parts else x

    def _joined(self, values: Sequence[np.ndarray]) -> np.ndarray:
        from ceql.estimator.complex_targets import joined
        from ceql.estimator.forecasts import in_columns

        return joined(values[0]) if self._has_parts else in_columns(values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __setstate__(self, state: Any) -> None:
        bring_the_library()
        super().__setstate__(state)


def load(path: str | Path) -> CEQLRegressor:
    """A model as it was saved. Nothing in the file is run as code, so it may come from anybody."""
    bring_the_library()
    from ceql.estimator.plain_settings import with_objects
    from ceql.estimator.unit_texts import with_known_units
    from ceql.storage.model_file import ModelFileError, read_model

    parameters, discoveries, targets, from_frame = read_model(path)
    known = CEQLRegressor().get_params()
    try:
        restored = with_objects(parameters)
    except InputError as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error
    model = CEQLRegressor(**{name: value for name, value in restored.items() if name in known})
    model._take(with_known_units(discoveries, model.units, model.constants, targets), targets, from_frame)
    return model
