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
