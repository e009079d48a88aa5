"""The command `ceql laws`: named laws fitted to a table, without a search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ceql.cli.json_output import is_standard_output, write_json
from ceql.cli.meanwhile import said_meanwhile
from ceql.cli.table_options import layout_of, listed, missing_option, table_options, tell
from ceql.storage.destinations import check_writable

if TYPE_CHECKING:
    from ceql.catalogue.fitting import LawFit
    from ceql.data.dataset import Dataset


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--target", required=True, help="The column to explain.")
@click.option("--features", default="", help="Columns to use, separated by commas. [default: all others]")
@click.option("--exclude", default="", help="Columns to leave out, separated by commas.")
@click.option("--most", type=click.IntRange(1), default=5, show_default=True, help="How many laws to show.")
@missing_option
@table_options
@click.option("--json", "json_out", type=click.Path(path_type=Path), help="Write the laws here ('-' = stdout).")
def laws(
    table: Path,
    target: str,
    features: str,
    exclude: str,
    most: int,
    missing: str,
    json_out: Path | None,
    **options: Any,
) -> None:
    """Fit the laws of the catalogue to TABLE and show those that describe it best, within seconds.

    \b
    Examples:
      ceql laws rates.csv --target rate
      ceql laws data.tsv --target drag --features speed --most 10 --json laws.json

    No formula is searched for: these are laws that have a name, such as Michaelis-Menten, and plain models such as a
    straight line. The weight of a law says how likely it is among all laws that were fitted, judging by these rows.
    """
    check_writable(json_out)
    with said_meanwhile(f"Reading {table}"):
        from ceql.catalogue.fitting import fit_all
        from ceql.data.chosen_columns import Wanted, chosen_columns
        from ceql.data.dataset import Dataset
        from ceql.data.tables import read_cells

        cells = read_cells(table, layout_of(options))
    wanted = Wanted([target], listed(features), listed(exclude), drop_gaps=missing == "drop")
    chosen = chosen_columns(cells, wanted)
    tell(chosen.notes)
    data = Dataset.of(chosen.x, chosen.y, target=target)
    with said_meanwhile("Fitting the laws"):
        fits = fit_all(data)
    rows = [_as_json(fit, weight, data) for fit, weight in zip(fits, _weights(fits, data), strict=True)][:most]
    if json_out is None or not is_standard_output(json_out):
        click.echo("\n\n".join(map(_in_words, rows)) or "No law of the catalogue has a value on every row.")
    if json_out is not None:
        write_json(json_out, rows)


def _weights(fits: Sequence[LawFit], data: Dataset) -> list[float]:
    from ceql.choice.evidence import scores, weights

    return list(weights(scores([fit.formula for fit in fits], data))) if fits else []


def _as_json(fit: LawFit, weight: float, data: Dataset) -> dict[str, Any]:
    from ceql.choice.exactness import size_of
    from ceql.formula import mean_square

    spread = mean_square(data.y - (data.weight @ data.y) / data.weight.sum(), data.weight)
    return {
        "law": fit.law.name,
        "also": [alias.name for alias in fit.law.others],
        "field": fit.law.field,
        "formula": fit.law.formula,
        "columns": {place.name: name for place, name in zip(fit.law.columns, fit.columns, strict=True)},
        "constants": [
            {"name": c.name, "meaning": c.meaning, "value": c.value, "error": c.error} for c in fit.constants
        ],
        "r2": 1.0 - fit.loss / (spread or size_of(data)),
        "loss": fit.loss,
        "weight": weight,
    }


def _in_words(row: dict[str, Any]) -> str:
    also = f", also {', '.join(row['also'])}" if row["also"] else ""
    columns = ", ".join(f"{place} = {name}" for place, name in row["columns"].items())
    width = max((len(constant["name"]) for constant in row["constants"]), default=0)
    constants = [
        f"  {c['name']:{width}} = {c['value']:.6g} ± {c['error']:.2g}  {c['meaning']}" for c in row["constants"]
    ]
    told = f"  R2 {row['r2']:.4f}, weight {row['weight']:.2f}"
    return "\n".join([f"{row['law']}{also}: {row['formula']}", f"  with {columns}", *constants, told])
