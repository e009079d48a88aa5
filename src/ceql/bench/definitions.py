"""Problems, suites and samples as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Interval = tuple[float, float]
Intervals = tuple[Interval, ...]


@dataclass(frozen=True)
class Spread:
    """A variable that is not drawn uniformly from its intervals.

    "log": uniformly in the logarithm of the size, "integer": whole numbers, both ends included, "grid": from end to
    end in steps of `step`, the same points for every seed.
    """

    kind: str
    intervals: Intervals
    step: float = 0.0


Range = Intervals | Spread


@dataclass(frozen=True)
class System:
    """Differential equations whose solutions are the points of a problem.

    They have a rate for each variable and values that the solutions start from; `points` points are taken from each
    solution, `step` apart in time.
    """

    variables: tuple[str, ...]
    rates: tuple[str, ...]
    starts: tuple[tuple[float, ...], ...]
    step: float
    points: int


@dataclass(frozen=True)
class Motion:
    """Differential equations to be found from samples of their trajectories.

    `rates` are formulas in the states and in the `constants`, which have these values. Every trajectory has `samples`
    samples from time 0 to `span`. Those from the `starts` are for training, those from the `tests` for testing. A share
    `subsample` of the samples of each training trajectory is left out, chosen by the seed.
    """

    rates: tuple[str, ...]
    constants: tuple[tuple[str, float], ...]
    starts: tuple[tuple[float, ...], ...]
    tests: tuple[tuple[float, ...], ...] = ()
    span: float = 10.0
    samples: int = 150
    subsample: float = 0.0


PAPER_TRAIN: Intervals = ((-2.0, 2.0),)
PAPER_EXTRAP: Intervals = ((-4.0, -2.0), (2.0, 4.0))


def families(text: str) -> tuple[str, ...]:
    """The families of a problem, separated by semicolons, as in "3 terms; 2 constants"."""
    return tuple(text.split("; "))


@dataclass(frozen=True)
class Problem:
    """A formula to be found, and how to draw data from it.

    The fields are those of a suite file, which `suitefile` describes. In addition: interpolation points come from
    `train` if `test` is empty. A point whose target is undefined or outside the limits is replaced by another. With a
    `system`, `n_train` points of its solutions, chosen by the seed, are for training and `n_interp` of the others for
    testing. With a `start`, the formula is a law in the columns of a measured table, which is the `data`, and in
    constants near these values. With a `motion`, the variables are the states of differential equations, and `noise` is
    added to every sample of a state, as a fraction of its value. Otherwise `noise` is the standard deviation of the
    noise on drawn training targets: a fraction of their standard deviation, a fraction of their root mean square if
    `noise_unit` is "rms", or a number in the target's unit if it is "absolute". With `relative`, errors are measured
    and formulas compared in units of the data, whatever their size. `singular` names the arguments (denominators,
    arguments of logs and roots) that change sign inside the training range.
    """

    name: str
    family: str
    expression: str
    variables: tuple[str, ...]
    train: tuple[Range, ...]
    extrap: tuple[Range, ...]
    test: tuple[Range, ...] = ()
    n_train: int = 128
    n_interp: int = 8192
    n_extrap: int = 8192
    limit: float = 100.0
    least: float = 0.0
    noise: float = 0.0
    noise_unit: str = "std"
    relative: bool = False
    nuisance: int = 0
    singular: tuple[str, ...] = ()
    system: System | None = None
    data: tuple[tuple[float, ...], ...] = ()
    constants: int | None = None
    start: tuple[tuple[str, float], ...] = ()
    motion: Motion | None = None
    units: tuple[tuple[str, str], ...] = ()
    unit_constants: tuple[tuple[str, str], ...] = ()
    # Variants of a problem (noise levels, nuisance counts) share the stem and therefore the drawn points.
    stem: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns: the variables, then the nuisance columns."""
        return self.variables + tuple(f"n{i + 1}" for i in range(self.nuisance))

    @property
    def sampling_key(self) -> str:
        return self.stem or self.name


@dataclass(frozen=True)
class Variant:
    """A method under another name, with some of its settings changed; `published` is a rate that others report."""

    method: str
    label: str = ""
    published: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """Problems with the methods, seeds and time limit that they are usually run with.

    `settings` maps the name of a method to settings that differ from its defaults in this suite, and `variants` maps a
    new name to a method with settings. With `memory`, every run has a process of its own and its memory is measured.
    With `folder`, the problems are the tables of a folder that the user names. With `parts`, every method is the whole
    search with a part left out, and the table has rates and seconds by method and family.
    """

    name: str
    title: str
    problems: tuple[Problem, ...]
    methods: tuple[str, ...] = ("ceql",)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    time_limit: float = 60.0
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    memory: bool = False
    folder: bool = False
    parts: bool = False

    @property
    def is_of_motion(self) -> bool:
        """Whether all problems are differential equations to be found from trajectories."""
        return bool(self.problems) and all(problem.motion is not None for problem in self.problems)


@dataclass(frozen=True, eq=False)
class Samples:
    """The data of one run. Test targets are free of noise."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_interp: np.ndarray
    y_interp: np.ndarray
    X_extrap: np.ndarray
    y_extrap: np.ndarray
    names: tuple[str, ...]
