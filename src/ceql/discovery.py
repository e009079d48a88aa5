"""What a discovery comes to: plain data. What it is told and how it ends are the search's own words."""

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
    """The front, the formulas that compete beside it, the chosen one and how it came about.

    `chosen` and the three lists of numbers count the formulas of the front first and those beside it after them.
    """

    front: tuple[Formula, ...]
    chosen: int
    poles: tuple[Pole, ...]
    outcome: Outcome
    seconds: float
    starts: int
    imaginary_residue: float = 0.0  # what was neglected when the weights were put on the real axis
    rows_searched: int = 0  # the search looks at a sample of a long table; constants are fitted to all of it
    columns_searched: int = 0  # of a wide table it looks at those that promise most; 0: not known
    leftover: Path | None = None  # a checkpoint that nobody asked for: to be removed once the result is in safety
    shortlist: tuple[Formula, ...] = ()  # as likely as those of the front, but beaten in size and loss by one of them
    struck: tuple[Struck, ...] = ()  # formulas that may not be chosen, each with the sentence that says why
    weights: tuple[float, ...] = ()  # how likely each formula is among all of them, as far as the rows can tell
    r2: tuple[float, ...] = ()  # on the rows that the constants are fitted to
    units: Dimensions | None = None  # of the columns and the target, where they are known
    r2_cv: tuple[float, ...] = ()  # on rows held out, the constants fitted to the others; NaN: not computed

    @property
    def best(self) -> Formula:
        """The chosen formula."""
        return self.formulas[self.chosen]

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The front and what competes beside it."""
        return (*self.front, *self.shortlist)


def poles_of(formula: Formula, data: Dataset) -> tuple[Pole, ...]:
    """Where the formula blows up within the range of the data."""
    return tuple(formula.poles_among(data.x))


def over_all(found: Discovery, data: Dataset) -> Discovery:
    """The same with formulas that take all columns of the table."""
    symbols = make_symbols(data.names)
    front, beside = (tuple(f.over(symbols) for f in part) for part in (found.front, found.shortlist))
    struck = tuple(replace(one, formula=one.formula.over(symbols)) for one in found.struck)
    whole = replace(found, front=front, shortlist=beside, struck=struck)
    return replace(whole, poles=poles_of(whole.best, data))


def constant_units(formula: Formula, units: Dimensions | None) -> tuple[ConstantUnit, ...]:
    """Of the constants as they are shown; empty texts where nothing is known of them."""
    law = formula.law
    count = len(formula.constants if law is None else law.constants)
    unknown = (ConstantUnit(""),) * count
    if units is None:
        return unknown
    form = formula.form
    if law is not None and not law.is_template:
        try:
            form = law.form([symbol.name for symbol in formula.symbols])
        except FormulaError:  # its text is for people: a column may be called anything there
            return _by_value(law, form, units)
    errors = [error for _, error in formula.constants] if law is None else [c.error for c in law.constants]
    return units_of_constants(form.expr, form.symbols, form.values, units, errors) or unknown


def _by_value(law: NamedLaw, form: Any, units: Dimensions) -> tuple[ConstantUnit, ...]:
    """Of the constants of a law, as far as they are decimals of its formula."""
    found = units_of_constants(form.expr, form.symbols, form.values, units) or ()
    known = dict(zip(map(float, form.values), found, strict=False))
    return tuple(
        next((unit for value, unit in known.items() if math.isclose(value, c.value)), ConstantUnit(""))
        for c in law.constants
    )
