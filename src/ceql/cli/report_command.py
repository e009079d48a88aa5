"""The command `ceql report`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True)
@click.option("--target", help="What to call the target. [default: its name in the model]")
@click.option("--table", default="data.csv", show_default=True, help="The file that the data came from.")
@click.option("--row", type=int, help="Another row of the front. [default: the chosen one]")
def report(model: Path, out: Path, target: str | None, table: str, row: int | None) -> None:
    """Write one HTML page about MODEL, a file made by `model.save`.

    \b
    Example:
      ceql report lens.ceql --out lens.html --target image --table lens.csv
    """
    from ceql.estimator.regressor import load
    from ceql.storage.destinations import check_writable

    check_writable(out)
    load(model).report(out, target=target, table=table, row=row)
    click.echo(f"Report written to {out}")
