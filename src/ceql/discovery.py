"""The result of a discovery as plain data; its settings and outcome are those of the search."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ceql.choice.sifting import Struck
from ceql.data.dataset import Dataset
from ceql.dimensions import Dimensions
from ceql.dimensions.constants import ConstantUnit, units_of_constants
from ceql.expression import FormulaError
from ceql.expression.evaluate.poles import Pole
from ceql.formula import Formula, NamedLaw, make_symbols
from ceql.search.outcome import Outcome, Progress
from ceql.search.settings import SEARCHES, Settings

__all__ = ["SEARCHES", "Discovery", "Outcome", "Progress", "Settings", "constant_units", "poles_of"]


@dataclass(frozen=True, eq=False)
class Discovery:
    """The front, the formulas that compete beside it, the chosen one and how it was found.

    `chosen` is an index into `formulas`; `weights`, `r2` and `r2_cv` are in the same order.
    """

    front: tuple[Formula, ...]
    chosen: int
    poles: tuple[Pole, ...]
    outcome: Outcome
    seconds: float
    starts: int
    imaginary_residue: float = 0.0  # the imaginary part that was neglected when the weights were made real
    rows_searched: int = 0  # rows that the search used, a sample of a long table; constants are fitted to all rows
    columns_searched: int = 0  # columns that the search used, the most promising of a wide table; 0: not known
    leftover: Path | None = None  # a checkpoint made automatically, to be removed once the result is saved
    shortlist: tuple[Formula, ...] = ()  # about as likely as the front, but one of the front is smaller and fits better
    struck: tuple[Struck, ...] = ()  # formulas that may not be chosen, each with a sentence that says why
    weights: tuple[float, ...] = ()  # how likely each formula is relative to the others, judged by the rows
    r2: tuple[float, ...] = ()  # R2 on the rows that the constants are fitted to
    units: Dimensions | None = None  # units of the columns and the target, if known
    r2_cv: tuple[float, ...] = ()  # R2 on held-out rows, with constants fitted to the others; NaN: not computed

    @property
    def best(self) -> Formula:
        """The chosen formula."""
        return self.formulas[self.chosen]

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas of the front, then those that compete beside it."""
        return (*self.front, *self.shortlist)


def poles_of(formula: Formula, data: Dataset) -> tuple[Pole, ...]:
    """Return the poles of the formula within the range of the data."""
    return tuple(formula.poles_among(data.x))


def over_all(found: Discovery, data: Dataset) -> Discovery:
    """Return the discovery with formulas that take all columns of the table."""
    symbols = make_symbols(data.names)
    front, beside = (tuple(f.over(symbols) for f in part) for part in (found.front, found.shortlist))
    struck = tuple(replace(one, formula=one.formula.over(symbols)) for one in found.struck)
    whole = replace(found, front=front, shortlist=beside, struck=struck)
    return replace(whole, poles=poles_of(whole.best, data))


def constant_units(formula: Formula, units: Dimensions | None) -> tuple[ConstantUnit, ...]:
    """Return the units of the constants as they are shown; empty texts for those that are unknown."""
    law = formula.law
    count = len(formula.constants if law is None else law.constants)
    unknown = (ConstantUnit(""),) * count
    if units is None:
        return unknown
    form = formula.form
    if law is not None and not law.is_template:
        try:
            form = law.form([symbol.name for symbol in formula.symbols])
        except FormulaError:  # its text is meant for people, and column names in it may be unreadable for the parser
            return _by_value(law, form, units)
    errors = [error for _, error in formula.constants] if law is None else [c.error for c in law.constants]
    return units_of_constants(form.expr, form.symbols, form.values, units, errors) or unknown


def _by_value(law: NamedLaw, form: Any, units: Dimensions) -> tuple[ConstantUnit, ...]:
    """Return the units of a law's constants that occur as decimals in its formula; empty texts for the others."""
    found = units_of_constants(form.expr, form.symbols, form.values, units) or ()
    known = dict(zip(map(float, form.values), found, strict=False))
    return tuple(
        next((unit for value, unit in known.items() if math.isclose(value, c.value)), ConstantUnit(""))
        for c in law.constants
    )
