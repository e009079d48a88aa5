"""The scikit-learn face of ceql: validate, discover, expose what was found."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ceql.checkpoint import Checkpoint
from ceql.data import Dataset, column_names, numeric_matrix
from ceql.errors import CeqlWarning, InputError
from ceql.formula import Formula, in_readable_form
from ceql.persistence import read_model, write_model
from ceql.pipeline import Discovery, Settings, discover, resolve_recipe
from ceql.progress import live_display
from ceql.selection import gains
from ceql.templates import Template


class CEQLRegressor(RegressorMixin, BaseEstimator):
    """Finds a short formula for y in terms of the columns of X.

    Parameters
    ----------
    recipe : "search", "paper" or a Recipe
        "search" fits thousands of small sub-networks and is right for almost everything. "paper" trains the one dense
        network of the Complex Equation Learner paper, for comparison.
    operators : list of str, "default" or "paper", optional
        What formulas are made of, for example ["mul", "div", "sqrt"]; sums and constants are always there. Name fewer
        to search faster, or others (see ``ceql.operators.names()``) when you know that they occur. "paper" is the
        library of the paper: two layers, without exponentials and sines.
    time_limit : float
        Seconds after which the best formula so far is returned. Easy problems end long before.
    max_complexity : int, optional
        The most nodes a formula may have.
    model_selection : "best", "accuracy" or "score"
        Which row of ``equations_`` is used for prediction: the noise-aware choice, the lowest loss, or the steepest
        gain in accuracy per node.
    random_state : int
        The same number gives the same formula, whatever the number of workers, unless the clock ends the search.
    n_jobs : int, optional
        Processes that fit the starts. By default it is this one, with all cores as threads, which is the fastest on one
        machine. A number above 1 starts as many processes through joblib. Inside ``joblib.parallel_config`` the backend
        named there is used, such as a Dask or Ray cluster. The result is the same in each case.
    threads : int, optional
        Threads of each process; by default they share all cores.
    device : "cpu", "gpu" or "auto"
        Where starts are fitted. The default gives the same formula on every machine. "auto" takes an NVIDIA GPU if
        there is one and CuPy is installed (``ceql[gpu]``). "gpu" insists on it and also fits more starts a round, as
        many as it holds.
    complex_weights : bool
        False trains on the real axis only. It exists to show what the complex domain is good for.
    template : Template, optional
        What is known of the formula, with the parameters, functions and sums to be found in it. The search then
        fills in these alone, and `operators` is not used: each unknown function has its own.
    checkpoint : str or path, optional
        A file in which the search keeps its state, so that it can go on after a kill: ``fit`` with the same data and
        parameters goes on from the file if it is there, and gives the result at once if the search had ended. A higher
        `time_limit` goes on as well. A ``ceql.checkpoint.Checkpoint`` also says how often it is written.
    verbose : bool, optional
        Show a live display. By default it is shown in a terminal or notebook and not when output is piped.
    """

    def __init__(
        self,
        recipe: Any = "search",
        operators: Any = None,
        time_limit: float = 60.0,
        max_complexity: int | None = None,
        model_selection: str = "best",
        random_state: Any = 0,
        n_jobs: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        complex_weights: bool = True,
        template: Template | None = None,
        checkpoint: str | Path | Checkpoint | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.recipe = recipe
        self.operators = operators
        self.time_limit = time_limit
        self.max_complexity = max_complexity
        self.model_selection = model_selection
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.threads = threads
        self.device = device
        self.complex_weights = complex_weights
        self.template = template
        self.checkpoint = checkpoint
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CEQLRegressor:
        """Searches for the formula. Ctrl-C stops the search and keeps the best formula so far."""
        data = Dataset.of(X, y, sample_weight)
        settings = self._settings(data)
        with live_display(self.verbose) as display:
            discovery = discover(data, settings, display, self._checkpoint())
        self._take(discovery, data, hasattr(X, "columns"))
        self._advise(data)
        return self

    def _take(self, discovery: Discovery, data: Dataset, from_frame: bool) -> None:
        self.n_features_in_ = data.x.shape[1]
        if from_frame:
            self.feature_names_in_ = np.array(data.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.discovery_: Discovery = discovery
        self.equations_ = equations_table(discovery)
        self.constants_ = constants_table(discovery.best)
        self.poles_ = list(discovery.poles)
        self._data = data

    def save(self, path: str | Path) -> None:
        """Writes the fitted model to one JSON file; ``ceql.load`` reads it back."""
        check_is_fitted(self)
        write_model(path, self._parameters(), self.discovery_, self._data, hasattr(self, "feature_names_in_"))

    def _parameters(self) -> dict[str, Any]:
        template = None if self.template is None else self.template.as_dict()
        return {**self.get_params(), "template": template, "checkpoint": None}

    def predict(self, X: Any, row: int | None = None) -> np.ndarray:
        """Values of the formula (or of another row of ``equations_``); NaN where it is undefined."""
        formula = self._formula(row)
        return formula(self._checked(X))

    def sympy(self, row: int | None = None, form: str = "smallest") -> Any:
        """The formula in SymPy: the form with the fewest nodes, or form="readable" for the shortest constants."""
        return self._in_form(row, form).expression

    def latex(self, row: int | None = None, form: str = "smallest") -> str:
        return self._in_form(row, form).latex()

    def _in_form(self, row: int | None, form: str) -> Formula:
        formula = self._formula(row)
        if form not in ("smallest", "readable"):
            raise InputError(f"form must be 'smallest' or 'readable', not {form!r}.")
        return formula if form == "smallest" else in_readable_form(formula, self._data)

    def _formula(self, row: int | None = None) -> Formula:
        check_is_fitted(self)
        front = self.discovery_.front
        if row is None:
            return self.discovery_.best
        if not isinstance(row, int | np.integer) or not -len(front) <= row < len(front):
            raise InputError(f"equations_ has rows 0 to {len(front) - 1}; there is no row {row!r}.")
        return front[row]

    def _checked(self, X: Any) -> np.ndarray:
        names = column_names(X)
        known = getattr(self, "feature_names_in_", None)
        if hasattr(X, "columns") and known is not None:
            missing = [name for name in known if name not in names]
            if missing:
                raise InputError(
                    f"The feature names should match those that were passed during fit. X lacks: {', '.join(missing)}."
                )
            X = X[list(known)]
            names = tuple(known)
        x = numeric_matrix(X, names)
        if len(x) == 0:
            raise InputError("Found array with 0 sample(s): X is empty.")
        if x.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {x.shape[1]} features, but CEQLRegressor is expecting {self.n_features_in_} features as input."
            )
        return x

    def _settings(self, data: Dataset) -> Settings:
        if self.recipe != "search":
            resolve_recipe(self.recipe)
        if not self.time_limit > 0:
            raise InputError(f"time_limit must be a positive number of seconds, not {self.time_limit!r}.")
        if self.max_complexity is not None and self.max_complexity < 1:
            raise InputError(f"max_complexity must be at least 1, not {self.max_complexity!r}.")
        if self.template is not None and not isinstance(self.template, Template):
            raise InputError(f"template must be a ceql.templates.Template, not {type(self.template).__name__}.")
        if self.template is not None and self.recipe != "search":
            raise InputError("A template needs recipe='search': the other recipes train one dense network.")
        return Settings(
            recipe=self.recipe,
            operators=self.operators if isinstance(self.operators, str | None) else tuple(self.operators),
            time_limit=float(self.time_limit),
            max_complexity=self.max_complexity,
            model_selection=self.model_selection,
            seed=_seed(self.random_state),
            n_jobs=self.n_jobs,
            threads=self.threads,
            device=self.device,
            complex_weights=bool(self.complex_weights),
            template=self.template,
        )

    def _checkpoint(self) -> Checkpoint | None:
        if self.checkpoint is None or isinstance(self.checkpoint, Checkpoint):
            checkpoint = self.checkpoint
        elif isinstance(self.checkpoint, str | Path) and str(self.checkpoint):
            checkpoint = Checkpoint(self.checkpoint)
        else:
            raise InputError(f"checkpoint must be the path of a file, not {self.checkpoint!r}.")
        if checkpoint is not None and not isinstance(self.random_state, int | np.integer):
            raise InputError("A checkpoint needs a number as random_state: another seed would be another search.")
        return checkpoint

    def _advise(self, data: Dataset) -> None:
        constants = len(self.discovery_.best.constants)
        if len(data.y) <= constants:
            warnings.warn(
                f"The formula has {constants} constants but there are only {len(data.y)} rows: it may just interpolate "
                "them. Give more rows or set max_complexity lower.",
                CeqlWarning,
                stacklevel=3,
            )


def load(path: str | Path) -> CEQLRegressor:
    """A model as it was saved. Nothing in the file is run as code, so it may come from a stranger."""
    parameters, discovery, data, from_frame = read_model(path)
    known = CEQLRegressor().get_params()
    if parameters.get("template") is not None:
        parameters = {**parameters, "template": Template.from_dict(parameters["template"])}
    model = CEQLRegressor(**{name: value for name, value in parameters.items() if name in known})
    model._take(discovery, data, from_frame)
    return model


def _seed(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise InputError(f"random_state must be a non-negative integer or None, not {random_state!r}.")


def constants_table(formula: Formula) -> pd.DataFrame:
    """The decimal constants of a formula as it shows them, each with its standard error."""
    return pd.DataFrame(list(formula.constants), columns=["value", "standard_error"], dtype=float)


def equations_table(discovery: Discovery) -> pd.DataFrame:
    """The front as a table, simplest formula first; `chosen` marks the row that `predict` uses."""
    return pd.DataFrame(
        {
            "complexity": [formula.complexity for formula in discovery.front],
            "loss": [formula.loss for formula in discovery.front],
            "score": gains(discovery.front),
            "equation": [str(formula) for formula in discovery.front],
            "sympy_format": [formula.expression for formula in discovery.front],
            "chosen": [k == discovery.chosen for k in range(len(discovery.front))],
        }
    )
