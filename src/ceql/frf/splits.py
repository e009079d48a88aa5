"""Which repetitions are held out: `first:56` trains on the first 56, `every:5` holds out every fifth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.errors import InputError

_LEAST = {"first": 1, "every": 2}  # the smallest number that a rule can have


@dataclass(frozen=True)
class Split:
    """A rule for repetition numbers, which count from 1."""

    rule: str
    number: int

    def held_out(self, repetitions: np.ndarray) -> np.ndarray:
        """A mask that is True for repetitions that are held out."""
        if self.rule == "first":
            return repetitions > self.number
        return repetitions % self.number == 0

    def __str__(self) -> str:
        return f"{self.rule}:{self.number}"


def parse_split(text: str) -> Split:
    rule, _, number = text.partition(":")
    if rule not in _LEAST or not number.isdecimal() or int(number) < _LEAST[rule]:
        raise InputError(
            f"{text!r} is not a split. Write first:56 to train on repetitions 1 to 56, or every:5 to hold out every "
            "fifth (2 or more)."
        )
    return Split(rule, int(number))
