"""The ablation: how often each variant finds each formula, beside the published rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ceql.bench.definitions import Suite
from ceql.bench.records import Record
from ceql.bench.sheets import Cell, Sheet

Verdict = Callable[[Record], bool]
_FITTED = 1e-6  # the authors count their 100 runs on E-1 to E-10 by this; for their ablation no criterion is published


def ablation_sheets(suite: Suite, records: Sequence[Record]) -> list[Sheet]:
    """Rates of formulas that fit, and of formulas that are the true ones."""
    return [
        _sheet(suite, records, f"Ablation: training MSE below {_FITTED:g}", _fits),
        _sheet(suite, records, "Ablation: exact formula", lambda record: record.exact),
    ]


def _fits(record: Record) -> bool:
    return record.error is None and record.train_mse is not None and record.train_mse < _FITTED


def _sheet(suite: Suite, records: Sequence[Record], title: str, verdict: Verdict) -> Sheet:
    """A row per variant, a column per problem."""
    problems = [p.name for p in suite.problems if any(r.problem == p.name for r in records)]
    methods = list(dict.fromkeys(record.method for record in records))
    header = ["variant", "what it is", *problems, "all", "authors"]
    rows = [_row(suite, records, method, problems, verdict) for method in methods]
    seeds = sorted({record.seed for record in records})
    note = (
        f"Share of runs, seeds {seeds[0]} to {seeds[-1]}. The authors' rates are for a linear rational in three "
        f"variables and stand beside {problems[0]}."
    )
    return Sheet(title, header, rows, note)


def _row(suite: Suite, records: Sequence[Record], method: str, problems: Sequence[str], verdict: Verdict) -> list[Cell]:
    variant = suite.variants.get(method)
    runs = [r for r in records if r.method == method]
    label = variant.label if variant else _LABELS.get(method, "")
    reported = "–" if variant is None or variant.published is None else f"{variant.published:.2f}"
    rates = [_rate([r for r in runs if r.problem == p], verdict) for p in problems]
    return [Cell(method), Cell(label), *rates, _rate(runs, verdict), Cell(reported)]


def _rate(runs: Sequence[Record], verdict: Verdict) -> Cell:
    return Cell(f"{sum(map(verdict, runs)) / len(runs):.2f}" if runs else "–")


_LABELS = {
    "ceql": "search over sub-networks, complex weights",
    "ceql-real": "the same, real weights",
    "ceql-unpenalised": "the same, no imaginary penalty",
    "ceql-dense": "the search's fits from dense starts of the paper's network",
    "ceql-paper": "paper's training, log and sqrt in the library (as published)",
}
