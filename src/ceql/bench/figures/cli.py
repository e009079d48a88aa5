"""The command `ceql figures`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ceql.bench.errors import BenchError
from ceql.bench.records import Record, read_records
from ceql.bench.selections import split_names, unknown
from ceql.storage.files import require_writable

NAMES = ("trajectory", "predictions", "fronts", "success")


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
    try:
        wanted = _wanted(only)
        rows = [record for path in records for record in read_records(path)]
        files = _prepared(out, wanted, kind)
    except BenchError as error:
        raise click.ClickException(str(error)) from error
    from ceql.output.plots.canvas import save_figure

    for name, draw in _drawings(wanted, rows, seed, time_limit):
        drawing = draw()
        if drawing is None:
            continue
        save_figure(drawing, files[name], dpi)
        click.echo(f"{files[name]}")


def _wanted(only: str) -> tuple[str, ...]:
    names = split_names(only) or NAMES
    for name in names:
        if name not in NAMES:
            raise BenchError(unknown("figure", name, NAMES))
    return names


def _prepared(out: Path, names: Sequence[str], kind: str) -> dict[str, Path]:
    """Where each picture goes, after seeing that matplotlib is there and the folder can be written to."""
    from ceql.output.plots.canvas import new_figure

    new_figure(1, 1)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{out}: cannot be made: {error.strerror or error}.") from error
    files = {name: out / f"{name}.{kind}" for name in names}
    for path in files.values():
        require_writable(path, BenchError)
    return files


def _drawings(
    names: Sequence[str], rows: Sequence[Record], seed: int, time_limit: float
) -> Iterator[tuple[str, Callable[[], Any]]]:
    known: dict[str, Callable[[], Any]] = {
        "trajectory": _trajectory,
        "predictions": lambda: _predictions(rows, seed, time_limit),
        "fronts": lambda: _fronts(rows),
        "success": lambda: _success(rows),
    }
    for name in names:
        yield name, known[name]


def _trajectory() -> Any:
    from ceql.bench.figures import trajectory

    return trajectory.draw(trajectory.Descent())


def _predictions(rows: Sequence[Record], seed: int, time_limit: float) -> Any:
    from ceql.bench.figures import predicted_curves as predictions

    there = predictions.from_records(rows)
    found = {name: there.get(name) or predictions.fitted(name, seed, time_limit) for name in predictions.PROBLEMS}
    return predictions.draw(found)


def _fronts(rows: Sequence[Record]) -> Any:
    from ceql.bench.figures import fronts

    of_paper = [r for r in fronts.usable(rows) if r.suite == "paper"] or fronts.usable(rows)
    if not of_paper:
        return _skipped("fronts", "ceql bench paper --json paper.jsonl")
    return fronts.draw(of_paper)


def _success(rows: Sequence[Record]) -> Any:
    from ceql.bench.figures import success

    if not success.usable(rows):
        return _skipped("success", "ceql bench scalability --json scalability.jsonl")
    return success.draw(rows)


def _skipped(name: str, command: str) -> None:
    click.echo(f"No figure {name!r}: it is drawn from records. Make them with `{command}`, give them with --records.")
