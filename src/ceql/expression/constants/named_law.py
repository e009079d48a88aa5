"""The known law or template that a formula is an instance of, with its named constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.expression.constants.named import NamedForm

TEMPLATE = "template"  # used as the name of a law if it is a user's template


@dataclass(frozen=True)
class LawConstant:
    """A constant of a law. Its standard error is infinite if the rows do not determine it, and zero if it is known or
    on a bound."""

    name: str
    meaning: str
    value: float
    error: float
    low: float = -np.inf
    high: float = np.inf

    @property
    def stands_on_bound(self) -> bool:
        """Whether it is on a bound that the fit would otherwise have crossed."""
        return self.low < self.high and self.error == 0.0 and (self.value <= self.low or self.value >= self.high)

    @property
    def remark(self) -> str:
        """Its meaning, with a remark if it is on a bound."""
        return f"{self.meaning}, at its bound" if self.stands_on_bound else self.meaning


@dataclass(frozen=True)
class NamedLaw:
    """A known law or a template: its name and text, and its constants with the names used there."""

    name: str
    field: str
    text: str  # the formula over the columns of the table
    constants: tuple[LawConstant, ...]
    known: int = 0  # how well known it is, which sets its price: 1 (best) to 4; 0: it is priced by its structure
    others: tuple[str, ...] = ()  # its other names

    @property
    def is_template(self) -> bool:
        """Whether it is a user's template: then its text can be parsed, and its constants are those of the formula."""
        return self.name == TEMPLATE

    def form(self, columns: Sequence[str]) -> NamedForm:
        """Parse the text of a template over these columns."""
        names, values = zip(*((c.name, (c.value, c.low, c.high)) for c in self.constants), strict=True)
        return NamedForm.of(self.text, columns, names, *np.array(values, float).T)

    def at(self, values: np.ndarray, errors: np.ndarray) -> NamedLaw:
        """Return the law with other values and errors of its constants."""
        given = zip(self.constants, map(float, values), map(float, errors), strict=True)
        return replace(self, constants=tuple(replace(c, value=value, error=error) for c, value, error in given))
