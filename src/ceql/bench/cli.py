"""The command `ceql bench`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from ceql.bench.definitions import Suite
from ceql.bench.errors import BenchError, MethodError
from ceql.bench.methods import Method, find_method
from ceql.bench.names import parse_seeds, split_names
from ceql.bench.problems import load_suite, select
from ceql.bench.record import Record, check_writable
from ceql.bench.runner import plan, run_suite
from ceql.bench.tables import markdown, method_table, problem_table


@click.command()
@click.argument("suite")
@click.option("--problems", default="", help="Problems or families of the suite, such as E-7,E-8. [default: all]")
@click.option("--methods", default="", help="Methods, such as ceql,operon. [default: the suite's]")
@click.option("--seeds", default="", help="Seeds, such as 0-4 or 0,3,7. [default: the suite's]")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds a run. [default: the suite's]")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Runs at the same time.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write every record here, one JSON per line.")
@click.option("--markdown", "report", type=click.Path(path_type=Path), help="Write the tables here.")
@click.option("--resume", is_flag=True, help="Keep the records of --json and make only the runs it lacks.")
def bench(
    suite: str,
    problems: str,
    methods: str,
    seeds: str,
    time_limit: float | None,
    jobs: int,
    out: Path | None,
    report: Path | None,
    resume: bool,
) -> None:
    """Run methods on the problems of SUITE: paper, poles, noise, scalability, ablation or your own file."""
    try:
        chosen = _chosen(suite, problems)
        contestants = _contestants(chosen, split_names(methods))
        numbers = parse_seeds(seeds) if seeds else chosen.seeds
        if report is not None:
            check_writable(report)
        records = _run(chosen, contestants, numbers, time_limit, jobs, out, resume)
    except BenchError as error:
        raise click.ClickException(str(error)) from error
    order = {run.key: i for i, run in enumerate(plan(chosen, contestants, numbers, 0.0))}
    records.sort(key=lambda record: order[record.key])
    if report is not None:
        report.write_text(markdown(records, chosen.title), encoding="utf-8")
    click.echo(f"{problem_table(records)}\n\n{method_table(records)}")


def _chosen(name: str, problems: str) -> Suite:
    suite = load_suite(name)
    return replace(suite, problems=select(suite, split_names(problems))) if problems else suite


def _contestants(suite: Suite, names: Sequence[str]) -> list[Method]:
    """The methods that can run here; the others are named with the command that installs them."""
    methods = [find_method(name, suite.settings.get(name)) for name in names or suite.methods]
    missing = {method.name: command for method in methods if (command := method.available())}
    for name, command in missing.items():
        click.echo(f"Left out: {name} is not installed. To include it: {command}", err=True)
    ready = [method for method in methods if method.name not in missing]
    if not ready:
        raise MethodError("None of the methods asked for is installed.")
    return ready


def _run(
    suite: Suite,
    methods: Sequence[Method],
    seeds: Sequence[int],
    time_limit: float | None,
    jobs: int,
    out: Path | None,
    resume: bool,
) -> list[Record]:
    from tqdm import tqdm

    with tqdm(total=len(suite.problems) * len(methods) * len(seeds), unit="run", dynamic_ncols=True) as bar:

        def progress(record: Record) -> None:
            bar.set_postfix_str(f"{record.problem} {record.method} seed {record.seed}", refresh=False)
            bar.update()

        return list(run_suite(suite, methods, seeds, time_limit, jobs, out, resume, progress))
