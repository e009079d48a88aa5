"""The commands that use a saved model: `ceql show`, `ceql predict`, `ceql export` and `ceql report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ceql.cli.did_you_mean import SuggestingChoice
from ceql.cli.json_output import write_findings
from ceql.cli.table_options import layout_of, table_options, tell
from ceql.storage.destinations import check_writable, write_text

if TYPE_CHECKING:
    from ceql.estimator.regressor import CEQLRegressor

STANDARD_OUTPUT = Path("-")
# As in ceql.output.export, which takes a second to import: too long for `ceql --help`. A test keeps the two equal.
LANGUAGES = ("python", "numpy", "jax", "torch", "c", "fortran", "julia", "excel", "latex")

_model = click.argument("model", type=click.Path(path_type=Path))
_row = click.option("--row", type=int, help="Use this row of the front instead of the chosen one; see `ceql show`.")
_target = click.option("--target", help="The target to use, if the model has several.")
_out = click.option(
    "--out", type=click.Path(path_type=Path), default=STANDARD_OUTPUT, help="Write to this file. [default: stdout]"
)


@click.command()
@_model
@_row
@_target
@click.option(
    "--more",
    type=click.IntRange(0),
    help="How many formulas beside the front to show. [default: only likely ones, at most 5]",
)
@click.option("--struck", is_flag=True, help="Print the struck formulas, which may not be chosen, and why.")
@click.option("--json", "json_out", type=click.Path(path_type=Path), help="Write it here as JSON ('-' = stdout).")
def show(
    model: Path, row: int | None, target: str | None, more: int | None, struck: bool, json_out: Path | None
) -> None:
    """Show the formula in MODEL, the front it was chosen from, its constants and poles, and how it was found.

    \b
    Examples:
      ceql show model.ceql
      ceql show model.ceql --row 2
      ceql show model.ceql --more 12 --struck
      ceql show model.ceql --json - | jq .front
    """
    from ceql.cli.front_table import terminal_width
    from ceql.cli.summary import how_found, in_words

    fitted = _loaded(model)
    names = [target] if target or len(fitted.target_names_) == 1 else fitted.target_names_
    findings = [fitted._finding(row, name) for name in names]
    if json_out is not None:
        write_findings(json_out, findings)
    else:
        click.echo(
            "\n\n".join(
                f"{in_words(found, more, struck, terminal_width())}\n{how_found(fitted, found)}" for found in findings
            )
        )


@click.command()
@_model
@click.argument("table", type=click.Path(path_type=Path))
@_out
@_row
@click.option("--with-inputs", is_flag=True, help="Write the columns of TABLE before the predictions.")
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Add bounds for a new measurement that hold with this probability, such as 0.95.",
)
@table_options
def predict(
    model: Path, table: Path, out: Path, row: int | None, with_inputs: bool, interval: float | None, **layout: str
) -> None:
    """Predict the rows of TABLE with MODEL and write them as CSV; `nan` where the formula is undefined.

    Columns are found by their names; their order does not matter, and other columns are ignored. If groups have
    constants of their own, TABLE also needs the column of their labels.

    \b
    Examples:
      ceql predict model.ceql new.csv
      ceql predict model.ceql new.xlsx --sheet March --with-inputs --out predicted.csv
      ceql predict model.ceql new.csv --interval 0.95
    """
    from ceql.data.tables import read_cells
    from ceql.estimator.table_predictions import predicted
    from ceql.storage.csv_output import as_csv

    check_writable(out)
    cells = read_cells(table, layout_of(layout))
    tell(cells.notes)
    predictions, sentences = predicted(_loaded(model), cells, row, with_inputs, interval)
    write_text(out, as_csv(predictions, missing="nan"))
    for sentence in sentences:
        click.echo(f"Warning: {sentence}", err=True)


@click.command()
@_model
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--save", "save_to", type=click.Path(path_type=Path), required=True, help="Save the new model here.")
@table_options
def adapt(model: Path, table: Path, save_to: Path, **layout: str) -> None:
    """Add new groups from the rows of TABLE to MODEL, whose groups have constants of their own, and save it.

    The constants of the new groups are fitted to their rows; those that all groups share stay as they are. TABLE needs
    the columns of the model, the column of the labels and the target.

    \b
    Example:
      ceql adapt lens.ceql fourth.csv --save lenses.ceql
    """
    from ceql.cli.summary import groups_in_words
    from ceql.data.tables import read_cells

    check_writable(save_to)
    fitted = _loaded(model)
    cells = read_cells(table, layout_of(layout))
    tell(cells.notes)
    inputs = list(fitted._targets.inputs)
    if not fitted.groups_:
        raise click.UsageError(f"{model} has no constants of groups: fit it with --groups and --per-group.")
    x, y = cells.numbers(inputs[:-1]), cells.numbers(fitted.target_names_)
    grown = fitted.adapt(x, y, groups=cells.labels(inputs[-1]))
    grown.save(save_to)
    for name in grown.target_names_:
        click.echo("\n".join(groups_in_words(grown._finding(target=name).formula)))


@click.command()
@_model
@click.option("--to", required=True, type=SuggestingChoice(LANGUAGES), help="The language.")
@_out
@_row
@_target
@click.option("--group", help="The group whose constants to use, if groups have constants of their own.")
def export(model: Path, to: str, out: Path, row: int | None, target: str | None, group: str | None) -> None:
    """Write the formula in MODEL as source code in another language.

    \b
    Examples:
      ceql export model.ceql --to c --out drag.c
      ceql export model.ceql --to excel
      ceql export model.ceql --to latex --row 1
      ceql export lens.ceql --to python --group A
    """
    check_writable(out)
    write_text(out, _loaded(model).export(to, row, target=target, group=group))


@click.command()
@_model
@click.option("--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True)
@click.option("--target", help="The name to use for the target. [default: its name in the model]")
@click.option("--table", default="data.csv", show_default=True, help="The file that the data came from.")
@click.option("--row", type=int, help="The row of the front to use. [default: the chosen one]")
def report(model: Path, out: Path, target: str | None, table: str, row: int | None) -> None:
    """Write one HTML page about MODEL, a file made by `model.save`.

    \b
    Example:
      ceql report lens.ceql --out lens.html --target image --table lens.csv
    """
    check_writable(out)
    _loaded(model).report(out, target=target, table=table, row=row)
    click.echo(f"Report written to {out}")


def _loaded(path: Path) -> CEQLRegressor:
    from ceql.estimator.regressor import load

    return load(path)
