"""The law that a formula is, with its constants under the names that they have there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.expression.constants.named import NamedForm

TEMPLATE = "template"  # the name of what the user gave, where a law has its name


@dataclass(frozen=True)
class LawConstant:
    """A constant as the law calls it; its standard error is infinite where the rows do not determine it, and zero where
    it is known or stands on a bound."""

    name: str
    meaning: str
    value: float
    error: float
    low: float = -np.inf
    high: float = np.inf

    @property
    def stands_on_bound(self) -> bool:
        """Whether the fit would have gone further, had it been allowed to."""
        return self.low < self.high and self.error == 0.0 and (self.value <= self.low or self.value >= self.high)

    @property
    def remark(self) -> str:
        """What it means, and that it stands on a bound where it does."""
        return f"{self.meaning}, at its bound" if self.stands_on_bound else self.meaning


@dataclass(frozen=True)
class NamedLaw:
    """The law that a formula is: its name and text, and its constants under the names that they have there."""

    name: str
    field: str
    text: str  # over the columns of the table
    constants: tuple[LawConstant, ...]
    known: int = 0  # how widely, for its price: 1 to 4; 0 where its structure has to be paid for
    others: tuple[str, ...] = ()  # further names of it

    @property
    def is_template(self) -> bool:
        """Whether it is what the user gave: then its text can be read, and its constants are those of the formula."""
        return self.name == TEMPLATE

    def form(self, columns: Sequence[str]) -> NamedForm:
        """What the text of a template says, over these columns."""
        names, values = zip(*((c.name, (c.value, c.low, c.high)) for c in self.constants), strict=True)
        return NamedForm.of(self.text, columns, names, *np.array(values, float).T)

    def at(self, values: np.ndarray, errors: np.ndarray) -> NamedLaw:
        """The same with other numbers."""
        given = zip(self.constants, map(float, values), map(float, errors), strict=True)
        return replace(self, constants=tuple(replace(c, value=value, error=error) for c, value, error in given))
