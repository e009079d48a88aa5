"""The command `ceql`."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import click

from ceql import __version__
from ceql.bench.cli import bench, bench_report
from ceql.errors import CeqlError
from ceql.figures.cli import figures
from ceql.frf.cli import frf
from ceql.json_out import is_standard_output, write_json


class _Suggesting(click.Group):
    """A group that answers a misspelt command with the nearest one."""

    def resolve_command(self, ctx, args):
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(error.message + hint, ctx) from None


@click.group(cls=_Suggesting, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ceql")
def cli() -> None:
    """Reads a formula out of data: symbolic regression that is at home at poles, logs and roots.

    \b
    Examples:
      ceql demo
      ceql fit data.csv --target y
      ceql bench paper --methods ceql --seeds 0-4
    """


cli.add_command(bench)
cli.add_command(bench_report)
cli.add_command(figures)
cli.add_command(frf)


@cli.command()
@click.option("--seed", default=0, show_default=True, help="Another seed, another draw of data and starts.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("ceql-demo.png"), show_default=True)
@click.option("--quiet", is_flag=True, help="No live display.")
def demo(seed: int, out: Path, quiet: bool) -> None:
    """Find a formula with a pole in two variables, from 128 points, and plot it."""
    from ceql.demo import run_demo

    run_demo(seed, out, verbose=not quiet, say=click.echo)


@cli.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--target", required=True, help="The column to explain.")
@click.option("--features", default="", help="Columns to use, separated by commas. [default: all others]")
@click.option("--operators", default="", help="Operators, separated by commas (see `ceql operators`), or 'paper'.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
@click.option("--max-complexity", type=click.IntRange(1))
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="Processes to use. [default: this one, with all cores]")
@click.option("--device", type=click.Choice(["auto", "cpu", "gpu"]), default="cpu", show_default=True)
@click.option("--cluster", "address", help="Run on a cluster: dask://host:port or ray://host:port.")
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Keep the search in this file. [default: see docs]")
@click.option("--checkpoint-every", type=click.FloatRange(0, min_open=True), default=5.0, show_default=True)
@click.option("--no-checkpoint", is_flag=True, help="Do not keep the search in a file.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one.")
@click.option("--json", "json_out", type=click.Path(path_type=Path), help="Write the front here ('-' = stdout).")
@click.option("--quiet", is_flag=True, help="Print the formula and nothing else.")
def fit(
    table: Path,
    target: str,
    features: str,
    operators: str,
    time_limit: float,
    max_complexity: int | None,
    seed: int,
    jobs: int | None,
    device: str,
    address: str | None,
    checkpoint: Path | None,
    checkpoint_every: float,
    no_checkpoint: bool,
    resume: bool,
    json_out: Path | None,
    quiet: bool,
) -> None:
    """Fit a formula to the columns of TABLE, a CSV or TSV file with a header line.

    \b
    Examples:
      ceql fit data.csv --target y
      ceql fit data.tsv --target drag --features speed,area --time-limit 10 --json -
      ceql fit data.csv --target y --cluster dask://head-node:8786
      ceql fit data.csv --target y --time-limit 3600 --resume

    A search that was killed, interrupted or out of time goes on with --resume, as if nothing had happened: after a few
    seconds it keeps itself in a file DATA.TARGET.*.ceql-checkpoint in the current folder, which goes when it is done.
    """
    if jobs and address:
        raise click.UsageError("Give --jobs for processes of this machine or --cluster for another, not both.")
    if no_checkpoint and (checkpoint or resume):
        raise click.UsageError("--no-checkpoint goes neither with --checkpoint nor with --resume.")
    from ceql.cluster import cluster
    from ceql.estimator import CEQLRegressor
    from ceql.libraries import LIBRARIES
    from ceql.resuming import checkpoint_for, how_to_go_on, own_path
    from ceql.tables import read_table, split_target

    x, y = split_target(read_table(table), target, _names(features))
    course = {"operators": operators, "max_complexity": max_complexity, "random_state": seed, "device": device}
    own = own_path(table, target, {"features": features, **course})
    kept_in = None if no_checkpoint else checkpoint_for(checkpoint, own, resume, checkpoint_every, _say(quiet))
    model = CEQLRegressor(
        operators=operators if operators in LIBRARIES else _names(operators) or None,
        time_limit=time_limit,
        max_complexity=max_complexity,
        random_state=seed,
        n_jobs=jobs,
        device=device,
        checkpoint=kept_in,
        verbose=False if quiet else None,
    )
    with cluster(address) if address else nullcontext():
        model.fit(x, y)
    if json_out is not None:
        write_json(json_out, _as_json(model))
        if is_standard_output(json_out):
            return
    if quiet:
        click.echo(str(model.sympy()))
        return
    click.echo(f"{target} = {model.sympy()}")
    click.echo(f"\n{model.equations_[['complexity', 'loss', 'equation']].to_string()}")
    for pole in model.poles_:
        click.echo(f"{pole.kind}: {pole}")
    for value, error in model.discovery_.best.uncertain_constants:
        click.echo(f"constant: {value:.15g} ± {error:.2g}")
    searched = model.discovery_.rows_searched
    if searched < len(y):
        click.echo(f"\nThe search looked at {searched:,} of {len(y):,} rows; the constants are fitted to all of them.")
    click.echo(f"\n{model.discovery_.outcome.value}")
    if kept_in is not None and (hint := how_to_go_on(kept_in)):
        click.echo(hint)


@cli.command("operators")
def list_operators() -> None:
    """List the operators a formula can be made of."""
    from ceql import operators

    for name in operators.names():
        click.echo(f"{name:8} {operators.get(name)}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _say(quiet: bool) -> Callable[[str], None]:
    """What the user should know while standard output is for the result."""
    return (lambda _: None) if quiet else partial(click.echo, err=True)


def _finite(number: float) -> float | None:
    """JSON has no infinity: an error without a bound is null."""
    return number if math.isfinite(number) else None


def _as_json(model) -> dict:
    front = model.discovery_.front
    return {
        "expression": str(model.sympy()),
        "readable": str(model.sympy(form="readable")),
        "latex": model.latex(),
        "loss": model.discovery_.best.loss,
        "complexity": model.discovery_.best.complexity,
        "outcome": model.discovery_.outcome.name.lower(),
        "seconds": model.discovery_.seconds,
        "starts": model.discovery_.starts,
        "poles": [str(pole) for pole in model.poles_],
        "constants": [{"value": v, "standard_error": _finite(e)} for v, e in model.discovery_.best.constants],
        "front": [{"complexity": f.complexity, "loss": f.loss, "expression": str(f)} for f in front],
    }


def main() -> None:
    """Runs the command; every foreseen error is one sentence and exit code 1, Ctrl-C is 130."""
    try:
        cli(standalone_mode=False)
    except click.Abort:
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (CeqlError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
