"""The model and the data that a report is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ceql.data.dataset import Dataset
from ceql.discovery import Discovery
from ceql.formula import Formula


@dataclass(frozen=True, eq=False)
class Subject:
    formula: Formula  # the row of the front that is reported
    discovery: Discovery
    data: Dataset
    parameters: Mapping[str, Any]  # of the regressor
    defaults: Mapping[str, Any]
    from_frame: bool  # whether the columns had names
    target: str
    table: str  # the file that the data came from, if known
    shapes: tuple[str, ...] = ()  # required shapes, and how it is known that the formula has them

    @property
    def row(self) -> int:
        """The row of the formula; rows of the front come first."""
        return next(k for k, formula in enumerate(self.discovery.formulas) if formula is self.formula)
