"""The estimator for scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, RegressorMixin

from ceql.errors import InputError
from ceql.estimator.bringing import bring_the_library
from ceql.estimator.model import Model


class CEQLRegressor(Model, RegressorMixin, BaseEstimator):
    """Finds a short formula for y in terms of the columns of X, or one for each column of y.

    Parameters
    ----------
    recipe : "search", "real", "paper", "authors" or a Recipe
        "search" fits thousands of small sub-networks and is right for almost everything. "real" is the same with real
        weights, to see what complex weights contribute. For comparison, "paper" trains the single dense network of the
        Complex Equation Learner paper, and "authors" trains it as the code of its authors does.
    operators : list of str, "default" or "paper", optional
        The operators that formulas may contain, such as ["mul", "div", "sqrt"]; sums and constants are always allowed.
        Name fewer to search faster, or others (see ``ceql.operators.names()``) if you know that they occur. "paper" is
        the library of the paper: two layers, without exponentials and sines.
    time_limit : float
        Seconds after which the best formula so far is returned; easy problems end long before. It holds for the whole
        fit: several targets share it, and time that an easy target does not need goes to the next ones.
    max_complexity : int, optional
        The largest number of nodes a formula may have, if you want a readable formula rather than the best fit.
    model_selection : "best", "accuracy", "score" or "cv"
        Which row of ``equations_`` is used for prediction: "best" is the noise-aware choice, "accuracy" the lowest
        loss, "score" the steepest gain in accuracy per node, and "cv" the simplest row that held-out rows cannot
        distinguish from the best one, by one standard error. Change it if the chosen row is too long or too short for
        you; every other row can be used without a new fit.
    cv : int, splitter or list of (train, test), optional
        How rows are held out to validate a finished formula, whose constants are fitted to the other rows; used for
        ``r2_cv`` and for ``model_selection="cv"``. It is as in scikit-learn, except that a number of folds takes rows
        in a fixed random order, since tables are often sorted, and holds out whole groups if `fit` is given `groups`.
        Use ``TimeSeriesSplit()`` for a time series. None means 5 folds, or each row by itself if there are fewer than
        10. At most 2000 rows are used. The search itself sees all rows.
    per_group : "auto", int or list of str, optional
        Which constants differ between groups of rows, while all groups share one structure: "auto" finds out which,
        an integer says how many, and a list names parameters of the template. The groups are given by the labels
        passed to `fit`. None means that all rows share all constants.
    catalogue : bool
        Whether the more than 300 known laws of science in ``ceql.catalogue`` are also fitted to the table and compete
        with what the search finds. ``equations_`` shows the name of such a law, and ``constants_`` uses the names that
        its constants have in the catalogue. With False, only plain models and the search compete.
    prices : Prices, optional
        What operators, numbers, constants and names of laws cost when a formula is chosen, as a
        ``ceql.expression.prices.Prices``. Raise a price to see less of something.
    more : int
        How many formulas that are not on the front ``equations_`` may show. They are about as likely as the best
        formula, but some formula of the front is both smaller and more accurate. They count in the weights and the
        intervals.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None
        The same number gives the same formula, whatever the number of workers, unless the clock ends the search. Try
        another one if a search fails. None takes a different seed each time.
    n_jobs : int, optional
        Number of processes that fit the starts. By default only this process is used, with all cores as threads, which
        is the fastest on one machine. A number above 1 starts that many processes through joblib. Inside
        ``joblib.parallel_config`` the backend named there is used, such as a Dask or Ray cluster. The result is the
        same in each case. With ``device="gpu"`` each process has its own GPU, if there are enough of them, and rounds
        grow with their number, so that the search takes a different course.
    threads : int, optional
        Threads of each process; by default the processes share all cores. Set it to 1 if something else, such as a grid
        search, already uses all cores.
    device : "cpu", "gpu" or "auto"
        Where starts are fitted. The default gives the same formula on every machine. "auto" takes an NVIDIA GPU if
        there is one and CuPy is installed (``ceql[gpu]``), unless ``n_jobs`` or a cluster is in use; "gpu" requires
        one.
    template : Template, optional
        The known form of the formula; only the parameters, functions and sums in it are searched for. `operators` is
        not used, since each unknown function has its own.
    loss : str
        The loss of a residual: "squared"; "absolute", "huber", "cauchy" or "log-cosh", which are robust against
        outliers; or your own formula in ``residual``, ``y`` and ``prediction``, such as ``"log(1 + residual**2)"``.
        ``equations_`` shows its mean as `loss`.
    guesses : list of str, optional
        Formulas that you suspect, as text over the columns, such as ``"a*sin(b*x1)/x2"``. Names that are not columns
        are constants to be fitted, and numbers are starting values. Guesses compete with the formulas that are found,
        and the search builds on them.
    constraints : Constraints, optional
        Conditions that every formula must meet: operators that may not be nested, columns that must occur, bounds of
        constants and exponents, costs, and the shape of its values (signs, slopes, limits, symmetries, points, poles).
        See also ``shapes_``.
    units : dict, optional
        The units of columns and of y, such as ``{"distance": "mm", "y": "s"}``, read by pint (the extra ``units``). "1"
        means no unit, and ``"headers"`` reads the units from column names such as ``distance [mm]``. Formulas are then
        dimensionally consistent, and ``constants_`` shows the units of constants.
    constants : "any", "dimensionless", "physics", list or dict
        With `units`: whether numbers in a formula may have any unit, no unit, or only units that come from constants of
        nature, which may be named: ``["c", "k_B"]``, ``{"g": "9.81 m/s^2"}``. If numbers have no unit, the search is
        over dimensionless groups, of which there are fewer than columns.
    policy : SearchPolicy, optional
        The numbers that control the search, if you want to change one, such as
        ``ceql.search.policy.SearchPolicy(round_size=256)`` for shorter rounds. None uses the defaults.
    warm_start : bool
        If True, a second ``fit`` starts from the formulas of the first: they are fitted to the new data and compete
        with what is found. If one of them is exact, there is no search.
    checkpoint : str or path, optional
        A file in which the search saves its state, so that it can be continued after it was killed: ``fit`` with the
        same data and parameters continues from the file if it exists, and gives the result at once if the search had
        ended. A higher `time_limit` continues the search as well. With several targets, each has its own file, with its
        name added. A ``ceql.storage.checkpoint.Checkpoint`` also says how often the file is written.
    verbose : bool, optional
        Whether to show a live display. By default it is shown in a terminal or notebook, but not if output is piped.

    Attributes
    ----------
    equations_ : DataFrame
        The front: the best formula of every size. ``chosen`` marks the row that ``predict`` uses. ``weight`` says how
        likely a row is among all rows, judging by the data. ``r2`` and ``r2_cv`` are its R2 on the training rows and on
        held-out rows (NaN for rows that are too unlikely). ``law`` is the name of the law, if the formula is a named
        one, and ``price`` is what the formula costs in the choice, not counting its constants. Formulas that are not on
        the front come last, with False in the column ``front``.
    constants_ : DataFrame
        The decimal constants of the chosen formula with their standard errors. For a named law or a template, the
        constants are listed under the names they have there. A constant at one of its bounds has no error.
    covariance_ : DataFrame
        The covariances of these constants; for a law of the catalogue, those of the decimal numbers in its formula.
    chi_square_ : ChiSquare or None
        If `sigma` is known: the sum of squared residuals in units of sigma, the degrees of freedom, and the probability
        of a larger sum.
    groups_, group_constants_
        With `per_group`: the labels of the groups, and the constants of each group with their errors; ``constants_``
        then has the shared constants.
    struck_ : DataFrame
        Formulas that were found but may not be chosen: ``equation`` and the reason ``why``, such as a pole between two
        rows that no row supports. Empty if nothing was struck, and for models saved by version 0.1.0.
    poles_ : list
        The poles and log singularities of the chosen formula within the range of the data.
    shapes_ : DataFrame
        The shapes that the constraints require: ``shape``, whether it is ``kept``, and ``how`` this is known.
    discovery_ : Discovery
        How the search went and ended. The search uses only some rows of a long table (``discovery_.rows_searched``),
        and the 40 most promising of more than 64 columns (``discovery_.columns_searched``).
    discoveries_ : list of Discovery
        The discovery of each target. With several targets there is no ``discovery_``, and ``equations_``,
        ``constants_``, ``struck_`` and ``poles_`` are lists.
    target_names_ : list of str
        The names of the columns of y; "y" if it has no name.
    n_features_in_, feature_names_in_
        As in all scikit-learn estimators; the names exist only if X was a table.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __setstate__(self, state: Any) -> None:
        bring_the_library()
        super().__setstate__(state)


def load(path: str | Path) -> CEQLRegressor:
    """Loads a saved model. Nothing in the file is run as code, so files from untrusted sources are safe to load."""
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
