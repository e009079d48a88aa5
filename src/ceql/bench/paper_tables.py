"""The paper's tables: errors and sizes of all methods beside the published ones, and the recovered formulas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ceql.bench.definitions import Problem, Suite
from ceql.bench.published import Column, published
from ceql.bench.record_tables import by_problem
from ceql.bench.records import Record
from ceql.bench.sheets import Cell, Sheet, number
from ceql.expression import parse_formula

METRICS = {"interp_mse": "Interpolation MSE", "extrap_mse": "Extrapolation MSE", "node_count": "Node count (NC)"}
ROUNDING = 1e-24  # errors below this are machine precision and equally good
_FITS = 1e-3  # a formula that fits worse than this has no size worth comparing
_DIGITS = 6

Value = tuple[float, float]


def result_sheets(suite: Suite, records: Sequence[Record]) -> list[Sheet]:
    """One table per metric: a row per problem, a column per method, then the published columns."""
    ours = _ours(records)
    methods = list(dict.fromkeys(record.method for record in records))
    theirs = published(suite.name)
    problems = [p.name for p in suite.problems]
    sheets = []
    for metric, title in METRICS.items():
        header = ["", *methods, *(column.label for column in theirs)]
        rows = [_row(p, metric, ours, methods, theirs) for p in problems]
        sheets.append(Sheet(title, header, rows, _note(metric, records, theirs)))
    return sheets


def _row(
    problem: str, metric: str, ours: Mapping[Any, dict[str, Value]], methods: Sequence[str], theirs: Sequence[Column]
) -> list[Cell]:
    values = [ours.get((problem, method), {}).get(metric) for method in methods]
    values += [column.cell(metric, problem) for column in theirs]
    errors = [ours.get((problem, method), {}).get("interp_mse") for method in methods]
    errors += [column.cell("interp_mse", problem) for column in theirs]
    best = _best(values, errors, metric)
    cells = [number(*value, fixed=metric == "node_count") if value else Cell("–", "--") for value in values]
    return [Cell(problem), *(replace(cell, best=mark) for cell, mark in zip(cells, best, strict=True))]


def _best(values: Sequence[Value | None], errors: Sequence[Value | None], metric: str) -> list[bool]:
    """Which cells of a row are the best. The size of a formula that does not fit is no merit."""
    if metric == "node_count":
        judged = [v[0] if v and e and e[0] < _FITS else math.inf for v, e in zip(values, errors, strict=True)]
        return [math.isfinite(v) and v <= min(judged) + 1e-9 for v in judged]
    judged = [max(v[0], ROUNDING) if v and math.isfinite(v[0]) else math.inf for v in values]
    return [math.isfinite(v) and v <= min(judged) * (1 + 1e-9) for v in judged]


def _ours(records: Iterable[Record]) -> dict[tuple[str, str], dict[str, Value]]:
    table = by_problem(records)
    return {
        (row["problem"], row["method"]): {m: (row[f"{m}_mean"], row[f"{m}_sd"]) for m in METRICS}
        for row in table.to_dict("records")
    }


def _note(metric: str, records: Sequence[Record], theirs: Sequence[Column]) -> str:
    seeds = sorted({record.seed for record in records})
    parts = [f"Mean and standard deviation over the runs with a formula, seeds {seeds[0]} to {seeds[-1]}."]
    if theirs:
        parts.append("Columns marked (paper) are the paper's own numbers, of five runs each; it ran SINDy once.")
        absent = [c.label for c in theirs if c.method not in {record.method for record in records}]
        parts += [f"Not run here, only published: {', '.join(absent)}."] if absent else []
    if metric == "node_count":
        parts.append(f"Bold: the smallest among those with an interpolation MSE below {_FITS:g}.")
    else:
        parts.append(f"Bold: the best; below {ROUNDING:g} all are equally good.")
    failed = [record for record in records if record.error]
    parts += [f"{len(failed)} runs gave no formula."] if failed else []
    return " ".join(parts)


def formula_sheet(suite: Suite, records: Sequence[Record], method: str) -> Sheet:
    """Per problem the target and what `method` recovered: of its seeds the one with the least training error."""
    rows = []
    for problem in suite.problems:
        found = best_run(records, problem.name, method)
        if found is not None:
            rows.append([Cell(problem.name), *_formulas(problem, found), number(found.train_mse or 0.0), _yes(found)])
    note = "Of the seeds, the run with the least training MSE. Constants are rounded to six digits."
    return Sheet(f"Recovered by {method}", ["", "target", "recovered", "train MSE", "exact"], rows, note)


def best_run(records: Iterable[Record], problem: str, method: str) -> Record | None:
    """The run of a method on a problem with the least training error."""
    runs = [r for r in records if (r.problem, r.method) == (problem, method) and r.expression and not r.error]
    return min(runs, key=lambda r: math.inf if r.train_mse is None else r.train_mse, default=None)


def _yes(record: Record) -> Cell:
    return Cell("yes" if record.exact else "no")


def _formulas(problem: Problem, record: Record) -> list[Cell]:
    return [_formula(text, problem.names) for text in (problem.expression, record.expression or "")]


def _formula(text: str, names: Sequence[str]) -> Cell:
    import sympy

    expression = parse_formula(text, names)
    short: Any = expression.xreplace({f: sympy.Float(f, _DIGITS) for f in expression.atoms(sympy.Float)})
    return Cell(f"`{sympy.sstr(short, full_prec=False)}`", f"${sympy.latex(short, full_prec=False)}$")
