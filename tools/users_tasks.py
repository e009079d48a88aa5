"""Ten things that users want to do, as data: the steps on the page, in a terminal and in Python, and the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Drop:
    """A file is dropped on the page, or chosen: one click. `seen` shows its name once it is loaded."""

    file: str
    box: str = "#file"
    seen: str = "#columns h2"


@dataclass(frozen=True)
class Press:
    """A click on the element that the selector finds; `words` describe it."""

    selector: str
    words: str


@dataclass(frozen=True)
class Pick:
    """An entry of a list: two clicks, one to open the list and one to pick the entry."""

    selector: str
    entry: str
    words: str


@dataclass(frozen=True)
class Type:
    """A box is clicked and its content replaced."""

    selector: str
    text: str
    words: str


@dataclass(frozen=True)
class See:
    """No click: the user waits until this text appears."""

    selector: str
    text: str


Step = Drop | Press | Pick | Type | See


def clicks(step: Step) -> int:
    """How many clicks a step takes."""
    return 2 if isinstance(step, Pick) else 0 if isinstance(step, See) else 1


@dataclass(frozen=True)
class Task:
    """`shows` is part of what the terminal prints, `prints` of what Python prints. Commands are typed one after the
    other; with `interrupt` Ctrl-C ends the first one after that number of seconds."""

    title: str
    about: str
    page: tuple[Step, ...]
    terminal: tuple[str, ...]
    shows: str
    python: str
    prints: str
    interrupt: float | None = None


_START = Press("#start", "Find a formula")
_ENDED = See("#result:not([hidden]) .details h3", "the chosen one")
_OPERATORS = "details:has(> .operators) > summary"


def _operator(name: str) -> str:
    """The checkbox of an operator on the page, found by its label."""
    return f"xpath://div[@class='operators']/label[normalize-space()='{name}']/input"


def _lens(rng: np.random.Generator) -> pd.DataFrame:
    table = pd.DataFrame({"distance": rng.uniform(4, 8, 60), "focal": rng.uniform(2, 3.5, 60)}).round(2)
    return table.assign(image=table["distance"] * table["focal"] / (table["distance"] - table["focal"]))


def _leak(rng: np.random.Generator) -> pd.DataFrame:
    table = _lens(rng)
    table.insert(2, "power", 1 / table["image"])
    return table


def _pendulum(rng: np.random.Generator) -> pd.DataFrame:
    length = rng.uniform(0.1, 2.0, 60)
    period = 2 * np.pi * np.sqrt(length / 9.81) + 0.01 * rng.normal(size=60)
    table = pd.DataFrame({"period": period, "length": length}).round(3)
    table.loc[[3, 17], "length"] = np.nan
    return table


def _enzyme(rng: np.random.Generator) -> pd.DataFrame:
    substrate = np.geomspace(0.05, 20, 40).round(3)
    rate = 2.4 * substrate / (1.3 + substrate) + 0.015 * rng.standard_normal(40)
    return pd.DataFrame({"substrate": substrate, "rate": rate.round(4)})


def _planets(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "distance": [0.3871, 0.7233, 1.0, 1.5237, 5.2029, 9.5367, 19.189, 30.070],
            "mass": [0.330, 4.87, 5.97, 0.642, 1898, 568, 86.8, 102],
            "period": [87.97, 224.70, 365.26, 686.98, 4332.6, 10759.2, 30685.4, 60189.0],
        }
    )


def _lenses(rng: np.random.Generator) -> pd.DataFrame:
    distance = rng.uniform(4, 9, 60).round(2)
    lens = np.repeat(["short", "middle", "long"], 20)
    focal = pd.Series(lens).map({"short": 2.1, "middle": 2.6, "long": 3.3}).to_numpy()
    return pd.DataFrame({"lens": lens, "distance": distance, "image": distance * focal / (distance - focal)})


def _unruly(rng: np.random.Generator) -> pd.DataFrame:
    table = pd.DataFrame(rng.uniform(1, 2, (100, 2)).round(4), columns=["a", "b"])
    noise = 0.3 * rng.standard_normal(100)
    return table.assign(y=(np.sin(5 * table["a"] * table["b"]) * np.exp(table["b"]) + noise).round(4))


def _new(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame({"substrate": [0.2, 1.0, 5.0]})


TABLES: dict[str, Callable[[np.random.Generator], pd.DataFrame]] = {
    "lens.csv": _lens,
    "leak.csv": _leak,
    "pendulum.csv": _pendulum,
    "enzyme.csv": _enzyme,
    "planets.csv": _planets,
    "lenses.csv": _lenses,
    "unruly.csv": _unruly,
    "new.csv": _new,
}

LAW = "distance*focal/(distance - focal)"


def _program(lines: str) -> str:
    """These lines, after the imports that every program begins with."""
    return "import pandas as pd\n\nfrom ceql import CEQLRegressor\n\n" + dedent(lines).strip()


TASKS = (
    Task(
        "Find the law in a table",
        "`lens.csv` has the columns `distance`, `focal` and `image`.",
        (Drop("lens.csv"), _START, _ENDED, See("tr.chosen code", LAW)),
        ("ceql fit lens.csv --target image",),
        f"image = {LAW}",
        _program("""
            table = pd.read_csv("lens.csv")
            model = CEQLRegressor()
            model.fit(table[["distance", "focal"]], table["image"])
            print(model.sympy())
        """),
        LAW,
    ),
    Task(
        "Leave a column out",
        "`leak.csv` also has `power`, the reciprocal of `image`: with it the formula is just 1/power, which is no use.",
        (
            Drop("leak.csv"),
            Press("input[aria-label='use power']", "the checkbox of power"),
            _START,
            _ENDED,
            See("tr.chosen code", LAW),
        ),
        ("ceql fit leak.csv --target image --exclude power",),
        f"image = {LAW}",
        _program("""
            table = pd.read_csv("leak.csv").drop(columns="power")
            model = CEQLRegressor().fit(table.drop(columns="image"), table["image"])
            print(model.sympy())
        """),
        LAW,
    ),
    Task(
        "Another target, and rows with gaps",
        "`pendulum.csv` has the target, `period`, in its first column, and two rows without a `length`.",
        (
            Drop("pendulum.csv"),
            Press("input[type=radio][value=period]", "target: period"),
            _START,
            _ENDED,
            See("tr.chosen code", "*sqrt(length)"),
        ),
        ("ceql fit pendulum.csv --target period --missing drop",),
        "*sqrt(length)",
        _program("""
            table = pd.read_csv("pendulum.csv").dropna()
            model = CEQLRegressor().fit(table[["length"]], table["period"])
            print(model.sympy())
        """),
        "*sqrt(length)",
    ),
    Task(
        "Allow only some operators",
        "The rate of an enzyme reaction, with noise; only products and quotients, no exponentials or sines.",
        (
            Drop("enzyme.csv"),
            Press(_OPERATORS, "Operators"),
            Press(_operator("mul"), "mul"),
            Press(_operator("div"), "div"),
            _START,
            _ENDED,
            See("tr.chosen code", "substrate/(substrate + 1."),
        ),
        ("ceql fit enzyme.csv --target rate --operators mul,div",),
        "substrate/(substrate + 1.",
        _program("""
            table = pd.read_csv("enzyme.csv")
            model = CEQLRegressor(operators=["mul", "div"])
            model.fit(table[["substrate"]], table["rate"])
            print(model.sympy())
        """),
        "substrate/(substrate + 1.",
    ),
    Task(
        "Compare two formulas",
        "For the same table, the chosen formula next to a simpler one, with the figures and constants of both.",
        (
            Drop("enzyme.csv"),
            _START,
            _ENDED,
            Press("tr[data-row='3'] input", "the checkbox of row 3"),
            See(".panes", "Row 3"),
        ),
        (
            "ceql fit enzyme.csv --target rate --save enzyme.ceql",
            "ceql show enzyme.ceql",
            "ceql show enzyme.ceql --row 3",
        ),
        "logarithm: a + b*log(substrate)",
        _program("""
            table = pd.read_csv("enzyme.csv")
            model = CEQLRegressor().fit(table[["substrate"]], table["rate"])
            rows = model.equations_
            print(rows.loc[rows["chosen"] | (rows.index == 3), ["equation", "r2", "weight"]].to_string())
        """),
        "log(substrate)",
    ),
    Task(
        "A law with units",
        "Distances, masses and periods of the planets; dimensionally impossible formulas are not wanted.",
        (
            Drop("planets.csv"),
            Type("input[aria-label='unit of distance']", "au", "unit of distance: au"),
            Type("input[aria-label='unit of mass']", "Yg", "unit of mass: Yg"),
            Type("input[aria-label='unit of period']", "day", "unit of period: day"),
            Type("#unit-constants", "GM=1.32712440018e20 m^3/s^2", "Constants with units"),
            _START,
            _ENDED,
            See("tr.chosen code", "distance**(3/2)"),
        ),
        (
            "ceql fit planets.csv --target period --units distance=au,mass=Yg,period=day "
            "--constants 'GM=1.32712440018e20 m^3/s^2'",
        ),
        "distance**(3/2)",
        _program("""
            table = pd.read_csv("planets.csv")
            units = {"distance": "au", "mass": "Yg", "period": "day"}
            model = CEQLRegressor(units=units, constants={"GM": "1.32712440018e20 m^3/s^2"})
            model.fit(table[["distance", "mass"]], table["period"])
            print(model.discovery_.best)
        """),
        "distance**(3/2)",
    ),
    Task(
        "Constants of each group",
        "Three lenses in one table, each with its own focal length, which is not in the table.",
        (
            Drop("lenses.csv"),
            Pick("#groups", "lens", "groups: lens"),
            _START,
            _ENDED,
            See("tr.chosen code", "[lens]"),
        ),
        ("ceql fit lenses.csv --target image --groups lens --per-group auto",),
        "[lens]",
        _program("""
            table = pd.read_csv("lenses.csv")
            model = CEQLRegressor(per_group="auto")
            model.fit(table[["distance", "lens"]], table["image"], groups="lens")
            print(model.sympy(form="named"))
            print(model.group_constants_)
        """),
        "[lens]",
    ),
    Task(
        "Take the formula away as C",
        "A C function of doubles, to compile elsewhere.",
        (
            Drop("lens.csv"),
            _START,
            _ENDED,
            Pick("select[aria-label='Language']", "c", "code: c"),
            Press("xpath://button[normalize-space()='Show code']", "Show code"),
            See(".details", "double image(double distance, double focal)"),
        ),
        ("ceql fit lens.csv --target image --save lens.ceql --quiet", "ceql export lens.ceql --to c"),
        "double image(double distance, double focal)",
        _program("""
            table = pd.read_csv("lens.csv")
            model = CEQLRegressor()
            model.fit(table[["distance", "focal"]], table["image"])
            print(model.export(to="c"))
        """),
        "double image(double distance, double focal)",
    ),
    Task(
        "Stop, and go on later",
        "The data are so noisy that the search takes a while. It gets ten seconds, and is stopped before they are up.",
        (
            Drop("unruly.csv"),
            Type("xpath://label[starts-with(normalize-space(), 'Time limit')]/input", "10", "Time limit: 10"),
            _START,
            See("#search .glimpses li", "loss"),
            Press("#stop", "Stop"),
            See("#status", "interrupted"),
            _ENDED,
            Press("#resume", "Go on"),
            See("#status", "Searching"),
            See("#status", " starts)"),
        ),
        (
            "ceql fit unruly.csv --target y --time-limit 10",
            "ceql fit unruly.csv --target y --time-limit 10 --resume",
        ),
        "R2 ",
        _program("""
            table = pd.read_csv("unruly.csv")
            model = CEQLRegressor(time_limit=6, checkpoint="run.ckpt").fit(table[["a", "b"]], table["y"])
            model.set_params(time_limit=10).fit(table[["a", "b"]], table["y"])
            print(model.sympy(), model.discovery_.starts)
        """),
        "a",
        interrupt=7.0,
    ),
    Task(
        "Predict new rows, with bounds",
        "`new.csv` has a column `substrate`; predict the rates, with bounds for a new measurement.",
        (
            Drop("enzyme.csv"),
            _START,
            _ENDED,
            Press("#predictions > summary", "Predict new rows"),
            Drop("new.csv", "#new-rows", "#predictions h4"),
            See("table.predicted th:last-child", "rate upper"),
        ),
        (
            "ceql fit enzyme.csv --target rate --save enzyme.ceql --quiet",
            "ceql predict enzyme.ceql new.csv --interval 0.95",
        ),
        "rate lower",
        _program("""
            table = pd.read_csv("enzyme.csv")
            model = CEQLRegressor().fit(table[["substrate"]], table["rate"])
            new = pd.read_csv("new.csv")
            print(model.predict(new), *model.predict_interval(new))
        """),
        "[",
    ),
)
