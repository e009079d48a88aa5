"""The tables specific to suites: the paper's, those of public benchmarks, and those of scalability."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import sympy
from sympy.core.parameters import distribute

from ceql.bench.ablation_tables import FITTED, is_fitted
from ceql.bench.definitions import Suite
from ceql.bench.intervals import CONFIDENCE, counted
from ceql.bench.problems import load_suite
from ceql.bench.published import Column, Rate, published, published_fits, published_rates
from ceql.bench.record_tables import METRICS, by_problem, median, shown
from ceql.bench.records import Record, by_families, grouped
from ceql.bench.sheets import Cell, Sheet, number
from ceql.expression import parse_formula

SAMPLE_SIZE = "sample size"  # the family of problems that differ only in their number of rows
_TITLES = ("Interpolation MSE", "Extrapolation MSE", "Node count (NC)")
_ROUNDING = 1e-24  # errors below this are rounding errors and equally good
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
_SINDY_NOTE = (
    "SINDy's library holds log|x| and sqrt|x|. Its formulas are counted here as they were fitted; the paper writes "
    "them as log(x) and sqrt(x), without two nodes per variable: 19 and 46 in place of 21 and 50."
)
_REPORTED_NOTE = "Rows marked (reported) are others' figures with the budget that they name."


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
    """A row of cells with the best ones marked; the size of a formula that does not fit is not considered."""
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
        parts += [_SINDY_NOTE] if theirs and "sindy" in {record.method for record in records} else []
    else:
        parts.append(f"Bold: the best; below {_ROUNDING:g} all are equally good.")
    failed = [record for record in records if record.error]
    parts += [f"{len(failed)} runs gave no formula."] if failed else []
    return " ".join(parts)


def _seeds(records: Sequence[Record]) -> str:
    seeds = sorted({record.seed for record in records})
    return f"seeds {seeds[0]} to {seeds[-1]}"


def formula_sheet(suite: Suite, records: Sequence[Record], method: str) -> Sheet:
    """A table of the target and the formula `method` recovered for each problem, from the seed with the least training
    error.
    """
    rows = []
    for problem in suite.problems:
        found = best_run(records, problem.name, method)
        if found is not None:
            formulas = [_formula(text, problem.names) for text in (problem.expression, found.expression or "")]
            exact = Cell("yes" if found.exact else "no")
            size = Cell(str(found.node_count))
            rows.append([Cell(problem.name), *formulas, size, number(found.train_mse or 0.0), exact])
    note = (
        "Of the seeds, the run with the least training MSE. The form shown is the one whose nodes are counted; its "
        "constants are rounded to six digits."
    )
    return Sheet(f"Recovered by {method}", ["", "target", "recovered", "nodes", "train MSE", "exact"], rows, note)


def fitted_sheet(suite: Suite, records: Sequence[Record]) -> Sheet | None:
    """A table of the runs with a training error below the authors' threshold, beside theirs; None if theirs are
    unknown.
    """
    theirs = published_fits(suite.name)
    methods = {m: runs for m, runs in grouped(records, "method").items() if m == "ceql-paper" or m in suite.variants}
    if theirs is None or not methods:
        return None
    runs, hits = theirs
    names = [p.name for p in suite.problems if p.name in hits]
    rows = [
        _cells(name, f"{hits[name]} of {runs}", *(_fitted(own, name) for own in methods.values())) for name in names
    ]
    ours = [[r for r in own if r.problem in names] for own in methods.values()]
    total = counted(sum(hits[n] for n in names), runs * len(names))
    rows.append(_cells("all", total, *(counted(sum(map(is_fitted, own)), len(own)) for own in ours)))
    labels = "".join(f"; {m}: {suite.variants[m].label}" for m in methods if m in suite.variants)
    note = (
        f"Seeds 0 to {runs - 1} of the authors, {_seeds(records)} here; in brackets Wilson's {CONFIDENCE:.0%} "
        "interval. The five runs behind the paper's tables are selected seeds, up to seed 651 for E-10; these are not. "
        "ceql-paper: the best of five starts by training error, as the paper reports its expressions, with its "
        f"constants refitted{labels}."
    )
    return Sheet(f"Runs with a training MSE below {FITTED:g}", ["", "authors", *methods], rows, note)


def _fitted(records: Sequence[Record], problem: str) -> str:
    own = [r for r in records if r.problem == problem]
    return f"{sum(map(is_fitted, own))} of {len(own)}" if own else "–"


def best_run(records: Iterable[Record], problem: str, method: str) -> Record | None:
    """The run of a method on a problem with the least training error."""
    runs = [r for r in records if (r.problem, r.method) == (problem, method) and r.expression and not r.error]
    return min(runs, key=lambda r: math.inf if r.train_mse is None else r.train_mse, default=None)


def _formula(text: str, names: Sequence[str]) -> Cell:
    # Products must not be expanded, since their nodes are counted.
    with distribute(False):
        expression = parse_formula(text, names, as_written=True)
        short = expression.xreplace({f: sympy.Float(f, _DIGITS) for f in expression.atoms(sympy.Float)})
    return Cell(f"`{sympy.sstr(short, full_prec=False)}`", f"${sympy.latex(short, full_prec=False)}$")


def public_sheets(suite: Suite, records: Sequence[Record]) -> list[Sheet]:
    """A table of solution rates by method, noise and family, followed by reported rates, if any."""
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
    """Yields the rows of a method: for each noise level all problems, then each family."""
    for level, group in sorted(grouped(runs, "added_noise").items()):
        families = by_families(group)
        for part, own in {"all": group, **(families if len(families) > 1 else {})}.items():
            budget = own[0].settings.get("time_limit")
            yield _cells(
                own[0].method,
                # Problems with their own noise stay together.
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
    """A warning if only some problems ran, since reported rates are over whole benchmarks; otherwise empty."""
    ran, there = len({record.plain_problem for record in records}), len(load_suite(suite.name).problems)
    if ran >= there:
        return ""
    return (
        f"**Only {ran} of the {there} problems of this suite ran:** rates over a selection cannot be set beside rates "
        "over other problems."
    )


def _on_the_front(records: Sequence[Record], remark: str) -> str:
    """A note on laws that occur anywhere on the front, which is how others count; empty if not checked."""
    asked = grouped((record for record in records if record.front_solution is not None), "method")
    shares = [f"{method} {sum(bool(r.front_solution) for r in own)} of {len(own)}" for method, own in asked.items()]
    return f"Laws that stand anywhere on the front{remark}: {', '.join(shares)}." if shares else ""


def scaling_sheets(records: Sequence[Record]) -> list[Sheet]:
    """Tables of success with irrelevant columns, and of how time and memory grow with the rows."""
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
    """The slope of log(value) over log(size) from positive values; NaN if there are fewer than two."""
    pairs = [(math.log(s), math.log(v)) for s, v in zip(sizes, values, strict=True) if v > 0 and math.isfinite(v)]
    if len(pairs) < 2:
        return math.nan
    x, y = np.array(pairs).T
    return float(np.polyfit(x, y, 1)[0])
