"""The tables that a suite is for: the paper's, those of public benchmarks, of an ablation and of scalability."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import sympy

from ceql.bench.definitions import Suite
from ceql.bench.problems import load_suite
from ceql.bench.published import Column, Rate, published, published_rates
from ceql.bench.record_tables import METRICS, by_problem, median, shown
from ceql.bench.records import Record, by_families, grouped
from ceql.bench.sheets import Cell, Sheet, number
from ceql.expression import parse_formula

SAMPLE_SIZE = "sample size"  # the family of problems that differ in their rows alone
_TITLES = ("Interpolation MSE", "Extrapolation MSE", "Node count (NC)")
_ROUNDING = 1e-24  # errors below this are machine precision and equally good
_FITS = 1e-3  # a formula that fits worse than this has no size worth comparing
_DIGITS = 6
_ACCURATE = 0.999
_RATES = ("method", "noise", "problems", "runs", "solutions", "exact", "R² > 0.999", "nodes", "seconds", "budget")
_SOLUTIONS_NOTE = (
    "Solutions: the truth but for a factor or an added constant, constants to three digits, as SRBench counts them;"
)
_LAWS_NOTE = (
    "Solutions: the right structure, that is the truth once the numbers are set, with no more of them than it has;"
)
_RATES_NOTE = (
    "exact: the truth itself; R² on test points; nodes and seconds are medians over the runs that gave a formula."
)
_REPORTED_NOTE = "Rows marked (reported) are others' figures with the budget that they name."
_FITTED = 1e-6  # the authors count their 100 runs on E-1 to E-10 by this; for their ablation no criterion is published
_ABLATED = {
    "ceql": "search over sub-networks, complex weights",
    "ceql-real": "the same, real weights",
    "ceql-unpenalised": "the same, no imaginary penalty",
    "ceql-dense": "the search's fits from dense starts of the paper's network",
    "ceql-paper": "paper's training, log and sqrt in the library (as published)",
}


def result_sheets(suite: Suite, records: Sequence[Record]) -> list[Sheet]:
    """The paper's tables, one per metric: a row per problem, a column per method, then the published columns."""
    theirs = published(suite.name)
    columns = [*_ours(records), *theirs]
    header = ["", *(column.label for column in columns)]
    return [
        Sheet(title, header, [_row(p.name, metric, columns) for p in suite.problems], _note(metric, records, theirs))
        for metric, title in zip(METRICS, _TITLES, strict=True)
    ]


def _ours(records: Iterable[Record]) -> Iterator[Column]:
    for method, own in by_problem(records).groupby("method", sort=False):
        pairs = {m: zip(own[f"{m}_mean"], own[f"{m}_sd"], strict=True) for m in METRICS}
        yield Column(str(method), str(method), {m: dict(zip(own["problem"], pairs[m], strict=True)) for m in METRICS})


def _row(problem: str, metric: str, columns: Sequence[Column]) -> list[Cell]:
    """The best cells are marked. The size of a formula that does not fit is no merit."""
    is_size = metric == "node_count"
    values = [column.cell(metric, problem) for column in columns]
    errors = [column.cell("interp_mse", problem) for column in columns]
    judged = [
        max(v[0], _ROUNDING) if v and math.isfinite(v[0]) and (not is_size or (e and e[0] < _FITS)) else math.inf
        for v, e in zip(values, errors, strict=True)
    ]
    best = [math.isfinite(v) and v <= min(judged) * (1 + 1e-9) for v in judged]
    cells = [number(*value, fixed=is_size) if value else Cell("–", "--") for value in values]
    return [Cell(problem), *(replace(cell, best=mark) for cell, mark in zip(cells, best, strict=True))]


def _note(metric: str, records: Sequence[Record], theirs: Sequence[Column]) -> str:
    parts = [f"Mean and standard deviation over the runs with a formula, {_seeds(records)}."]
    if theirs:
        parts.append("Columns marked (paper) are the paper's own numbers, of five runs each; it ran SINDy once.")
        absent = [c.label for c in theirs if c.method not in {record.method for record in records}]
        parts += [f"Not run here, only published: {', '.join(absent)}."] if absent else []
    if metric == "node_count":
        parts.append(f"Bold: the smallest among those with an interpolation MSE below {_FITS:g}.")
    else:
        parts.append(f"Bold: the best; below {_ROUNDING:g} all are equally good.")
    failed = [record for record in records if record.error]
    parts += [f"{len(failed)} runs gave no formula."] if failed else []
    return " ".join(parts)


def _seeds(records: Sequence[Record]) -> str:
    seeds = sorted({record.seed for record in records})
    return f"seeds {seeds[0]} to {seeds[-1]}"


def formula_sheet(suite: Suite, records: Sequence[Record], method: str) -> Sheet:
    """Per problem the target and what `method` recovered: of its seeds the one with the least training error."""
    rows = []
    for problem in suite.problems:
        found = best_run(records, problem.name, method)
        if found is not None:
            formulas = [_formula(text, problem.names) for text in (problem.expression, found.expression or "")]
            exact = Cell("yes" if found.exact else "no")
            rows.append([Cell(problem.name), *formulas, number(found.train_mse or 0.0), exact])
    note = "Of the seeds, the run with the least training MSE. Constants are rounded to six digits."
    return Sheet(f"Recovered by {method}", ["", "target", "recovered", "train MSE", "exact"], rows, note)


def best_run(records: Iterable[Record], problem: str, method: str) -> Record | None:
    """The run of a method on a problem with the least training error."""
    runs = [r for r in records if (r.problem, r.method) == (problem, method) and r.expression and not r.error]
    return min(runs, key=lambda r: math.inf if r.train_mse is None else r.train_mse, default=None)


def _formula(text: str, names: Sequence[str]) -> Cell:
    expression = parse_formula(text, names)
    short = expression.xreplace({f: sympy.Float(f, _DIGITS) for f in expression.atoms(sympy.Float)})
    return Cell(f"`{sympy.sstr(short, full_prec=False)}`", f"${sympy.latex(short, full_prec=False)}$")


def public_sheets(suite: Suite, records: Sequence[Record]) -> list[Sheet]:
    """Solution rates by method, noise and family, then those that others report, if any."""
    theirs = published_rates(suite.name) or ()
    rows = [row for runs in grouped(records, "method").values() for row in _rates(runs)]
    rows += [_reported(rate) for rate in theirs]
    of_laws = any(record.front_solution is not None for record in records)
    notes = (
        _warning(suite, records) if theirs else "",
        _LAWS_NOTE if of_laws else _SOLUTIONS_NOTE,
        _RATES_NOTE,
        _REPORTED_NOTE if theirs else "",
        _on_the_front(records, ", as the reported rates count them" if theirs else ""),
    )
    note = " ".join(filter(None, notes))
    return [Sheet(f"{suite.title}: solution rates", _RATES, rows, note)]


def _rates(runs: Sequence[Record]) -> Iterator[list[Cell]]:
    """The rows of a method: for each level of noise all problems, then each family."""
    for level, group in sorted(grouped(runs, "added_noise").items()):
        families = by_families(group)
        for part, own in {"all": group, **(families if len(families) > 1 else {})}.items():
            budget = own[0].settings.get("time_limit")
            yield _cells(
                own[0].method,
                # Problems with noise of their own stay together.
                "of the suite" if any(r.noise and not r.added_noise for r in own) else f"{level:g}",
                part,
                len(own),
                _share(record.symbolic_solution for record in own),
                _share(record.exact for record in own),
                _share(record.r2 is not None and record.r2 > _ACCURATE for record in own),
                shown(median(own, "node_count"), ".0f"),
                shown(median(own, "seconds"), ".1f"),
                f"{budget:g} s" if budget else "–",
            )


def _reported(rate: Rate) -> list[Cell]:
    budget = f"{rate.budget}; {rate.source}"
    share = f"{100 * rate.rate:.1f} %"
    return _cells(f"{rate.label} (reported)", f"{rate.noise:g}", rate.part, "", share, "", "", "", "", budget)


def _share(flags: Iterable[bool]) -> str:
    return f"{100 * float(np.mean(list(flags))):.1f} %"


def _cells(*values: object) -> list[Cell]:
    return [Cell(str(value)) for value in values]


def _warning(suite: Suite, records: Sequence[Record]) -> str:
    """Said of a selection, since reported rates are over whole benchmarks."""
    ran, there = len({record.plain_problem for record in records}), len(load_suite(suite.name).problems)
    if ran >= there:
        return ""
    return (
        f"**Only {ran} of the {there} problems of this suite ran:** rates over a selection cannot be set beside rates "
        "over other problems."
    )


def _on_the_front(records: Sequence[Record], remark: str) -> str:
    """Said where laws are sought: others count one that stands anywhere on the front."""
    asked = grouped((record for record in records if record.front_solution is not None), "method")
    shares = [f"{method} {sum(bool(r.front_solution) for r in own)} of {len(own)}" for method, own in asked.items()]
    return f"Laws that stand anywhere on the front{remark}: {', '.join(shares)}." if shares else ""


def ablation_sheets(suite: Suite, records: Sequence[Record]) -> list[Sheet]:
    """How often each variant fits each formula and how often it finds it, beside the published rates."""
    return [
        _ablation(suite, records, f"Ablation: training MSE below {_FITTED:g}", _is_fitted),
        _ablation(suite, records, "Ablation: exact formula", lambda record: record.exact),
    ]


def _is_fitted(record: Record) -> bool:
    return record.error is None and record.train_mse is not None and record.train_mse < _FITTED


def _ablation(suite: Suite, records: Sequence[Record], title: str, verdict: Callable[[Record], bool]) -> Sheet:
    """A row per variant, a column per problem."""
    ran = grouped(records, "problem")
    problems = [p.name for p in suite.problems if p.name in ran]
    rows = []
    for method, runs in grouped(records, "method").items():
        variant = suite.variants.get(method)
        label = variant.label if variant else _ABLATED.get(method, "")
        parts = [*([r for r in runs if r.problem == p] for p in problems), runs]
        rates = [sum(map(verdict, part)) / len(part) if part else None for part in parts]
        rows.append(_cells(method, label, *(shown(r, ".2f") for r in (*rates, variant.published if variant else None))))
    note = (
        f"Share of runs, {_seeds(records)}. The authors' rates are for a linear rational in three "
        f"variables and stand beside {problems[0]}."
    )
    return Sheet(title, ["variant", "what it is", *problems, "all", "authors"], rows, note)


def scaling_sheets(records: Sequence[Record]) -> list[Sheet]:
    """Success among columns that do not matter, and how time and memory grow with the rows."""
    by_rows = [r for r in records if r.family == SAMPLE_SIZE]
    others = [r for r in records if r.family != SAMPLE_SIZE]
    return ([_columns_sheet(others)] if others else []) + ([_rows_sheet(by_rows)] if by_rows else [])


def _columns_sheet(records: Sequence[Record]) -> Sheet:
    counts = sorted({r.columns for r in records if r.columns})
    rows = [
        _cells(family, method, *(_success([r for r in runs if r.columns == n]) for n in counts))
        for (family, method), runs in grouped(records, "family", "method").items()
    ]
    note = "Exact formulas of runs, and the median time in seconds."
    return Sheet("Success by number of columns", ["family", "method", *map(str, counts)], rows, note)


def _success(runs: Sequence[Record]) -> str:
    return f"{sum(r.exact for r in runs)}/{len(runs)}, {median(runs, 'seconds'):.1f} s" if runs else "–"


def _rows_sheet(records: Sequence[Record]) -> Sheet:
    rows = [row for method, runs in grouped(records, "method").items() for row in _growth(method, runs)]
    header = ["method", "rows", "runs", "exact", "median s", "peak MB", "grown MB"]
    note = (
        "Peak MB is the most memory that the process held; grown MB what came on top during the run. The last line of "
        "a method has the slopes in the doubly logarithmic plot: 1 is proportional to the rows, 0 does not depend on "
        "them."
    )
    return Sheet("Time and memory by number of rows", header, rows, note)


def _growth(method: str, records: Sequence[Record]) -> Iterator[list[Cell]]:
    by_size = sorted(grouped((r for r in records if r.rows), "rows").items())
    sizes = [size for size, _ in by_size]
    medians = {f: [median(runs, f) for _, runs in by_size] for f in ("seconds", "peak_mb", "grown_mb")}
    for (size, runs), *numbers in zip(by_size, *medians.values(), strict=True):
        exact = f"{np.mean([r.exact for r in runs]):.0%}"
        yield _cells(method, f"{size:,}", len(runs), exact, *(shown(n, ".1f") for n in numbers))
    seconds, grown = (shown(slope(sizes, medians[f]), ".2f") for f in ("seconds", "grown_mb"))
    yield _cells(method, "slope", "", "", seconds, "", grown)


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log(value) over log(size), from the values that are positive; NaN from fewer than two."""
    pairs = [(math.log(s), math.log(v)) for s, v in zip(sizes, values, strict=True) if v > 0 and math.isfinite(v)]
    if len(pairs) < 2:
        return math.nan
    x, y = np.array(pairs).T
    return float(np.polyfit(x, y, 1)[0])
