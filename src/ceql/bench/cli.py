"""The commands `ceql bench` and `ceql bench-report`. What they do is in `command`, imported when one is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("suite")
@click.option("--problems", default="", help="Problems or families of the suite, such as E-7,log. [default: all]")
@click.option(
    "--noise", default="", help="Noise on the training targets, such as 0.01 or 0,0.001,0.01. [default: none]"
)
@click.option("--methods", default="", help="Methods, such as ceql,operon. [default: the suite's]")
@click.option("--seeds", default="", help="Seeds, such as 0-4 or 0,3,7. [default: the suite's]")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds a run. [default: the suite's]")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Runs at the same time.")
@click.option("--json", type=click.Path(path_type=Path), help="Write every record here, one JSON per line.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the tables here.")
@click.option("--latex", type=click.Path(path_type=Path), help="Write the suite's own tables here, as LaTeX.")
@click.option("--resume", is_flag=True, help="Keep the records of --json and make only the runs it lacks.")
def bench(**options: Any) -> None:
    """Run methods on the problems of SUITE: paper, poles, noise, scalability, ablation or your own file.

    The field's public benchmarks: srsd, srbench, strogatz, classic, empirical.

    \b
    Examples:
      ceql bench paper --seeds 0-4 --json paper.jsonl --markdown paper.md --latex paper.tex
      ceql bench poles --methods ceql --jobs 2 --json poles.jsonl --resume
      ceql bench srbench --noise 0,0.01 --problems feynman,strogatz --json srbench.jsonl
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
