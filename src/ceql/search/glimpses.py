"""The results of a search so far, for display: the best formula of every size, finished or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sympy

from ceql.choice.criterion import per_row
from ceql.data.dataset import Dataset
from ceql.expression import node_count
from ceql.expression.text.write import short_text
from ceql.formula import Formula, constant_formula, make_symbols, mean_square, values_of
from ceql.search.outcome import Progress
from ceql.search.stage import Search, Stage, proposers
from ceql.search.state import SearchState

WRITING = "writing the formulas down"
_ROWS = 500  # on which fits that are not finished are judged
_FITS, _PROPOSED = 8, 40  # formulas of the search and of the linear algebra that are looked at: each takes milliseconds
_GAIN = 0.98  # a larger formula is shown if its loss is below this share of that of every smaller one


@dataclass(frozen=True)
class Glimpse:
    """A formula on its way, in the user's units."""

    expression: Any
    complexity: int
    loss: float
    is_best: bool = False  # by the criterion of the search: loss and size


def tell_beginning(search: Search, stage: Stage) -> None:
    """Reports what there is before the first round: a constant and the best straight line in one column."""
    few = search.data.thinned(_ROWS)
    front = _best_of_every_size([_constant(few), *_lines(few)], len(few.y))
    seen, there = len(stage.main.samples.y), len(search.data.y)
    rows = f"{seen:,} of {there:,} rows" if seen < there else ""
    given = search.watch.seconds, search.settings.time_limit, 0, front[-1].loss, rows
    search.report(Progress(*given, formula=lambda: short_text(front[-1].expression), front=lambda: front))


def _constant(data: Dataset) -> Glimpse:
    formula = constant_formula(data)
    return Glimpse(formula.expression, formula.complexity, formula.loss)


def _lines(data: Dataset) -> Iterator[Glimpse]:
    """A line in each column that varies; weighted least squares, about the means."""
    middle = np.average(data.y, weights=data.weight)
    for symbol, x in zip(make_symbols(data.names), data.x.T, strict=True):
        around = x - np.average(x, weights=data.weight)
        spread = mean_square(around, data.weight)
        if not 0.0 < spread < np.inf:
            continue
        slope = float(np.mean(data.weight * around * (data.y - middle)) / spread)
        expression = sympy.Float(slope) * symbol + sympy.Float(float(middle + slope * (around - x)[0]))
        loss = mean_square(data.y - middle - slope * around, data.weight)
        yield Glimpse(expression, node_count(expression), loss)


def tell_round(search: Search, stage: Stage, state: SearchState, report: Progress) -> None:
    """Reports a round, with the formulas that there are for whoever asks for them."""
    search.report(replace(report, front=partial(_front_of_round, search, stage, state)))


def tell_finished(search: Search, starts: int, formulas: Sequence[Formula]) -> None:
    """Reports formulas that are being written down at the end of a search."""
    if not formulas:
        return
    best = min(formulas, key=lambda formula: formula.loss)
    given = search.watch.seconds, search.settings.time_limit, starts, best.loss, WRITING
    glimpses = [Glimpse(f.expression, f.complexity, f.loss) for f in formulas]
    front = partial(_best_of_every_size, glimpses, len(search.data.y))
    search.report(Progress(*given, formula=lambda: short_text(best.expression), front=front))


def _front_of_round(search: Search, stage: Stage, state: SearchState) -> list[Glimpse]:
    few = search.data.thinned(_ROWS)
    symbols = make_symbols(few.names)
    found = [_constant(few)]
    for expression in (*_proposed(stage, state), *_fits(stage, state)):
        values = values_of(expression, symbols, few.x)
        if values is not None:
            found.append(Glimpse(expression, node_count(expression), mean_square(values - few.y, few.weight)))
    return _best_of_every_size(found, len(search.data.y))


def _proposed(stage: Stage, state: SearchState) -> list[Any]:
    asked = proposers(stage, state)
    return [formula.expression for formula in stage.candidates.of(asked)[:_PROPOSED]] if asked else []


def _fits(stage: Stage, state: SearchState) -> Iterator[Any]:
    """The best fit of each number of edges, the fewest edges first."""
    chunk = state.targets[0].archive.chunk
    sizes = chunk.edges.sum(axis=1)
    usable = np.isfinite(chunk.misfit) & chunk.in_domain
    for size in np.unique(sizes[usable])[:_FITS]:
        rows = np.flatnonzero(usable & (sizes == size))
        yield stage.main.expression(state.targets[0].fit(int(rows[np.argmin(chunk.misfit[rows])])))


def _best_of_every_size(found: Sequence[Glimpse], rows: int) -> list[Glimpse]:
    front: list[Glimpse] = []
    for glimpse in sorted(found, key=lambda g: (g.complexity, g.loss)):
        if np.isfinite(glimpse.loss) and (not front or glimpse.loss < _GAIN * front[-1].loss):
            front.append(glimpse)
    losses, sizes = (np.array([getattr(g, name) for g in front], float) for name in ("loss", "complexity"))
    best = int(np.argmin(per_row(losses, sizes, rows))) if front else -1
    return [replace(glimpse, is_best=k == best) for k, glimpse in enumerate(front)]
