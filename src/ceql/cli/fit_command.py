"""The command `ceql fit`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ceql.cli.did_you_mean import SuggestingChoice
from ceql.cli.json_output import is_standard_output, write_findings
from ceql.cli.table_options import layout_of, listed, missing_option, table_options, tell
from ceql.storage.destinations import check_writable, deliver
from ceql.storage.files import beside

if TYPE_CHECKING:
    from ceql.estimator.regressor import CEQLRegressor
    from ceql.estimator.results import Finding
    from ceql.storage.checkpoint import Checkpoint

# As in ceql.choice.selection, which takes too long to import for `ceql --help`. A test holds the two together.
RULES = ("best", "accuracy", "score", "cv")


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--target", "targets", required=True, multiple=True, help="The column to explain; may be repeated.")
@click.option("--features", default="", help="Columns to use, separated by commas. [default: all others]")
@click.option("--exclude", default="", help="Columns to leave out, separated by commas.")
@click.option("--operators", default="", help="Operators, separated by commas (see `ceql operators`), or 'paper'.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
@click.option("--max-complexity", type=click.IntRange(1))
@click.option("--choice", type=SuggestingChoice(RULES), default="best", show_default=True, help="Which row is chosen.")
@click.option("--cv", type=click.IntRange(2), help="Folds of the cross-validation. [default: 5]")
@click.option("--groups", help="A column with labels: rows with the same one are held out together.")
@click.option("--catalogue/--no-catalogue", default=True, help="Whether named laws compete with what is found.")
@click.option(
    "--more",
    type=click.IntRange(0),
    default=16,
    show_default=True,
    help="Formulas beside the front. Without it those with a chance are printed, at most 5.",
)
@click.option("--struck", is_flag=True, help="Print the formulas that may not be chosen, and why.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="Processes to use. [default: this one, with all cores]")
@click.option("--device", type=SuggestingChoice(["auto", "cpu", "gpu"]), default="cpu", show_default=True)
@click.option("--cluster", "address", help="Run on a cluster: dask://host:port or ray://host:port.")
@click.option("--checkpoint", "named", type=click.Path(path_type=Path), help="Keep the search in this file.")
@click.option("--checkpoint-every", type=click.FloatRange(0, min_open=True), default=5.0, show_default=True)
@click.option("--no-checkpoint", is_flag=True, help="Do not keep the search in a file.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one.")
@missing_option
@table_options
@click.option("--save", "save_to", type=click.Path(path_type=Path), help="Save the model here, for show and predict.")
@click.option(
    "--report", "report_to", type=click.Path(path_type=Path), help="Write an HTML page about the formula here."
)
@click.option("--json", "json_out", type=click.Path(path_type=Path), help="Write the front here ('-' = stdout).")
@click.option("--quiet", is_flag=True, help="Print the formula alone.")
def fit(
    table: Path,
    targets: tuple[str, ...],
    features: str,
    save_to: Path | None,
    report_to: Path | None,
    json_out: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Fit a formula to the columns of TABLE, a file with a header: .csv, .tsv, .txt, .dat, .parquet, .xlsx or .npz.

    \b
    Examples:
      ceql fit data.csv --target y
      ceql fit data.csv --target y --save model.ceql --report page.html
      ceql fit data.csv --target lift --target drag --features speed,angle
      ceql fit data.tsv --target drag --features speed,area --time-limit 10 --json -
      ceql fit messung.dat --target kraft --missing drop --exclude bemerkung
      ceql fit data.csv --target y --cluster dask://head-node:8786
      ceql fit data.csv --target y --time-limit 3600 --resume
      ceql fit data.csv --target y --choice cv --groups sample

    A search that was killed, interrupted or out of time goes on with --resume, as if nothing had happened: after a few
    seconds it keeps itself in a file DATA.TARGET.*.ceql-checkpoint in the current folder, which goes when it is done.
    """
    if options["jobs"] and options["address"]:
        raise click.UsageError("Give --jobs for processes of this machine or --cluster for another, not both.")
    if any(path is not None and is_standard_output(path) for path in (save_to, report_to)):
        raise click.UsageError("Models and reports are written to files; '-' is for --json.")
    if options["no_checkpoint"] and (options["named"] or options["resume"]):
        raise click.UsageError("--no-checkpoint goes neither with --checkpoint nor with --resume.")
    from ceql.cli.resuming import checkpoint_for, how_to_go_on, how_to_write_again
    from ceql.data.chosen_columns import Wanted, chosen_columns
    from ceql.data.tables import read_cells
    from ceql.engine.cluster import cluster

    pages = {name: report_to if len(targets) == 1 else beside(report_to, name) for name in targets} if report_to else {}
    check_writable(save_to, *pages.values(), json_out)
    groups = options["groups"]
    labels = [] if groups is None else [groups]
    drop = options["missing"] == "drop"
    wanted = Wanted(targets, listed(features), listed(options["exclude"]), labels=labels, drop_gaps=drop)
    chosen = chosen_columns(read_cells(table, layout_of(options)), wanted)
    tell(chosen.notes)
    say: Callable[[str], None] = (lambda _: None) if quiet else partial(click.echo, err=True)
    kept_in = checkpoint_for(table, targets, {"features": features, **options}, say)
    model = _regressor(options, kept_in, quiet)
    with cluster(options["address"], options["device"]) if options["address"] else nullcontext():
        model.fit(chosen.x, chosen.y, groups=chosen.beside[groups] if groups else None)
    show = partial(_show, quiet=quiet, more=_asked_for("more"), struck=options["struck"])
    deliver(_outputs(model, save_to, pages, json_out, table.name, show), partial(how_to_write_again, kept_in, targets))
    for found in model.discoveries_:
        if found.leftover is not None:
            found.leftover.unlink(missing_ok=True)
    if kept_in is not None and (hint := how_to_go_on(kept_in, targets)):
        say(hint)


def _regressor(options: dict[str, Any], kept_in: Checkpoint | None, quiet: bool) -> CEQLRegressor:
    from ceql.estimator.regressor import CEQLRegressor
    from ceql.network.libraries import LIBRARIES

    operators = options["operators"]
    return CEQLRegressor(
        operators=operators if operators in LIBRARIES else listed(operators) or None,
        time_limit=options["time_limit"],
        max_complexity=options["max_complexity"],
        model_selection=options["choice"],
        cv=options["cv"],
        catalogue=options["catalogue"],
        more=options["more"],
        random_state=options["seed"],
        n_jobs=options["jobs"],
        device=options["device"],
        checkpoint=kept_in,
        verbose=False if quiet else None,
    )


def _outputs(
    model: CEQLRegressor,
    save_to: Path | None,
    pages: dict[str, Path],
    json_out: Path | None,
    table: str,
    show: Callable[..., None],
) -> Iterator[Callable[[], None]]:
    """What is printed comes first: the disk may turn out to be full, and the formula must not be lost with it."""
    findings = [model._finding(target=name) for name in model.target_names_]
    if json_out is None or not is_standard_output(json_out):
        yield partial(show, findings)
    if json_out is not None:
        yield partial(write_findings, json_out, findings)
    if save_to is not None:
        yield partial(model.save, save_to)
    for name, path in pages.items():
        yield partial(model.report, path, target=name, table=table)


def _asked_for(name: str) -> Any:
    """The value of an option that was given; None for one at its default."""
    context = click.get_current_context()
    return None if context.get_parameter_source(name) is ParameterSource.DEFAULT else context.params[name]


def _show(findings: Sequence[Finding], quiet: bool, more: int | None, struck: bool) -> None:
    from ceql.cli.summary import in_words

    if quiet:
        click.echo("\n".join(str(f.formula) for f in findings))
    else:
        click.echo("\n\n".join(in_words(found, more, struck) for found in findings))
