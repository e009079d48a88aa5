"""The commands `ceql bench`, `ceql bench-report` and `ceql figures`; imports happen when one is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

FIGURES = ("architecture", "cancellation", "trajectory", "predictions", "fronts", "success")
_MADE_BY = {
    "fronts": "ceql bench paper --json paper.jsonl",
    "success": "ceql bench scalability --json scalability.jsonl",
}


@click.command()
@click.argument("suite")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--problems", default="", help="Problems or families of the suite, such as E-7,log. [default: all]")
@click.option("--every", type=click.IntRange(1), default=1, help="Run only every n-th problem. [default: all]")
@click.option(
    "--noise", default="", help="Noise on the training targets, such as 0.01 or 0,0.001,0.01. [default: none]"
)
@click.option(
    "--subsample",
    default="",
    help="Shares of the samples of trajectories to leave out, such as 0,0.5. [default: none]",
)
@click.option("--methods", default="", help="Methods, such as ceql,operon. [default: the suite's]")
@click.option("--seeds", default="", help="Seeds, such as 0-4 or 0,3,7. [default: the suite's]")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds per run. [default: the suite's]")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="How many runs at the same time.")
@click.option("--json", type=click.Path(path_type=Path), help="Write every record here, one JSON per line.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the tables here.")
@click.option("--latex", type=click.Path(path_type=Path), help="Write the suite's own tables here, as LaTeX.")
@click.option("--resume", is_flag=True, help="Keep the records of --json and run only what is missing.")
def bench(**options: Any) -> None:
    """Run methods on the problems of SUITE: paper, poles, sums, noise, scalability, ablation, parts or your own file.

    The field's public benchmarks: srsd, srbench, strogatz, classic, empirical. Measured tables whose law is known:
    laws, with the FOLDER that holds laws.csv and the tables. Differential equations, to be found in samples of their
    trajectories: ode, with the parts odebench and rational.

    \b
    Examples:
      ceql bench paper --seeds 0-4 --json paper.jsonl --markdown paper.md --latex paper.tex
      ceql bench poles --methods ceql --jobs 2 --json poles.jsonl --resume
      ceql bench parts --every 3 --jobs 16 --json parts.jsonl --markdown parts.md
      ceql bench srbench --noise 0,0.01 --problems feynman,strogatz --json srbench.jsonl
      ceql bench ode --noise 0,0.01,0.05 --subsample 0,0.5 --jobs 2 --json ode.jsonl --markdown ode.md
      ceql bench laws measured/ --seeds 0-2 --time-limit 30 --json laws.jsonl --markdown laws.md
    """
    from ceql.bench.command import Request, run_bench

    run_bench(Request(**options))


@click.command("bench-report")
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The page to write, such as results.md.")
@click.option("--title", default="Results", show_default=True, help="The heading of the page.")
def bench_report(records: tuple[Path, ...], out: Path, title: str) -> None:
    """Write one page of results from files of RECORDS, with machine, versions, seeds and commands.

    \b
    Example:
      ceql bench-report paper.jsonl ablation.jsonl scalability.jsonl --out docs/results.md
    """
    from ceql.bench.command import write_report

    click.echo(f"{write_report(records, out, title)} records, written to {out}")


@click.command()
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder for the pictures; made if new.")
@click.option(
    "--records", multiple=True, type=click.Path(path_type=Path), help="A file of benchmark records; repeat for more."
)
@click.option("--only", default="", help=f"Some of {', '.join(FIGURES)}. [default: all]")
@click.option("--format", "kind", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@click.option("--dpi", type=click.IntRange(30, 600), default=110, show_default=True)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="The seed of formulas that are found now."
)
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
def figures(out: Path, records: tuple[Path, ...], only: str, kind: str, dpi: int, seed: int, time_limit: float) -> None:
    """Draw the figures: the network, how complex weights cross a pole, what was found, what benchmark records show.

    \b
    Examples:
      ceql figures --out figures
      ceql figures --out figures --records paper.jsonl --records scalability.jsonl
    """
    from ceql.bench.errors import BenchError
    from ceql.bench.figures import architecture, cancellation, comparisons, predicted_curves, trajectory
    from ceql.bench.records import read_records
    from ceql.bench.selections import split_names, unknown
    from ceql.output.plots.canvas import new_figure, save_figure
    from ceql.storage.files import require_writable

    names = split_names(only) or FIGURES
    for name in names:
        if name not in FIGURES:
            raise BenchError(unknown("figure", name, FIGURES))
    rows = [record for path in records for record in read_records(path)]
    new_figure(1, 1)  # raises now where matplotlib is missing
    files = {name: out / f"{name}.{kind}" for name in names}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{out}: cannot be made: {error.strerror or error}.") from error
    for path in files.values():
        require_writable(path, BenchError)
    drawings = {
        "architecture": architecture.draw,
        "cancellation": cancellation.draw,
        "trajectory": lambda: trajectory.draw(trajectory.Descent()),
        "predictions": lambda: predicted_curves.draw(predicted_curves.findings(rows, seed, time_limit)),
        "fronts": lambda: comparisons.draw_fronts(rows),
        "success": lambda: comparisons.draw_success(rows),
    }
    for name, path in files.items():
        drawing = drawings[name]()
        if drawing is None:
            how = f"Make records with `{_MADE_BY[name]}` and give them with --records."
            click.echo(f"The figure {name!r} is left out: it is drawn from records. {how}")
        else:
            save_figure(drawing, path, dpi)
            click.echo(f"{path}")
