"""Which formula is reported: the one that the criterion chooses, or one that held-out rows prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ceql.choice.exactness import is_hit
from ceql.choice.selection import choose, or_simpler, or_tied
from ceql.choice.sifting import Sifted, sifted
from ceql.choice.validation import VALIDATION, Folds, HeldOut, held_out, is_beaten
from ceql.data.dataset import Dataset, typical_size
from ceql.engine.deadline import Deadline
from ceql.formula import Formula, mean_square
from ceql.search.kept_time import is_wide
from ceql.search.long_sums import JudgedSum
from ceql.search.losses import SQUARED
from ceql.search.settings import Settings


def by_criterion(shown: Sequence[Formula], settings: Settings, data: Dataset, held: HeldOut | None = None) -> int:
    """The row that the rule of the settings chooses."""
    first = _first_allowed(shown, settings)
    # A few gross outliers rule the mean of squares.
    size = mean_square(data.y, data.weight) if settings.loss == SQUARED else typical_size(data.y) ** 2
    held = None if held is None else replace(held, errors=held.errors[first:])
    return first + choose(shown[first:], settings.model_selection, len(data.y), size, held, settings.search.prices)


def by_rows_held_out(
    chosen: int,
    left: Sifted,
    lines: Sequence[Formula],
    sums: Sequence[JudgedSum],
    constant: Formula,
    data: Dataset,
    settings: Settings,
    folds: Folds | None,
    until: Deadline,
) -> Formula:
    """The formula to report, if the criterion has chosen this one of those that are left."""
    shown = (*left.front, *left.beside)
    if is_wide(data, settings):
        judged = [JudgedSum(line, _contest([line], data, folds)) for line in lines]
        unstruck = [each for each in sums if _is_unstruck(each.formula, left, constant, data, settings, until)]
        return _of_wide_table(shown, judged, unstruck, data, settings, folds)
    first, policy = _first_allowed(shown, settings), settings.search
    few = len(data.y) < VALIDATION.alone or data.x.shape[1] < policy.sifting.ties.columns
    if few or is_hit(shown[chosen], data):
        return shown[chosen]
    held = partial(_contest, data=data, folds=folds)
    tied = or_tied(chosen - first, shown[first:], held, len(data.y), policy.prices, policy.sifting.ties)
    return shown[first + tied]


def _of_wide_table(
    shown: Sequence[Formula],
    lines: Sequence[JudgedSum],
    sums: Sequence[JudgedSum],
    data: Dataset,
    settings: Settings,
    folds: Folds | None,
) -> Formula:
    """The formula to report for a wide table, after a comparison with a line in all columns and an unstruck long sum.
    Held-out rows judge these two fully, but flatter the others, whose structure was found with all rows."""
    policy = settings.search
    own = [each.formula for each in sums]
    others = [formula for formula in shown if formula not in own]
    first = _first_allowed(others, settings)
    chosen = by_criterion(others, settings, data) - first
    simpler = others[first + or_simpler(chosen, others[first:], data, folds, policy.prices, policy.sifting.simpler)]
    best = JudgedSum(simpler, _contest([simpler], data, folds))
    for line in lines:
        best = line if is_beaten(best.held, line.held, policy.sifting.beaten) else best
    for each in sums:
        beats_lines = all(is_beaten(line.held, each.held, policy.sifting.line_beaten) for line in lines)
        best = each if beats_lines and is_beaten(best.held, each.held, policy.sifting.beaten) else best
    return best.formula


def _contest(formulas: Sequence[Formula], data: Dataset, folds: Folds | None) -> HeldOut:
    return held_out(formulas, data, folds, times=VALIDATION.contest)


def _is_unstruck(
    formula: Formula, left: Sifted, constant: Formula, data: Dataset, settings: Settings, until: Deadline
) -> bool:
    """Whether no veto strikes it; it is examined now if that has not been done."""
    if formula in (*left.front, *left.beside):
        return True
    if any(struck.formula is formula for struck in left.struck):
        return False
    alone = sifted([formula], constant, data, 1, settings.search.prices, settings.search.sifting, until=until)
    return formula in (*alone.front, *alone.beside)


def _first_allowed(shown: Sequence[Formula], settings: Settings) -> int:
    """1 if the constant that opens the front may not be chosen, as it may lack columns, units or shapes; else 0."""
    opens = len(shown) > 1 and settings.template is None and not shown[0].expression.free_symbols
    return 1 if opens and not settings.constraints.allows(shown[0].expression) else 0
