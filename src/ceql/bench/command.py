"""Runs `ceql bench` and `ceql bench-report`: all checks first, then the runs, then the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from ceql.bench.definitions import Suite
from ceql.bench.errors import MethodError, RecordError, SuiteError
from ceql.bench.law_folder import LIST, with_tables
from ceql.bench.methods import Adapter, find_method
from ceql.bench.problems import every, load_suite, select, with_noise, with_subsampling
from ceql.bench.published import published
from ceql.bench.records import Record, read_records
from ceql.bench.results_page import as_latex_file, as_markdown_file, has_sheets, on_screen, results_page
from ceql.bench.runner import plan, run_suite
from ceql.bench.selections import parse_levels, parse_seeds, split_names
from ceql.storage.destinations import deliver
from ceql.storage.files import require_writable, write_atomically


@dataclass(frozen=True)
class Request:
    """The arguments of `ceql bench` as typed; empty text and None stand for the suite's defaults."""

    suite: str
    folder: Path | None
    problems: str
    every: int
    noise: str
    subsample: str
    methods: str
    seeds: str
    time_limit: float | None
    jobs: int
    json: Path | None
    markdown: Path | None
    latex: Path | None
    resume: bool


def run_bench(asked: Request) -> None:
    """Makes the requested runs, writes the files and prints the tables."""
    suite = _chosen(asked)
    methods = _contestants(suite, split_names(asked.methods))
    seeds = parse_seeds(asked.seeds) if asked.seeds else suite.seeds
    _check_files(asked, suite)
    untimed = [method.name for method in methods if not method.timed]
    if untimed and asked.time_limit is not None:
        click.echo(f"No time limit for {', '.join(untimed)}: a schedule of fixed length.", err=True)
    records = _run(suite, methods, seeds, asked)
    order = {run.key: i for i, run in enumerate(plan(suite, methods, seeds, 0.0))}
    records.sort(key=lambda record: order[record.key])
    deliver(_outputs(asked, suite, records))


def _outputs(asked: Request, suite: Suite, records: list[Record]) -> Iterator[Callable[[], None]]:
    """The steps that write the tables; they are printed first, since the disk may be full."""
    yield lambda: click.echo(on_screen(suite, records))
    for path, made in ((asked.markdown, as_markdown_file), (asked.latex, as_latex_file)):
        if path is not None:
            yield lambda path=path, made=made: write_atomically(path, made(suite, records), RecordError)


def write_report(sources: Sequence[Path], out: Path, title: str = "Results") -> int:
    """Writes the page of results from files of records, and returns the number of records."""
    require_writable(out, RecordError)
    records = [record for path in sources for record in read_records(path)]
    if not records:
        raise RecordError("There are no records in these files.")
    write_atomically(out, results_page(records, title), RecordError)
    return len(records)


def _check_files(asked: Request, suite: Suite) -> None:
    for path in (asked.markdown, asked.latex):
        if path is not None:
            require_writable(path, RecordError)
    if asked.latex is not None and not has_sheets(suite):
        raise SuiteError(f"The suite {suite.name!r} has no tables of its own for LaTeX; use --markdown.")


def _chosen(asked: Request) -> Suite:
    suite = _with_folder(load_suite(asked.suite), asked.folder)
    if asked.noise and suite.folder:
        raise SuiteError(f"The tables of {suite.name!r} are measured and have their noise: leave out --noise.")
    if asked.problems:
        suite = replace(suite, problems=select(suite, split_names(asked.problems)))
    suite = every(suite, asked.every)
    if asked.subsample:
        suite = with_subsampling(suite, parse_levels(asked.subsample, "shares of samples"))
    return with_noise(suite, parse_levels(asked.noise)) if asked.noise else suite


def _with_folder(suite: Suite, folder: Path | None) -> Suite:
    if suite.folder and folder is None:
        raise SuiteError(f"Name the folder of the tables: ceql bench {suite.name} FOLDER. It must hold {LIST}.")
    if folder is None:
        return suite
    if not suite.folder:
        raise SuiteError(f"The suite {suite.name!r} has problems of its own: leave out {str(folder)!r}.")
    return with_tables(suite, folder)


def _contestants(suite: Suite, names: Sequence[str]) -> list[Adapter]:
    """The methods that can run here; for each of the others, a message names the command that installs it."""
    methods = [
        find_method(name, suite.settings.get(name), suite.variants, suite.is_of_motion)
        for name in names or suite.methods
    ]
    missing = {method.name: command for method in methods if (command := method.available())}
    for name, command in missing.items():
        click.echo(f"Left out: {name} is not installed. To include it: {command}", err=True)
        if any(column.method == name for column in published(suite.name)):
            click.echo(f"The published column of {name} is shown instead.", err=True)
    ready = [method for method in methods if method.name not in missing]
    if not ready:
        raise MethodError("None of the methods asked for is installed.")
    return ready


def _run(suite: Suite, methods: Sequence[Adapter], seeds: Sequence[int], asked: Request) -> list[Record]:
    from tqdm import tqdm

    with tqdm(total=len(suite.problems) * len(methods) * len(seeds), unit="run", dynamic_ncols=True) as bar:

        def progress(record: Record) -> None:
            bar.set_postfix_str(f"{record.problem} {record.method} seed {record.seed}", refresh=False)
            bar.update()

        runs = run_suite(suite, methods, seeds, asked.time_limit, asked.jobs, asked.json, asked.resume, progress)
        return list(runs)
