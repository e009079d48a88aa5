"""Output of a suite's records: on the screen, as Markdown, as LaTeX, and as the page of all results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ceql.bench.ablation_tables import ablation_sheets
from ceql.bench.definitions import Suite, families
from ceql.bench.errors import SuiteError
from ceql.bench.law_tables import is_of_laws, law_sheets
from ceql.bench.ode_tables import is_of_motion, ode_sheets
from ceql.bench.part_tables import parts_sheet
from ceql.bench.problems import load_suite
from ceql.bench.published import published, published_rates
from ceql.bench.record_tables import markdown, method_table, problem_table
from ceql.bench.records import Record, grouped
from ceql.bench.sheets import Sheet, as_latex, as_markdown
from ceql.bench.suite_tables import fitted_sheet, formula_sheet, public_sheets, result_sheets, scaling_sheets


def has_sheets(suite: Suite) -> bool:
    """Whether a suite has tables of its own, in addition to those of every suite."""
    own = published(suite.name) or suite.variants or suite.memory or suite.folder or suite.parts or suite.is_of_motion
    return bool(own) or _has_rates(suite)


def _has_rates(suite: Suite) -> bool:
    """Whether the suite's table shows solution rates: others report theirs, or problems are in several families."""
    return published_rates(suite.name) is not None or any(len(families(p.family)) > 1 for p in suite.problems)


def sheets(suite: Suite, records: Sequence[Record]) -> list[Sheet]:
    """The suite's own tables; empty for a plain list of problems."""
    if is_of_laws(records):
        return law_sheets(records)
    if is_of_motion(records):
        return ode_sheets(records)
    if suite.parts:
        return [parts_sheet(suite, records)]
    if _has_rates(suite):
        return public_sheets(suite, records)
    if published(suite.name):
        methods = grouped(records, "method")
        shown = "ceql" if "ceql" in methods else next(iter(methods))
        results = result_sheets(suite, records)
        best, count = best_cells(results, shown)
        verdict = f" {shown} is the best, or as good as the best, in {best} of its {count} cells of the three tables."
        results[-1] = replace(results[-1], note=results[-1].note + verdict)
        fitted = fitted_sheet(suite, records)
        formulas = [formula_sheet(suite, records, m) for m in dict.fromkeys((shown, "ceql-paper")) if m in methods]
        return [*results, *([fitted] if fitted else []), *formulas]
    if suite.variants:
        return ablation_sheets(suite, records)
    return scaling_sheets(records) if suite.memory else []


def best_cells(tables: Sequence[Sheet], method: str) -> tuple[int, int]:
    """The number of cells in which a method is the best, and the number of its cells."""
    columns = [(sheet, list(sheet.header).index(method)) for sheet in tables if method in sheet.header]
    cells = [row[k] for sheet, k in columns for row in sheet.rows]
    return sum(cell.best for cell in cells), len(cells)


def on_screen(suite: Suite, records: Sequence[Record]) -> str:
    """The suite's own tables, or means per problem, and rates per method unless it has verdicts of its own."""
    own = [as_markdown(sheet) for sheet in sheets(suite, records)]
    return "\n\n".join([*(own or [problem_table(records)]), *_rates(records)])


def as_markdown_file(suite: Suite, records: Sequence[Record]) -> str:
    own = [as_markdown(sheet) for sheet in sheets(suite, records)]
    if _has_own_verdicts(records):
        return "\n\n".join([f"# {suite.title}", *own]) + "\n"
    return "\n\n".join([f"# {suite.title}", *own, markdown(records)])


def _rates(records: Sequence[Record], *heading: str) -> list[str]:
    """The table of exact formulas by method; empty for measured tables and differential equations, which have other
    verdicts.
    """
    return [] if _has_own_verdicts(records) else [*heading, method_table(records)]


def _has_own_verdicts(records: Sequence[Record]) -> bool:
    return is_of_laws(records) or is_of_motion(records)


def as_latex_file(suite: Suite, records: Sequence[Record]) -> str:
    head = "% Needs the packages booktabs and graphicx."
    return "\n\n".join([head, *map(as_latex, sheets(suite, records))]) + "\n"


def results_page(records: Sequence[Record], title: str = "Results") -> str:
    """The page of results: every suite in the records with its tables, machine, versions and commands."""
    parts = [f"# {title}", "This page is made from the records of benchmark runs by `ceql bench-report`."]
    for name, own in grouped(records, "suite").items():
        parts += _suite_part(name, own)
    return "\n\n".join(parts) + "\n"


def _suite_part(name: str, records: Sequence[Record]) -> list[str]:
    try:
        suite = load_suite(name)
    except SuiteError:
        # A user's own suite, whose file may not be available.
        suite = Suite(name, name, ())
    records = in_order(suite, records)
    own = {p.name for p in suite.problems}
    ran = _problems(records, own)
    suite = replace(suite, problems=tuple(p for p in suite.problems if p.name in ran))
    tables = [as_markdown(sheet, level=3) for sheet in sheets(suite, records)] or [problem_table(records)]
    return [f"## {suite.title}", provenance(records, own), *tables, *_rates(records, "### Methods")]


def in_order(suite: Suite, records: Sequence[Record]) -> list[Record]:
    """The records in the order of the suite's methods and problems, since parallel runs end in any order."""
    methods = list(dict.fromkeys((*suite.methods, *(r.method for r in records))))
    problems = list(dict.fromkeys((*(p.name for p in suite.problems), *(r.problem for r in records))))
    return sorted(records, key=lambda r: (methods.index(r.method), problems.index(r.problem), r.seed))


def provenance(records: Sequence[Record], own: Collection[str] = ()) -> str:
    """Machine, versions and commands as a Markdown list. `own` holds the names of the suite's problems."""
    machines = sorted({record.machine for record in records if record.machine})
    versions = {name: version for record in records for name, version in record.versions.items()}
    lines = [f"- machine: {machine}" for machine in machines]
    lines += [f"- versions: {', '.join(f'{name} {version}' for name, version in versions.items())}"]
    lines += [f"- command: `{command}`" for command in commands(records, own)]
    return "\n".join(lines)


def commands(records: Sequence[Record], own: Collection[str] = ()) -> list[str]:
    """The commands that repeat these runs; methods with the same noise, seeds and time limit share one."""
    names = _problems(records, own)
    folder = " FOLDER" if is_of_laws(records) else ""
    problems = "" if names.keys() >= set(own) else f" --problems {','.join(names)}"
    groups: dict[tuple[str, ...], list[str]] = {}
    for method, runs in grouped(records, "method").items():
        limit = runs[0].settings.get("time_limit")
        options = (
            _noise_option(runs, own),
            _subsample_option(runs),
            f" --seeds {_range(sorted({record.seed for record in runs}))}",
            f" --time-limit {limit:g}" if limit else "",
        )
        groups.setdefault(options, []).append(method)
    return [
        f"ceql bench {records[0].suite}{folder}{problems}{noise}{left_out} --methods {','.join(methods)}{seeds}{limit}"
        for (noise, left_out, seeds, limit), methods in groups.items()
    ]


def _problems(runs: Sequence[Record], own: Collection[str]) -> dict[str, None]:
    """The names of the suite's problems that ran, without added noise and subsampling."""
    return dict.fromkeys(run.problem if run.problem in own else run.base_problem for run in runs)


def _noise_option(runs: Sequence[Record], own: Collection[str]) -> str:
    added = {run.noise for run in runs if run.problem not in own and run.plain_problem != run.problem}
    plain = {0.0 for run in runs if not run.noise}
    return f" --noise {','.join(f'{level:g}' for level in sorted(added | plain))}" if added else ""


def _subsample_option(runs: Sequence[Record]) -> str:
    shares = sorted({run.subsample for run in runs})
    return f" --subsample {','.join(f'{share:g}' for share in shares)}" if any(shares) else ""


def _range(seeds: Sequence[int]) -> str:
    whole = len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]}-{seeds[-1]}" if whole else ",".join(map(str, seeds))
