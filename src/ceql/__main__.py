"""The command `ceql`."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import click

from ceql import __version__
from ceql.app.cli import app
from ceql.bench.cli import bench, bench_report, figures
from ceql.cli.compare_command import compare
from ceql.cli.fit_command import fit
from ceql.cli.flags import FlagSpeakingGroup
from ceql.cli.laws_command import laws
from ceql.cli.model_commands import adapt, predict
from ceql.dynamics.cli import ode, simulate
from ceql.dynamics.saved_systems import export, report, show
from ceql.errors import CeqlError, CeqlWarning, in_words
from ceql.frf.cli import frf
from ceql.relations.cli import relate


@click.group(cls=FlagSpeakingGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ceql")
def cli() -> None:
    """Find formulas in data: symbolic regression that can handle poles, logarithms and roots.

    \b
    Examples:
      ceql demo
      ceql app
      ceql fit data.csv --target y --save model.ceql
      ceql laws data.csv --target y
      ceql ode series.csv --time t --state x,y
      ceql relate gas.csv
      ceql predict model.ceql new.csv
      ceql compare a.ceql b.ceql --on new.csv
      ceql export model.ceql --to c
      ceql bench paper --methods ceql --seeds 0-4
    """


_OF_MODELS = (show, predict, adapt, compare, export, report, simulate)
for command in (app, fit, laws, ode, relate, *_OF_MODELS, bench, bench_report, figures, frf):
    cli.add_command(command)
cli.fit, cli.about_a_fit = fit, _OF_MODELS


@cli.command()
@click.option("--seed", default=0, show_default=True, help="The random seed of the data and the starts.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("ceql-demo.png"), show_default=True)
@click.option("--quiet", is_flag=True, help="Do not show the live display.")
def demo(seed: int, out: Path, quiet: bool) -> None:
    """Find a formula with a pole and a logarithm from 128 points, and show how complex weights get there."""
    from ceql.bench.demo import run_demo

    run_demo(seed, out, verbose=not quiet, say=click.echo)


@cli.command("operators")
def list_operators() -> None:
    """List the operators a formula can be made of."""
    from ceql import operators

    for name in operators.names():
        click.echo(f"{name:8} {operators.get(name)}")


def main() -> None:
    """Runs the command. An expected error is one sentence and exit code 1; Ctrl-C gives 130."""
    sys.exit(exit_code())


def exit_code(arguments: list[str] | None = None) -> int:
    """Runs the command with these arguments and returns the exit code, without leaving the process."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", CeqlWarning)
            warnings.showwarning = _warn
            cli(arguments, prog_name="ceql", standalone_mode=False)
        sys.stdout.flush()
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        _discard_output()  # the reader of our output, such as `head`, has ended; click also returns 1
        return 1
    except UnicodeEncodeError as error:
        _discard_output()
        click.echo(f"Error: {_unprintable(error)}", err=True)
        return 1
    except (CeqlError, OSError) as error:
        _discard_output()
        click.echo(f"Error: {in_words(error)}", err=True)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _warn(message, category, filename, lineno, file=None, line=None) -> None:
    """Prints a warning. Our own warnings are for the user and do not name the place in the code; others do."""
    place = "" if issubclass(category, CeqlWarning) else f" {filename}:{lineno}: {category.__name__}:"
    context = click.get_current_context(silent=True)
    told = str(message) if context is None else cli.in_flags(str(message), context.command.name)
    click.echo(f"Warning:{place} {told}", err=True)


def _unprintable(error: UnicodeEncodeError) -> str:
    return (
        f"The output contains {error.object[error.start]!a}, which the encoding {error.encoding} of standard output "
        "cannot represent: set PYTHONIOENCODING=utf-8, or write the result to a file."
    )


def _discard_output() -> None:
    """Discards output that cannot be written, since Python flushes once more at its end and would fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
