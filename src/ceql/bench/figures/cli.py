"""The command `ceql figures`."""

from __future__ import annotations

from pathlib import Path

import click

from ceql.bench.errors import BenchError
from ceql.bench.records import read_records
from ceql.bench.selections import split_names, unknown
from ceql.storage.files import require_writable

NAMES = ("trajectory", "predictions", "fronts", "success")
_MADE_BY = {
    "fronts": "ceql bench paper --json paper.jsonl",
    "success": "ceql bench scalability --json scalability.jsonl",
}


@click.command()
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder for the pictures; made if new.")
@click.option(
    "--records", multiple=True, type=click.Path(path_type=Path), help="A file of benchmark records; repeat for more."
)
@click.option("--only", default="", help=f"Some of {', '.join(NAMES)}. [default: all]")
@click.option("--format", "kind", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@click.option("--dpi", type=click.IntRange(30, 600), default=110, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="For formulas that are found now.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
def figures(out: Path, records: tuple[Path, ...], only: str, kind: str, dpi: int, seed: int, time_limit: float) -> None:
    """Draw the figures: how complex weights cross a pole, what was found, and what the benchmark records show.

    \b
    Examples:
      ceql figures --out figures
      ceql figures --out figures --records paper.jsonl --records scalability.jsonl
    """
    from ceql.bench.figures import fronts, predicted_curves, success, trajectory
    from ceql.output.plots.canvas import new_figure, save_figure

    names = split_names(only) or NAMES
    for name in names:
        if name not in NAMES:
            raise BenchError(unknown("figure", name, NAMES))
    rows = [record for path in records for record in read_records(path)]
    new_figure(1, 1)  # raises now where matplotlib is missing
    files = {name: out / f"{name}.{kind}" for name in names}
    _prepare(out, *files.values())
    drawings = {
        "trajectory": lambda: trajectory.draw(trajectory.Descent()),
        "predictions": lambda: predicted_curves.draw(predicted_curves.findings(rows, seed, time_limit)),
        "fronts": lambda: fronts.draw(rows),
        "success": lambda: success.draw(rows),
    }
    for name, path in files.items():
        drawing = drawings[name]()
        if drawing is None:
            how = f"Make them with `{_MADE_BY[name]}`, give them with --records."
            click.echo(f"No figure {name!r}: it is drawn from records. {how}")
        else:
            save_figure(drawing, path, dpi)
            click.echo(f"{path}")


def _prepare(folder: Path, *files: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be made: {error.strerror or error}.") from error
    for path in files:
        require_writable(path, BenchError)
