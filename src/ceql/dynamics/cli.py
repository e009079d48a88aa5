"""The commands `ceql ode` and `ceql simulate`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ceql.cli.did_you_mean import SuggestingChoice
from ceql.cli.json_output import as_text, is_standard_output, write_json
from ceql.cli.meanwhile import said_meanwhile
from ceql.cli.sections import SectionedCommand
from ceql.cli.table_options import TABLE_OPTIONS, layout_of, listed, table_options, tell
from ceql.storage.destinations import check_writable, deliver, write_text

if TYPE_CHECKING:
    import numpy as np

    from ceql.dynamics.estimator import ODERegressor
    from ceql.dynamics.system import System

_FILE = click.Path(path_type=Path)
_STANDARD_OUTPUT = Path("-")
SECTIONS = {
    "Columns": ("time", "states", "inputs", "trajectory", "order"),
    "What equations may be": ("operators", "depends_on_time", "per_trajectory"),
    "The search": ("time_limit", "seed", "threads"),
    "How the file is laid out": TABLE_OPTIONS,
    "Results": ("save_to", "report_to", "out", "json_out", "quiet"),
}


@click.command(cls=SectionedCommand, sections=SECTIONS)
@click.argument("table", type=_FILE)
@click.option("--time", default="t", show_default=True, metavar="COLUMN", help="The column of the times.")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="COLUMNS",
    help="The columns of the states, separated by commas. [default: all other columns]",
)
@click.option(
    "--input", "inputs", multiple=True, metavar="COLUMNS", help="The columns of external inputs, separated by commas."
)
@click.option("--trajectory", metavar="COLUMN", help="The column of labels that tell several trajectories apart.")
@click.option(
    "--order",
    type=SuggestingChoice(["1", "2"]),
    default="1",
    show_default=True,
    help="2: only positions were measured, and the equations are those of accelerations.",
)
@click.option(
    "--operators", default="", help="The operators to use, separated by commas (see `ceql operators`), or 'paper'."
)
@click.option("--depends-on-time", is_flag=True, help="The equations may depend on the time itself.")
@click.option(
    "--per-trajectory",
    type=SuggestingChoice(["auto"]),
    help="auto: find out which constants differ between trajectories.",
)
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--threads", type=click.IntRange(1), help="Threads of the search. [default: all cores]")
@table_options
@click.option("--save", "save_to", type=_FILE, help="Save the system here, for show, simulate and export.")
@click.option("--report", "report_to", type=_FILE, help="Write an HTML page about the system here.")
@click.option("--out", type=_FILE, help="A folder for pictures and tables; made if new.")
@click.option("--json", "json_out", type=_FILE, help="Write the result here ('-' = stdout).")
@click.option("--quiet", is_flag=True, help="Print only the equations.")
def ode(table: Path, save_to: Path | None, report_to: Path | None, out: Path | None, **options: Any) -> None:
    """Find the differential equations behind the time series in TABLE, a file with a header and a row for each sample.

    Times may be unevenly spaced, cells of states may be empty where nothing was measured, and one table may hold
    several trajectories. The systems that are found are simulated and compared by their trajectories.

    \b
    Examples:
      ceql ode hare.csv --time year --state hare,lynx
      ceql ode pendulum.csv --state angle --order 2 --report pendulum.html
      ceql ode reactor.csv --state substrate,biomass --input feed --trajectory run --save reactor.ceql
      ceql ode table.csv --out pictures
      ceql simulate reactor.ceql --initial substrate=5,biomass=0.1 --input feed=0.2 --until 48
    """
    if any(path is not None and is_standard_output(path) for path in (save_to, report_to)):
        raise click.UsageError("Systems and reports cannot be written to '-', only --json can: name a file.")
    check_writable(save_to, report_to, options["json_out"])
    folder = _prepared(out)
    model = _fitted(table, options)
    deliver(_outputs(model, table, options, save_to, report_to, folder))


def _fitted(table: Path, options: dict[str, Any]) -> ODERegressor:
    with said_meanwhile(f"Reading {table}", options["quiet"]):
        from ceql.data.tables import read_cells
        from ceql.dynamics.estimator import ODERegressor
        from ceql.dynamics.reading import Roles, cells_of_file
        from ceql.network.libraries import LIBRARIES

        cells = read_cells(table, layout_of(options))
    operators: Any = options["operators"]
    operators = operators if operators in LIBRARIES else listed(operators) or None
    states, inputs = (tuple(name for text in options[key] for name in listed(text)) for key in ("states", "inputs"))
    roles = Roles(options["time"], states, inputs, options["trajectory"], int(options["order"]))
    model = ODERegressor(
        order=int(options["order"]),
        operators=operators,
        time_limit=options["time_limit"],
        depends_on_time=options["depends_on_time"],
        per_trajectory=options["per_trajectory"],
        random_state=options["seed"],
        threads=options["threads"],
        verbose=False if options["quiet"] else None,
    )
    model._fit_cells(cells_of_file(cells), roles)
    tell(model.reading_notes_)
    return model


def _prepared(out: Path | None) -> Path | None:
    """The folder, made before the search, so that no result is lost to a bad path or a missing package."""
    if out is None:
        return None
    from ceql.output.plots.canvas import new_figure

    new_figure(1, 1)
    out.mkdir(parents=True, exist_ok=True)
    return out


def _outputs(
    model: ODERegressor,
    table: Path,
    options: dict[str, Any],
    save_to: Path | None,
    report_to: Path | None,
    folder: Path | None,
) -> Iterator[Callable[[], None]]:
    """What is printed comes first: the disk may turn out to be full, and the equations must not be lost with it."""
    from ceql.dynamics.summary import as_json, equations_in_words, in_words

    finding, json_out = model.finding_, options["json_out"]
    along, found = model._along, model._behaviour()
    if json_out is None or not is_standard_output(json_out):
        words = in_words(finding, along, found)
        yield partial(click.echo, "\n".join(equations_in_words(finding.best)) if options["quiet"] else words)
    if json_out is not None:
        yield lambda: write_json(json_out, as_json(finding, along, found))
    if save_to is not None:
        yield partial(model.save, save_to)
    if report_to is not None:
        yield partial(model.report, report_to, table=table.name)
    if folder is not None:
        say = not options["quiet"] and not (json_out is not None and is_standard_output(json_out))
        yield from _files(model, folder, say)


def _files(model: ODERegressor, folder: Path, say: bool) -> Iterator[Callable[[], None]]:
    from ceql.dynamics.frames import courses_table, fixed_points_table
    from ceql.dynamics.pictures import all_figures
    from ceql.dynamics.summary import as_json, in_words
    from ceql.output.plots.canvas import save_figure
    from ceql.storage.csv_output import as_csv

    finding, along, found = model.finding_, model._along, model._behaviour()
    texts = {
        "report.txt": in_words(finding, along, found) + "\n",
        "result.json": as_text(as_json(finding, along, found)),
        "systems.csv": as_csv(model.equations_),
        "constants.csv": as_csv(model.constants_),
        "simulated.csv": as_csv(courses_table(finding, along)),
        "fixed_points.csv": as_csv(fixed_points_table(found)),
        "slopes.py": model.export("python", trajectory=finding.series.labels[0]),
    }
    for name, text in texts.items():
        yield partial(_made, folder / name, partial(write_text, text=text), say)
    for name, figure in all_figures(finding, along, found):
        yield partial(_made, folder / f"{name}.png", partial(save_figure, figure, dpi=130), say)


def _made(path: Path, write: Callable[..., None], say: bool) -> None:
    write(path=path)
    if say:
        click.echo(f"{path}")


# ---- from a new initial state -------------------------------------------------------------------------------------


@click.command()
@click.argument("model", type=_FILE)
@click.option(
    "--initial",
    multiple=True,
    metavar="STATE=NUMBER",
    help="The initial state, separated by commas. [default: as fitted to --trajectory]",
)
@click.option("--until", type=float, required=True, help="The time at which the simulation ends.")
@click.option("--from", "begin", type=float, help="The time of the initial state. [default: 0, or as measured]")
@click.option("--steps", type=click.IntRange(1), default=200, show_default=True, help="The number of time steps.")
@click.option("--input", "inputs", multiple=True, metavar="NAME=NUMBER", help="Constant inputs, separated by commas.")
@click.option("--inputs", "inputs_from", type=_FILE, metavar="TABLE", help="The table of inputs that change over time.")
@click.option(
    "--trajectory", help="The trajectory whose constants to use, if trajectories have constants of their own."
)
@click.option("--out", type=_FILE, default=_STANDARD_OUTPUT, help="Write CSV to this file. [default: stdout]")
@click.option("--json", "json_out", type=_FILE, help="Write JSON here in place of CSV ('-' = stdout).")
def simulate(
    model: Path,
    initial: tuple[str, ...],
    until: float,
    begin: float | None,
    steps: int,
    inputs: tuple[str, ...],
    inputs_from: Path | None,
    trajectory: str | None,
    out: Path,
    json_out: Path | None,
) -> None:
    """Simulate the system in MODEL from a new initial state and write its states over the time.

    \b
    Examples:
      ceql simulate hare.ceql --initial hare=30,lynx=4 --until 20
      ceql simulate pendulum.ceql --initial angle=1,angle_speed=0 --until 10 --steps 500 --out angle.csv
      ceql simulate reactor.ceql --initial substrate=5,biomass=0.1 --inputs feed.csv --until 48 --json -
    """
    import numpy as np

    from ceql.dynamics.estimator import ODERegressor

    check_writable(out, json_out)
    fitted = ODERegressor.load(model)
    state, first = _initial(fitted, initial, trajectory)
    begin = first if begin is None else begin
    if not until > begin:
        raise click.UsageError(
            f"--until must be later than the start time, {begin:g}: give a later --until, or another start with --from."
        )
    time = np.linspace(begin, until, steps + 1)
    made = fitted.simulate(state, time, _inputs(fitted.system_, inputs, inputs_from), trajectory)
    if json_out is not None:
        columns = {str(name): [None if v != v else float(v) for v in made[name]] for name in made}
        write_json(json_out, columns)
    else:
        from ceql.storage.csv_output import as_csv

        write_text(out, as_csv(made, missing="nan"))
    lost = made.isna().any(axis=1).to_numpy()
    if lost.any():
        last = made.iloc[max(int(np.argmax(lost)) - 1, 0), 0]
        click.echo(
            f"Warning: the trajectory ends at {fitted.system_.time} = {last:.4g}: it blows up there or leaves the "
            "domain of an equation.",
            err=True,
        )


def _initial(model: ODERegressor, initial: tuple[str, ...], trajectory: str | None) -> tuple[Any, float]:
    """The initial state and its time: what is given, or what was fitted to a trajectory."""
    series, best = model.finding_.series, model.finding_.best
    if initial:
        return _pairs(initial, "--initial", "x=1,y=2"), 0.0
    if trajectory is None and len(series.trajectories) > 1:
        raise click.UsageError(
            "Give --initial, or name the trajectory whose initial state to use with --trajectory: "
            f"{', '.join(series.labels)}."
        )
    model._system_of(trajectory)  # which knows the labels
    place = 0 if trajectory is None else list(series.labels).index(trajectory)
    state: np.ndarray = best.initial[place]
    return dict(zip(best.system.states, map(float, state), strict=True)), float(series.trajectories[place].time[0])


def _inputs(system: System, given: tuple[str, ...], table: Path | None) -> dict[str, Any] | None:
    """Numbers, and courses by straight lines between the rows of a table."""
    found: dict[str, Any] = dict(_pairs(given, "--input", "u=0.5"))
    if table is None:
        return found or None
    import numpy as np

    from ceql.data.tables import read_cells

    wanted = [name for name in system.inputs if name not in found]
    numbers = read_cells(table).numbers([system.time, *wanted]).sort_values(system.time)
    times = numbers[system.time].to_numpy()
    for name in wanted:
        found[name] = partial(np.interp, xp=times, fp=numbers[name].to_numpy())
    return found


def _pairs(texts: tuple[str, ...], option: str, example: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in (part for text in texts for part in listed(text)):
        name, mark, value = (piece.strip() for piece in part.partition("="))
        try:
            if not mark or not name:
                raise ValueError
            found[name] = float(value)
        except ValueError:
            raise click.UsageError(f"{option} takes names with numbers, such as {example}, not {part!r}.") from None
    return found
