"""The command `ceql compare`: compares saved models on rows that they were not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ceql.cli.json_output import is_standard_output, write_json
from ceql.cli.table_options import layout_of, missing_option, table_options, tell
from ceql.storage.destinations import check_writable

if TYPE_CHECKING:
    from ceql.cli.comparison import Compared


@click.command()
@click.argument("models", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--on", "table", type=click.Path(path_type=Path), required=True, help="The table with the new rows.")
@click.option("--target", help="The column with the measured target. [default: the target of the models]")
@missing_option
@table_options
@click.option("--json", "json_out", type=click.Path(path_type=Path), help="Write it here as JSON ('-' = stdout).")
def compare(
    models: tuple[Path, ...],
    table: Path,
    target: str | None,
    missing: str,
    json_out: Path | None,
    **layout: Any,
) -> None:
    """Compare MODELS on the rows of a table that none of them was fitted to.

    \b
    Examples:
      ceql compare a.ceql b.ceql --on new.csv
      ceql compare *.ceql --on new.csv --target drag --json -

    All models are compared on the rows where each of them has a value. One is called the best only if its mean squared
    error is smaller than that of every other model by more than two standard errors of the row-by-row difference.
    """
    from ceql.cli.comparison import compared, named
    from ceql.data.tables import read_cells
    from ceql.estimator.regressor import load

    check_writable(json_out)
    cells = read_cells(table, layout_of(layout))
    tell(cells.notes)
    fitted = dict(zip(named(models), map(load, models), strict=True))
    rows, verdict, notes = compared(fitted, cells, target, missing == "drop")
    tell(notes)
    if json_out is not None:
        write_json(json_out, {"models": [row.as_json() for row in rows], "verdict": verdict})
    if json_out is None or not is_standard_output(json_out):
        click.echo(f"{_table(rows)}\n\n{verdict}")


def _table(rows: Sequence[Compared]) -> str:
    head = ["model", "nodes", "R2", "RMSE", "largest", "within 95 %", "undefined", "formula"]
    lines = [head, *([*row.in_words(), row.formula] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head) - 1)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:-1], widths[1:], strict=True))])
        + f"  {line[-1]}"
        for line in lines
    )
