"""The operator: its arguments, complex surrogate, exact real form and symbolic form in one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
import sympy

from ceql.operators.intervals import REALS, Domain
from ceql.operators.tape import TapeBuilder


class Argument(Enum):
    """How an operator uses one of its weighted sums."""

    REAL = "real"  # only the real part matters, so no imaginary weights are kept
    COMPLEX = "complex"  # the imaginary part smooths a pole, a branch point or an oscillation
    CONSTANT = "constant"  # a fitted number, such as an exponent, without inputs


# A complex argument is the pair (real slot, imaginary slot); a real one is (slot, None).
ArgumentSlots = tuple[int, int | None]


@dataclass(frozen=True)
class Operator:
    """A node of the network.

    ``surrogate`` replaces it in training, on complex128 arguments; the tape's real arithmetic must equal it.
    ``real`` is the operator itself, with NaN outside its domain. ``record`` writes it onto a tape.
    """

    name: str
    arguments: tuple[Argument, ...]
    surrogate: Callable[..., np.ndarray]
    real: Callable[..., np.ndarray]
    symbolic: Callable[..., sympy.Expr]
    record: Callable[..., int]
    complexity: int = 1
    domain: Domain = REALS  # the domain of its first argument in the final formula
    zero_at_zero: bool = True  # the value is zero for an empty argument, so such a unit can be removed
    oscillates: bool = False  # weights in its argument are frequencies
    imaginary_part: str | None = None  # the core's operator for the imaginary part of its complex value
    definition: tuple[tuple[sympy.Symbol, ...], sympy.Expr] | None = None  # a user's own: its arguments and formula

    def __str__(self) -> str:
        return str(self.symbolic(*sympy.symbols("x y")[: self.arity]))

    @property
    def arity(self) -> int:
        return len(self.arguments)


def recorded(opcode: str) -> Callable[..., int]:
    """Return a function that writes one tape node; complex arguments take two slots, real ones a single slot."""

    def record(tape: TapeBuilder, *arguments: ArgumentSlots, kinds: tuple[Argument, ...]) -> int:
        slots: list[int | None] = []
        for (re, im), kind in zip(arguments, kinds, strict=True):
            slots.append(re)
            if kind is Argument.COMPLEX:
                slots.append(im)
        return tape.operator(opcode, *slots)

    return record
