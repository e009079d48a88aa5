"""Tables for differential equations: how well trajectories are reproduced, how often the structure is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ceql.bench.definitions import families
from ceql.bench.ode_judge import JUDGING
from ceql.bench.record_tables import median, shown
from ceql.bench.records import Record, grouped
from ceql.bench.sheets import Cell, Sheet, escaped

Group = Callable[[Record], tuple[str, ...]]

_RATES = ("runs", "trajectory", "generalises", "structure", "on offer", "equations", "median s", "worst s", "errors")
_RANKED = ("trajectory", "generalises", "structure")
_RATES_NOTE = (
    f"Trajectory: R² > {JUDGING.good:g} between the simulated trajectories and the true ones without noise, from the "
    "true initial states of the training data. Generalises: the same from initial states that were not trained on. "
    "Structure: the numbers of every true equation can be set so that it has the values of the one that was found, "
    "within 1e-6, with no number idle, and the one that was found has no more numbers. On offer: the structure of any "
    "system that the method gives. Equations: those with the right structure. A run without a system counts as none of "
    "these; seconds are of runs with one. Left out: share of the samples. Bold: the best of its group."
)
_MISSED = ("system", "noise", "left out", "method", "seed", "R²", "R² elsewhere", "right", "s", "found instead")
_MISSED_NOTE = (
    "Runs that miss the trajectory, the other initial states or the structure. Right: equations with the right "
    "structure, of all. Long systems are cut off here; the records have them whole."
)
_LONGEST = 160  # characters of a system in a table


def is_of_motion(records: Iterable[Record]) -> bool:
    """Whether these are runs on differential equations."""
    return any(record.structure is not None for record in records)


def ode_sheets(records: Sequence[Record]) -> list[Sheet]:
    """Tables of rates by noise, samples left out and method, also by number of states, and of the failures."""
    header = ("part", "noise", "left out", "method", *_RATES)
    by_states = ("part", "states", "noise", "left out", "method", *_RATES)
    missed = [record for record in records if not (reproduces(record) and generalises(record) and record.structure)]
    title = f"Missed: {len(missed)} of {len(records)} runs"
    return [
        Sheet("Systems of differential equations", header, list(_rows(records, _part)), _RATES_NOTE),
        Sheet("By number of states", by_states, list(_rows(records, _part_and_states))),
        *([Sheet(title, _MISSED, [_instead(record) for record in missed], _MISSED_NOTE)] if missed else []),
    ]


def reproduces(record: Record) -> bool:
    return record.r2 is not None and record.r2 > JUDGING.good


def generalises(record: Record) -> bool:
    return record.r2_test is not None and record.r2_test > JUDGING.good


def _levels(record: Record) -> tuple[str, ...]:
    return f"{record.noise:g}", f"{record.subsample:g}"


def _part(record: Record) -> tuple[str, ...]:
    return families(record.family)[0], *_levels(record)


def _part_and_states(record: Record) -> tuple[str, ...]:
    return families(record.family)[0], str(record.columns), *_levels(record)


def _rows(records: Sequence[Record], group: Group) -> Iterator[list[Cell]]:
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(group(record), []).append(record)
    for key, runs in sorted(groups.items()):
        rates = {method: _counts(own) for method, own in grouped(runs, "method").items()}
        best = {name: max(counts[name] for counts in rates.values()) for name in _RANKED}
        for method, own in grouped(runs, "method").items():
            cells = _rates(own, rates[method])
            marked = [
                replace(cell, best=len(rates) > 1 and rates[method][name] == best[name] > 0)
                if name in _RANKED
                else cell
                for name, cell in zip(_RATES, cells, strict=True)
            ]
            yield [*_cells(*key, method), *marked]


def _counts(runs: Sequence[Record]) -> dict[str, float]:
    """The share of successful runs for each criterion that methods are ranked by."""
    hits = (sum(map(reproduces, runs)), sum(map(generalises, runs)), sum(bool(run.structure) for run in runs))
    return {name: hit / len(runs) for name, hit in zip(_RANKED, hits, strict=True)}


def _rates(runs: Sequence[Record], counts: dict[str, float]) -> list[Cell]:
    equations = sum(run.right_equations or 0 for run in runs) / max(1, sum(run.columns or 0 for run in runs))
    worst = max((run.seconds for run in runs if run.seconds is not None and run.error is None), default=float("nan"))
    return _cells(
        len(runs),
        *(f"{100 * counts[name]:.0f} %" for name in _RANKED),
        f"{100 * sum(bool(run.front_solution) for run in runs) / len(runs):.0f} %",
        f"{100 * equations:.0f} %",
        shown(median(runs, "seconds"), ".1f"),
        shown(worst, ".1f"),
        sum(run.error is not None for run in runs),
    )


def _instead(record: Record) -> list[Cell]:
    right = f"{record.right_equations or 0} of {record.columns}"
    return [
        *_cells(record.base_problem, *_levels(record), record.method, record.seed),
        *_cells(shown(record.r2, ".5f"), shown(record.r2_test, ".5f"), right, shown(record.seconds, ".1f")),
        Cell(record.error) if record.error else _system(record.expression),
    ]


def _system(text: str | None) -> Cell:
    if text is None:
        return Cell("–")
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
    return Cell(f"`{short}`", rf"\texttt{{{escaped(short)}}}")


def _cells(*values: object) -> list[Cell]:
    return [Cell(str(value)) for value in values]
