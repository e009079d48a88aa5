"""The estimator for time series, after the conventions of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ceql.data.tables import as_floats
from ceql.dynamics.analysis import Behaviour, behaviour
from ceql.dynamics.courses import Course, courses, r_squared
from ceql.dynamics.display import stage_display
from ceql.dynamics.finding import DynamicsFinding
from ceql.dynamics.forecasts import simulated_frame
from ceql.dynamics.frames import constants_table, courses_table, fixed_points_table, initial_table, systems_table
from ceql.dynamics.model_file import read_system, write_system
from ceql.dynamics.pipeline import discover_system
from ceql.dynamics.reading import Cells, Reading, Roles, cells_of, read_series, read_trajectories
from ceql.dynamics.rounding import shown_system
from ceql.dynamics.settings import DynamicsSettings
from ceql.dynamics.source import system_in_latex, system_source
from ceql.dynamics.summary import equations_in_words
from ceql.dynamics.system import System
from ceql.errors import InputError, unknown_name
from ceql.estimator.parameters import is_number, named_operators, seed_of
from ceql.storage.destinations import write_text
from ceql.storage.files import write_atomically

if TYPE_CHECKING:
    from ceql.dynamics.page import SystemSubject

_AUTO = "auto"


class ODERegressor(BaseEstimator):
    """Finds the differential equations behind time series: one for each state, in terms of all states and inputs.

    Parameters
    ----------
    order : 1 or 2
        2 where only positions were measured: the equations are then those of accelerations, and each position ``x`` has
        a speed ``x_speed`` beside it.
    operators : list of str, "default" or "paper", optional
        What the search may make right-hand sides of, as for ``CEQLRegressor``.
    time_limit : float
        Seconds for the whole search.
    depends_on_time : bool
        Whether the time itself may stand in the equations.
    per_trajectory : "auto", optional
        "auto" finds out which constants each trajectory has for itself. None: all trajectories share all constants.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None
        The same number gives the same equations, unless the clock ends the search.
    threads : int, optional
        Threads of the search; by default all cores.
    verbose : bool, optional
        Show a live display. By default it is shown in a terminal or notebook and not when output is piped.

    Attributes
    ----------
    system_ : System
        The chosen system with all digits; ``text()`` has its equations as people read them.
    equations_ : DataFrame
        The systems that were compared, the chosen one first: a column for each equation, ``complexity`` in nodes,
        ``weight`` (how likely a system is among all of them as far as the data can tell), ``criterion`` (small is good)
        and ``r2``, the mean over the states of the simulated trajectories.
    constants_ : DataFrame
        The constants of the chosen system with their standard errors.
    initial_ : DataFrame
        The fitted state at the first sample of every trajectory, with standard errors.
    fixed_points_ : DataFrame
        Where the system rests within the data and near them, with the kind of each fixed point and its eigenvalues;
        inputs are held at their means.
    singularities_ : list of str
        Where a right-hand side has a pole or ends, within the data and near them.
    simulated_ : DataFrame
        Every sample with what the system has there, simulated from the fitted initial states.
    finding_ : DynamicsFinding
        All of this as plain data, with sentences on how it was found and what is left open.
    """

    def __init__(
        self,
        order: int = 1,
        operators: Any = None,
        time_limit: float = 60.0,
        depends_on_time: bool = False,
        per_trajectory: str | None = None,
        random_state: Any = 0,
        threads: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.order = order
        self.operators = operators
        self.time_limit = time_limit
        self.depends_on_time = depends_on_time
        self.per_trajectory = per_trajectory
        self.random_state = random_state
        self.threads = threads
        self.verbose = verbose

    def fit(
        self, table: Any, time: str = "t", states: Any = None, inputs: Any = (), trajectory: str | None = None
    ) -> ODERegressor:
        """Searches for the equations of a table with a row for each sample. Ctrl-C keeps the best so far.

        `time` names the column of the times, `states` those of the states (all other columns of numbers by default),
        `inputs` those of what drives the system from outside, and `trajectory` the one whose labels tell trajectories
        apart. An empty cell of a state was not measured.
        """
        roles = Roles(time, _listed(states), _listed(inputs), trajectory, self.order)
        return self._fit_cells(cells_of(table), roles)

    def _fit_cells(self, cells: Cells, roles: Roles) -> ODERegressor:
        settings = self._settings()
        reading = read_series(cells, roles)
        with stage_display(self.verbose) as display:
            found = discover_system(reading.series, settings, display)
        return self._take(found, roles.trajectory, reading)

    def _take(self, finding: DynamicsFinding, column: str | None, reading: Reading | None = None) -> ODERegressor:
        self.finding_ = finding
        self.system_ = finding.system
        self.trajectory_column_ = column
        self.reading_notes_ = () if reading is None else reading.notes
        self.equations_ = systems_table(finding)
        self.constants_ = constants_table(finding.best)
        self.initial_ = initial_table(finding.series, finding.best)
        return self

    def _settings(self) -> DynamicsSettings:
        if not is_number(self.time_limit) or not self.time_limit > 0:
            raise InputError(f"time_limit must be a positive number of seconds, not {self.time_limit!r}.")
        if not isinstance(self.depends_on_time, bool | np.bool_):
            raise InputError(f"depends_on_time must be True or False, not {self.depends_on_time!r}.")
        if self.per_trajectory not in (None, _AUTO):
            raise InputError(f"per_trajectory must be {_AUTO!r} or None, not {self.per_trajectory!r}.")
        if self.threads is not None and (not isinstance(self.threads, int | np.integer) or self.threads < 1):
            raise InputError(f"threads must be a whole number of at least 1, or None, not {self.threads!r}.")
        return DynamicsSettings(
            time_limit=float(self.time_limit),
            seed=seed_of(self.random_state),
            threads=self.threads,
            operators=named_operators(self.operators),  # pyright: ignore[reportArgumentType] - a library has a name
            depends_on_time=bool(self.depends_on_time),
            per_trajectory=self.per_trajectory,
        )

    # ---- what the system does -------------------------------------------------------------------------------------

    def simulate(self, initial: Any, time: Any, inputs: Any = None, trajectory: str | None = None) -> pd.DataFrame:
        """The states from an initial one on, at these times, the first of which is that of the initial state.

        `initial` has a number for each state of the system, by name or in order. `inputs` says for each input what it
        is: a number, values at all times, or a function of the time. `trajectory` names the trajectory whose constants
        are meant, where each has its own. States are NaN from where the trajectory blows up or leaves the domain.
        """
        return simulated_frame(self._system_of(trajectory), initial, time, inputs)

    def predict(self, table: Any) -> pd.DataFrame:
        """The states at the times of a table, a row for each of its rows.

        A trajectory begins with the measured state in its first row; one that the model was fitted to, and that begins
        at the same time, with its fitted initial state. With ``order=2`` the table of a new trajectory needs the speeds
        of its first row.
        """
        check_is_fitted(self)
        cells, series = cells_of(table), self.finding_.series
        roles = Roles(series.time, (), series.inputs, self.trajectory_column_, series.order)
        rows_of, time, inputs = read_trajectories(cells, roles)
        found = np.full((len(time), len(self.system_.states)), np.nan)
        for label, rows in rows_of.items():
            begin = self._begin(cells, label, rows, float(time[rows[0]]))
            given = dict(zip(series.inputs, inputs[rows].T, strict=True))
            moments, state = time[rows], dict(zip(self.system_.states, begin, strict=True))
            if len(rows) == 1:
                found[rows] = begin
                continue
            made = simulated_frame(self._system_of(label, strict=False), state, moments, given or None)
            found[rows] = made[list(self.system_.states)].to_numpy()
        return pd.DataFrame(found, columns=pd.Index(self.system_.states))

    def score(self, table: Any) -> float:
        """R2 of the predicted trajectories, the mean over the measured states."""
        predicted = self.predict(table)
        names = self.finding_.series.states
        scores = [r_squared(np.asarray(table[name], float), predicted[name].to_numpy()) for name in names]
        return float(np.mean(scores))

    def _begin(self, cells: Cells, label: str, rows: np.ndarray, first: float) -> np.ndarray:
        series = self.finding_.series
        known = dict(zip(series.labels, range(len(series.trajectories)), strict=True))
        if label in known and series.trajectories[known[label]].time[0] == first:
            return np.asarray(self.finding_.best.initial[known[label]], float)
        missing = [name for name in self.system_.states if name not in cells.names]
        if missing:
            raise InputError(
                "A trajectory that was not fitted starts from the state in its first row, but the table has no "
                f"column {missing[0]!r}: add it, or use simulate."
            )
        return np.array([as_floats(cells.cells[name], cells.decimal)[rows[0]] for name in self.system_.states])

    def _system_of(self, trajectory: str | None, strict: bool = True) -> System:
        check_is_fitted(self)
        best, labels = self.finding_.best, self.finding_.series.labels
        has_own = any(constant.trajectory is not None for constant in best.constants)
        if trajectory is None:
            if has_own:
                raise InputError(
                    f"Each trajectory has constants of its own: name the one to use ({', '.join(labels)})."
                )
            return self.system_
        if str(trajectory) not in labels and (strict or has_own):
            raise unknown_name("trajectory", trajectory, labels)
        return best.of_trajectory(str(trajectory))

    # ---- what there is to see -------------------------------------------------------------------------------------

    @property
    def _along(self) -> tuple[Course, ...]:
        check_is_fitted(self)
        return courses(self.finding_, fine=True)

    def _behaviour(self) -> Behaviour:
        return behaviour(self.finding_, courses(self.finding_))

    @property
    def simulated_(self) -> pd.DataFrame:
        """Every sample with what the chosen system has there."""
        check_is_fitted(self)
        return courses_table(self.finding_, courses(self.finding_))

    @property
    def fixed_points_(self) -> pd.DataFrame:
        """Where the system rests within the data and near them."""
        check_is_fitted(self)
        return fixed_points_table(self._behaviour())

    @property
    def singularities_(self) -> list[str]:
        """Where a right-hand side is singular or ends, within the data and near them."""
        check_is_fitted(self)
        return [str(one) for one in self._behaviour().singularities]

    def sympy(self) -> dict[str, Any]:
        """The right-hand side of each state's equation in SymPy."""
        check_is_fitted(self)
        return {name: f.expression for name, f in zip(self.system_.states, self.system_.formulas, strict=True)}

    def text(self) -> str:
        """The equations, a line for each, with as many digits as their errors leave."""
        check_is_fitted(self)
        return "\n".join(equations_in_words(self.finding_.best))

    def latex(self) -> str:
        """The equations in LaTeX, with as many digits as their errors leave; ``export("latex")`` has all."""
        check_is_fitted(self)
        return system_in_latex(shown_system(self.finding_.best))

    def export(self, to: str = "python", path: str | Path | None = None, trajectory: str | None = None) -> str:
        """The right-hand side as source text: "python" (for SciPy), "julia", "c", "latex" or "text".

        With `path` it is written to that file as well. `trajectory` names the one whose constants are meant, where each
        has its own.
        """
        text = system_source(self._system_of(trajectory), to)
        if path is not None:
            write_text(Path(path), text)
        return text

    def plot_trajectories(self) -> Any:
        """Measured and simulated states over the time; returns a matplotlib figure."""
        from ceql.dynamics.pictures import trajectories

        return trajectories(self.finding_, self._along)

    def plot_phase(self, ax: Any = None, *, states: Any = None) -> Any:
        """One state: its slope. Two: the phase portrait with nullclines and fixed points. More: the two that `states`
        names, or the first ones. Returns matplotlib Axes."""
        from ceql.dynamics.pictures import phase

        return phase(self.finding_, self._along, self._behaviour(), ax, states)

    def report(self, path: str | Path, *, table: str = "data.csv") -> None:
        """Writes one self-contained HTML page; `table` is the file that the data came from."""
        from ceql.dynamics.page import system_page

        write_atomically(path, system_page(self._subject(table)))

    def _subject(self, table: str) -> SystemSubject:
        from ceql.dynamics.page import SystemSubject

        check_is_fitted(self)
        settings, defaults = self.get_params(deep=False), type(self)().get_params(deep=False)
        column = self.trajectory_column_
        return SystemSubject(self.finding_, self._along, self._behaviour(), settings, defaults, column, table)

    # ---- files ----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes the model to one JSON file; ``ODERegressor.load`` and ``ceql.load`` read it back."""
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        plain = {name: v.item() if isinstance(v, np.generic) else v for name, v in parameters.items()}
        plain["operators"] = _as_list(plain["operators"])
        write_system(path, plain, self.finding_, self.trajectory_column_)

    @classmethod
    def load(cls, path: str | Path) -> ODERegressor:
        """A model as it was saved. Nothing in the file is run as code, so it may come from anybody."""
        parameters, finding, column = read_system(path)
        return cls(**parameters)._take(finding, column)


def _listed(names: Any) -> tuple[str, ...]:
    """One name, several, or none."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(map(str, names))


def _as_list(operators: Any) -> Any:
    return operators if operators is None or isinstance(operators, str) else list(operators)
