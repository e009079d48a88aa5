"""The command `ceql fit`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ceql.cli.fit_options import RULES, SECTIONS, fit_options
from ceql.cli.json_output import is_standard_output, write_findings
from ceql.cli.meanwhile import said_meanwhile
from ceql.cli.sections import SectionedCommand
from ceql.cli.table_options import layout_of, listed, tell
from ceql.storage.destinations import check_writable, deliver, write_text
from ceql.storage.files import beside

if TYPE_CHECKING:
    from ceql.data.chosen_columns import Chosen
    from ceql.data.tables import Table
    from ceql.estimator.model import Model
    from ceql.estimator.results import Finding
    from ceql.storage.checkpoint import Checkpoint

__all__ = ["RULES", "fit"]

_BESIDE = ("weights", "sigma", "groups", "censored")  # options that name a column with information about the rows
_OBJECTS = ("template", "constraints", "policy", "prices")


@click.command(cls=SectionedCommand, sections=SECTIONS)
@click.argument("table", type=click.Path(path_type=Path), required=False)
@fit_options
@click.pass_context
def fit(ctx: click.Context, **_: Any) -> None:
    """Fit a formula to the columns of TABLE, a file with a header: .csv, .tsv, .txt, .dat, .parquet, .xlsx or .npz.

    \b
    Examples:
      ceql fit data.csv --target y
      ceql fit data.csv --target y --save model.ceql --report page.html
      ceql fit data.csv --target lift --target drag --features speed,angle
      ceql fit spring.dat --target force --missing drop --exclude remark
      ceql fit data.csv --target y --loss huber --guess 'a*exp(-b*t)'
      ceql fit data.csv --target y --template 'A*exp(-k*t)' --parameter 'k={low=0}'
      ceql fit data.csv --target y --constraint 'without=["sin", "cos"]'
      ceql fit data.csv --target y --constraint 'increasing in t' --constraint 'f -> 0 as t -> inf'
      ceql fit data.csv --target y --select cv --groups sample
      ceql fit data.csv --target period --units length=m,period=s --constants 'g=9.81 m/s^2'
      ceql fit lens.csv --target q --groups lens --per-group auto
      ceql fit data.csv --target y --write-config fit.toml
      ceql fit --config fit.toml --seed 1

    A search that was killed, interrupted or ran out of time can be continued: give the same command with --resume.
    For this, it is saved every few seconds in a file DATA.TARGET.*.ceql-checkpoint in the current folder, which is
    deleted when the search is done. With --resume or --checkpoint the file is kept, and the same command gives the
    result at once.
    """
    options = _all_options(ctx)
    _check_together(options)
    targets, quiet, in_x = options["targets"], options["quiet"], options["sigma_x"]
    pages = _pages(options["report_to"], targets)
    check_writable(options["save_to"], *pages.values(), options["json_out"], options["write_config"])
    with said_meanwhile(f"Reading {options['table']}", quiet):
        from pandas import Series

        from ceql.cli.resuming import checkpoint_for, how_to_go_on, how_to_write_again
        from ceql.data.tables import read_cells
        from ceql.engine.cluster import cluster
        from ceql.estimator.bringing import bring_the_library

        bring_the_library()  # which takes longest
        cells = read_cells(options["table"], layout_of(options))
    chosen = _chosen(cells, options)
    say: Callable[[str], None] = (lambda _: None) if quiet else partial(click.echo, err=True)
    kept_in = None if options["per_group"] else checkpoint_for(options["table"], targets, _course(options), say)
    model = _regressor(options, list(chosen.x.columns), kept_in)
    with cluster(options["address"], options["device"]) if options["address"] else nullcontext():
        given: dict[str, Any] = {name: chosen.beside[options[name]] for name in _BESIDE if options[name]}
        if "groups" in given:
            given["groups"] = Series(given["groups"], name=options["groups"])
        errors = {name: chosen.beside[error] if isinstance(error, str) else error for name, error in in_x.items()}
        model.fit(
            chosen.x,
            chosen.y,
            sample_weight=given.get("weights"),
            groups=given.get("groups"),
            sigma=given.get("sigma"),
            sigma_x=errors or None,
            absolute_sigma=not options["sigma_relative"],
            censored=given.get("censored"),
            detection_limit=options["detection_limit"],
        )
    steps = _outputs(model, options, pages, ctx)
    deliver(steps, partial(how_to_write_again, kept_in, targets))
    for found in model.discoveries_:
        if found.leftover is not None:
            found.leftover.unlink(missing_ok=True)
    outcomes = [found.outcome for found in model.discoveries_]
    if kept_in is not None and (hint := how_to_go_on(kept_in, targets, outcomes)):
        say(hint)


def _all_options(ctx: click.Context) -> dict[str, Any]:
    """All options, from the command line, else the project file, else the defaults; `more_shown` is None unless `more`
    was given.
    """
    from ceql.cli.project_file import (
        RECORD,
        changed_since,
        constraint_lines,
        errors_of_inputs,
        read_project,
        toml_lines,
        units_of_columns,
    )

    params = dict(ctx.params)
    here = {name for name in params if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    for name in ("features", "exclude", "names"):
        params[name] = listed(params[name])
    params |= {name: list(params[name]) for name in ("targets", "guesses", "missing_marks")}
    params["sigma_x"] = errors_of_inputs(params["sigma_x"])
    params["units"] = units_of_columns(params["units"])
    constraints = constraint_lines(params.pop("constraints"))
    parameters = toml_lines(params.pop("parameters"), "--parameter")
    project = {} if params["config"] is None else read_project(params["config"], ctx)
    options = dict.fromkeys(_OBJECTS) | params | project | {name: params[name] for name in here & {*params}}
    options["constraints"] = {**project.get("constraints", {}), **constraints} or None
    formula = params["template"] if "template" in here else None
    template = project.get("template") if formula is None else {"formula": formula}
    if parameters and template is None:
        raise click.UsageError("--parameter describes a parameter of a template: give --template as well.")
    if parameters and template is not None:
        template = {**template, "parameters": {**template.get("parameters", {}), **parameters}}
    options["template"] = template
    options["more_shown"] = options["more"] if "more" in here or "more" in project else None
    if not options["table"]:
        raise click.UsageError("Missing argument 'TABLE': name the file, or set `table` in the project file.")
    if not options["targets"]:
        raise click.UsageError("Missing option '--target': name the column to explain.")
    record = options.pop(RECORD, None) or {}
    for sentence in changed_since(record, options["table"]) if options["table"].is_file() else ():
        click.echo(f"Note: {params['config']}: {sentence}", err=True)
    return options


def _check_together(options: dict[str, Any]) -> None:
    if options["jobs"] and options["address"]:
        raise click.UsageError("Give either --jobs (processes on this machine) or --cluster, not both.")
    files = (options["save_to"], options["report_to"], options["write_config"])
    if any(path is not None and is_standard_output(path) for path in files):
        raise click.UsageError(
            "Models, reports and project files cannot be written to '-', only --json can: name a file."
        )
    if options["per_group"] and not options["groups"]:
        raise click.UsageError("--per-group needs --groups: name the column that holds the labels of the groups.")
    if options["per_group"] and (options["named"] or options["resume"]):
        raise click.UsageError("A fit with --per-group cannot use checkpoints: leave out --checkpoint and --resume.")
    if options["no_checkpoint"] and (options["named"] or options["resume"]):
        raise click.UsageError("--no-checkpoint cannot be combined with --checkpoint or --resume.")


def _pages(report_to: Path | None, targets: Sequence[str]) -> dict[str, Path]:
    if report_to is None:
        return {}
    return {name: report_to if len(targets) == 1 else beside(report_to, name) for name in targets}


def _chosen(cells: Table, options: dict[str, Any]) -> Chosen:
    from ceql.data.chosen_columns import Wanted, chosen_columns

    numbers = [options[name] for name in ("weights", "sigma") if options[name]]
    numbers += [error for error in options["sigma_x"].values() if isinstance(error, str)]
    labels = [options[name] for name in ("groups",) if options[name]]
    marks = [options["censored"]] if options["censored"] else []
    drop = options["missing"] == "drop"
    taken_by = {options[name]: f"--{name}" for name in _BESIDE if options[name]}
    taken_by |= {error: "--sigma-x" for error in options["sigma_x"].values() if isinstance(error, str)}
    taken_by |= dict.fromkeys(options["exclude"], "--exclude")
    wanted = Wanted(options["targets"], options["features"], options["exclude"], numbers, labels, drop, marks, taken_by)
    chosen = chosen_columns(cells, wanted)
    tell(chosen.notes)
    if not options["units"]:
        tell(_units_in_headers([*chosen.x.columns, *options["targets"]]))
    return chosen


def _units_in_headers(names: Sequence[str]) -> tuple[str, ...]:
    """A note if all headers name units but --units is not given, so that it is clear they are not used."""
    from ceql.data.headers import unit_in_header

    named = [name for name in names if unit_in_header(name) is not None]
    if len(named) < len(names):
        return ()
    return (f"The headers name units ({', '.join(named)}), which are not used: give --units headers to use them.",)


def _course(options: dict[str, Any]) -> dict[str, Any]:
    """The options that identify a search for its checkpoint."""
    places = {"table", "targets", "save_to", "report_to", "json_out", "quiet", "config", "write_config", "more_shown"}
    return {name: value for name, value in options.items() if name not in places}


def _regressor(options: dict[str, Any], columns: list[str], kept_in: Checkpoint | None) -> Model:
    from ceql.estimator.model import PlainModel
    from ceql.estimator.plain_settings import whole_template, with_objects
    from ceql.network.libraries import LIBRARIES

    operators, template = options["operators"], options["template"]
    if isinstance(operators, str):
        operators = operators if operators in LIBRARIES else listed(operators) or None
    objects = {name: options[name] for name in _OBJECTS}
    objects["template"] = None if template is None else whole_template(template, columns)
    return PlainModel(
        recipe=options["recipe"],
        operators=operators,
        time_limit=options["time_limit"],
        max_complexity=options["max_complexity"],
        model_selection=options["choice"],
        cv=options["cv"],
        per_group=_per_group(options["per_group"]),
        catalogue=options["catalogue"],
        more=options["more"],
        random_state=options["seed"],
        n_jobs=options["jobs"],
        threads=options["threads"],
        device=options["device"],
        loss=options["loss"],
        guesses=options["guesses"] or None,
        units=options["units"] or None,
        constants=options["constants"],
        checkpoint=kept_in,
        verbose=False if options["quiet"] else None,
        **with_objects(objects),
    )


def _per_group(text: str | None) -> Any:
    """The value of --per-group: a number, 'auto', or a list of names."""
    if text is None or text.strip() == "auto":
        return None if text is None else "auto"
    return int(text) if text.strip().isdigit() else listed(text)


def _outputs(
    model: Model, options: dict[str, Any], pages: dict[str, Path], ctx: click.Context
) -> Iterator[Callable[[], None]]:
    """The steps that write the results. Printing comes first, so that a full disk does not lose the formula."""
    from ceql.cli.project_file import as_project

    findings = [model._finding(target=name) for name in model.target_names_]
    json_out, save_to, project = options["json_out"], options["save_to"], options["write_config"]
    if json_out is None or not is_standard_output(json_out):
        yield partial(_show, findings, options["quiet"], options["more_shown"], options["struck"])
    if json_out is not None:
        yield partial(write_findings, json_out, findings)
    if save_to is not None:
        yield partial(model.save, save_to)
    for name, path in pages.items():
        yield partial(model.report, path, target=name, table=options["table"].name)
    if project is not None:
        yield lambda: write_text(project, as_project(options, ctx, project))


def _show(findings: Sequence[Finding], quiet: bool, more: int | None, struck: bool) -> None:
    from ceql.cli.front_table import terminal_width
    from ceql.cli.summary import in_words

    if quiet:
        click.echo("\n".join(str(f.formula) for f in findings))
    else:
        click.echo("\n\n".join(in_words(found, more, struck, terminal_width()) for found in findings))
