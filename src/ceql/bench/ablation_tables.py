"""The tables of an ablation: each variant on each problem, and the problem with published rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ceql.bench.authors_criterion import DECIMALS, is_recovered
from ceql.bench.definitions import Problem, Suite
from ceql.bench.intervals import CONFIDENCE, counted
from ceql.bench.points import columns
from ceql.bench.record_tables import median, shown
from ceql.bench.records import Record, grouped
from ceql.bench.sheets import Cell, Sheet
from ceql.expression import parse_formula

FITTED = 1e-6  # the authors count their 100 runs on E-1 to E-10 by this training error
_THEIR_RUNS = 5
_NAMED = {
    "ceql": "search over sub-networks, complex weights",
    "ceql-real": "the same, nothing complex: neither weights nor the poles of sums",
    "ceql-unpenalised": "the same, no imaginary penalty",
    "ceql-no-elimination": "the same, no weights solved for while other numbers are searched",
    "ceql-no-sums": "the same, no search for sums",
    "ceql-no-exchange": "the same, networks do not search what is left beside terms of sums",
    "ceql-dense": "the search's fits from dense starts of the paper's network",
    "ceql-paper": "paper's training, the best of five starts, log and sqrt in the library (as published)",
}


def ablation_sheets(suite: Suite, records: Sequence[Record]) -> list[Sheet]:
    """Tables of the problem with published rates under every criterion, and of all problems under each of ours."""
    reported = suite.problems[0] if suite.problems else None
    first = [r for r in records if reported is not None and r.problem == reported.name]
    has_rates = any(variant.published is not None for variant in suite.variants.values())
    sheets = [_beside_theirs(suite, reported, first)] if reported is not None and first and has_rates else []
    return [
        *sheets,
        _by_problem(suite, records, "Ablation: exact formula", lambda record: record.exact),
        _by_problem(suite, records, f"Ablation: training MSE below {FITTED:g}", is_fitted),
    ]


def is_fitted(record: Record) -> bool:
    return record.error is None and record.train_mse is not None and record.train_mse < FITTED


def _beside_theirs(suite: Suite, problem: Problem, records: Sequence[Record]) -> Sheet:
    symbols = columns(problem.names)
    truth = parse_formula(problem.expression, problem.names)

    def recovered(record: Record) -> bool:
        if record.error or not record.expression:
            return False
        return is_recovered(parse_formula(record.expression, problem.names), truth, symbols)

    rows = []
    for method, runs in grouped(records, "method").items():
        variant = suite.variants.get(method)
        theirs = variant.published if variant else None
        said = "–" if theirs is None else f"{round(theirs * _THEIR_RUNS)} of {_THEIR_RUNS}"
        counts = [counted(sum(map(verdict, runs)), len(runs)) for verdict in (recovered, _is_exact, is_fitted)]
        size = shown(median(runs, "node_count"), ".0f")
        rows.append([Cell(cell) for cell in (method, label_of(suite, method), said, *counts, size)])
    note = (
        f"{_seeds(records).capitalize()}; in brackets Wilson's {CONFIDENCE:.0%} interval of the rate. The authors' "
        f"figures are theirs, of {_THEIR_RUNS} runs on one draw of the points; here every seed draws its own. Their "
        f"criterion: the cross-multiplied difference of the two fractions rounds to zero at {DECIMALS} decimals. "
        "Exact: constants within 1e-6."
    )
    header = ("variant", "what it is", "authors, their criterion", "here, their criterion", "here, exact")
    title = f"Ablation: {problem.name}, the authors' linear rational in three variables"
    return Sheet(title, [*header, f"here, training MSE < {FITTED:g}", "nodes"], rows, note)


def _is_exact(record: Record) -> bool:
    return record.exact


def label_of(suite: Suite, method: str) -> str:
    variant = suite.variants.get(method)
    return variant.label if variant else _NAMED.get(method, "")


def _by_problem(suite: Suite, records: Sequence[Record], title: str, verdict: Callable[[Record], bool]) -> Sheet:
    """A table with a row for each variant and a column for each problem."""
    ran = grouped(records, "problem")
    problems = [p.name for p in suite.problems if p.name in ran]
    rows = []
    for method, runs in grouped(records, "method").items():
        parts = [[r for r in runs if r.problem == p] for p in problems]
        rates = [f"{sum(map(verdict, part))}/{len(part)}" if part else "–" for part in parts]
        total = counted(sum(map(verdict, runs)), len(runs))
        rows.append([Cell(cell) for cell in (method, label_of(suite, method), *rates, total)])
    note = (
        f"Runs that succeeded, {_seeds(records)}; in brackets Wilson's {CONFIDENCE:.0%} interval of the rate over all."
    )
    return Sheet(title, ["variant", "what it is", *problems, "all"], rows, note)


def _seeds(records: Sequence[Record]) -> str:
    seeds = sorted({record.seed for record in records})
    return f"seeds {seeds[0]} to {seeds[-1]}"
