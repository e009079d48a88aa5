"""The error a reader of formulas raises."""

from __future__ import annotations


class FormulaError(ValueError):
    """A formula text cannot be read; ``position`` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (at character {position + 1})")
        self.position = position
