"""Constraints on formulas: nesting, costs, columns, constants, exponents, and the shape of the values.

Design. `Constraints` is plain data, checked on creation and again against the columns of a table. It acts in two
places. It steers the search: sub-networks with a forbidden nesting or without a required column are neither drawn nor
kept (`network.nesting`, through `Prior`). And every finished formula is checked, however it was found
(`formula.polish`, `formula.sketch`): the first of its equal forms that is allowed is used, and a formula without such a
form is dropped. Only the second is a guarantee. A formula that breaks a shape is fitted again so that it has that shape
(`shapes.mending`). Shapes are checked over the ranges of a table, which `over` sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ceql import operators
from ceql.dimensions import Rule
from ceql.dimensions.explained import is_explained
from ceql.errors import InputError, unknown_name
from ceql.expression.operations import contained, nests, numbers_in
from ceql.shapes.consistency import check_together
from ceql.shapes.exponents import Exponents
from ceql.shapes.fitting import held_values
from ceql.shapes.grammar import read_shape
from ceql.shapes.grid import Frame
from ceql.shapes.mending import mended
from ceql.shapes.policy import POLICY, ShapePolicy
from ceql.shapes.seeds import seeds
from ceql.shapes.shape import Shape
from ceql.shapes.verdicts import Verdict, keeps, verdict

_ALWAYS_THERE = ("id", "const")
_EXAMPLES = {"forbidden_nesting": '{"exp": ("exp", "sin")}', "costs": '{"sin": 3}', "known": '{"g": 9.81}'}


@dataclass(frozen=True)
class Constraints:
    """The constraints that every formula of the front satisfies. All are optional.

    Parameters
    ----------
    forbidden_nesting
        Per operator, those that must not occur anywhere inside it: ``{"exp": ("exp", "sin")}``.
    costs
        How much an operator adds to the complexity, ``{"sin": 3}``; all others count 1.
    required
        Columns that every formula must contain. The constant at the start of each front is exempt, but never chosen.
    constants_within
        The smallest and largest value of all numbers except exponents; 1 and -1 are always allowed.
    known
        Constants of known value, ``{"g": 9.81}``. A fitted constant that agrees with one of them, or with a simple
        multiple or power of it, is set to exactly that value and no longer fitted.
    without
        Operators that must not occur.
    shapes
        Properties of the formula's values, as sentences: ``"increasing in x"``, ``"f -> 0 as x -> inf"``,
        ``"f(x=0) = 1"``, ``"positive for x in [0, 10]"``. The documentation lists them all.
    exponents
        The exponents that may occur, ``(0.5, 2)``; 1 is always allowed, and 1/u counts as u to the power of -1.
    exponents_within
        The smallest and largest exponent.
    dimensions
        The rule for which formulas are dimensionally possible. It is derived from ``units``; do not set it yourself.
    """

    forbidden_nesting: Mapping[str, Sequence[str]] = field(default_factory=dict)
    costs: Mapping[str, int] = field(default_factory=dict)
    required: Sequence[str] = ()
    constants_within: tuple[float, float] | None = None
    known: Mapping[str, float] = field(default_factory=dict)
    without: Sequence[str] = ()
    shapes: Sequence[str] = ()
    exponents: Sequence[float] = ()
    exponents_within: tuple[float, float] | None = None
    dimensions: Rule | None = None
    frame: Frame | None = field(default=None, init=False, repr=False, compare=False)  # the table that shapes refer to
    looks: ShapePolicy = field(default=POLICY, init=False, repr=False, compare=False)  # how finely shapes are checked

    def __post_init__(self) -> None:
        for name in ("forbidden_nesting", "costs", "known"):
            if not isinstance(getattr(self, name), Mapping):
                raise InputError(f"{name} is a dictionary, such as {_EXAMPLES[name]}, not {getattr(self, name)!r}.")
        nesting = {outer: _names(inner, "forbidden_nesting") for outer, inner in self.forbidden_nesting.items()}
        object.__setattr__(self, "forbidden_nesting", nesting)
        object.__setattr__(self, "costs", dict(self.costs))
        object.__setattr__(self, "known", dict(self.known))
        object.__setattr__(self, "required", _names(self.required, "required"))
        object.__setattr__(self, "without", _names(self.without, "without"))
        for name in (*nesting, *(name for inner in nesting.values() for name in inner), *self.costs, *self.without):
            _check_operator(name)
        for name, cost in self.costs.items():
            if isinstance(cost, bool) or not isinstance(cost, int | np.integer) or cost < 1:
                raise InputError(f"The cost of {name!r} must be a whole number of at least 1, not {cost!r}.")
        for name, value in self.known.items():
            if not _is_number(value) or value == 0.0:
                raise InputError(f"The known constant {name!r} must be a number other than 0, not {value!r}.")
        if self.constants_within is not None:
            object.__setattr__(self, "constants_within", _bounds(self.constants_within, "constants_within"))
        if self.exponents_within is not None:
            object.__setattr__(self, "exponents_within", _bounds(self.exponents_within, "exponents_within"))
        if isinstance(self.exponents, str) or not all(map(_is_number, self.exponents)):
            raise InputError(f"exponents takes a list of numbers, such as (0.5, 2, -1), not {self.exponents!r}.")
        object.__setattr__(self, "exponents", tuple(map(float, self.exponents)))
        if isinstance(self.shapes, str):
            raise InputError(f"shapes takes a list of sentences, such as ('increasing in x',), not {self.shapes!r}.")
        object.__setattr__(self, "shapes", tuple(str(read_shape(text)) for text in self.shapes))
        check_together(self.asked)

    def __bool__(self) -> bool:
        return self.dimensions is not None or any(getattr(self, name) not in ({}, (), None) for name in self._names())

    @classmethod
    def _names(cls) -> list[str]:
        """Return the names of the fields that a user sets."""
        return [field.name for field in fields(cls) if field.init and field.name != "dimensions"]

    def __hash__(self) -> int:
        return hash(repr(self))

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise an error if a column that is required or occurs in a shape is not in the table."""
        for name in (*self.required, *(name for shape in self.asked for name in shape.names)):
            if name not in names:
                raise unknown_name("column", name, names)

    @cached_property
    def asked(self) -> tuple[Shape, ...]:
        """The shapes, parsed."""
        return tuple(map(read_shape, self.shapes))

    @property
    def is_about_shape(self) -> bool:
        """Whether it constrains values or exponents, which other constants may satisfy."""
        return bool(self.shapes) or bool(self.powers)

    @cached_property
    def powers(self) -> Exponents:
        return Exponents(self.exponents_within, tuple(self.exponents))

    def over(self, names: Sequence[str], x: np.ndarray, y: np.ndarray, policy: ShapePolicy = POLICY) -> Constraints:
        """Return the constraints for this table, whose ranges apply to shapes that name none."""
        bound = replace(self)
        object.__setattr__(bound, "frame", Frame.of(names, x, y))
        object.__setattr__(bound, "looks", policy)
        return bound

    def keeps_shape(self, expression: Any) -> bool:
        """Return whether its exponents are allowed and its values have the required shapes, checked on a grid."""
        if not self.powers.allow(expression):
            return False
        return self.frame is None or keeps(self.asked, expression, self._symbols, self.frame, self.looks)

    @property
    def _symbols(self) -> tuple[sympy.Symbol, ...]:
        return () if self.frame is None else tuple(sympy.Symbol(name, real=True) for name in self.frame.names)

    def verdicts(self, expression: Any) -> tuple[Verdict, ...]:
        """Return, for each shape, whether the formula has it and how that is known."""
        if self.frame is None:
            return ()
        return tuple(verdict(shape, expression, self._symbols, self.frame, self.looks) for shape in self.asked)

    def mended(self, expression: Any, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
        """Return the nearest formula that satisfies all constraints, fitted to these rows; None if there is none."""
        if self.frame is None:
            return None
        given = (x, y, weight), self.asked, self.powers, self.frame
        return mended(expression, self._symbols, *given, self.allows, self.looks)

    def seeds(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> list[Any]:
        """Return simple formulas that have the shapes, or nearly, fitted to these rows; the best first."""
        return [] if self.frame is None else seeds(self.asked, self._symbols, self.frame, (x, y, weight), self.looks)

    def held(self, form: Any, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        """Return the constants of a fixed form, fitted so that it has the shapes; None if that is not possible."""
        if self.frame is None:
            return None
        tried = held_values(form, self._symbols, x, y, weight, self.asked, self.frame, self.looks)
        return next((values for values in tried if self.allows(form.substitute(values))), None)

    def allows(self, expression: Any) -> bool:
        """Return whether a finished formula, in the form given, satisfies all constraints."""
        if not self.is_possible(expression):
            return False
        if set(self.required) - {symbol.name for symbol in expression.free_symbols}:
            return False
        if nests(expression, self.nesting) or contained(expression) & set(self.without):
            return False
        return self.allows_numbers(expression) and self.keeps_shape(expression)

    def is_possible(self, expression: Any) -> bool:
        """Return whether the formula is dimensionally possible, as far as units are known."""
        return self.dimensions is None or self.dimensions.allows(expression)

    def explains(self, expression: Any) -> bool:
        """Return whether its numbers are simple or known constants, which is required if numbers carry no units."""
        return self.dimensions is None or not self.is_strict or is_explained(self.dimensions, expression)

    @property
    def is_strict(self) -> bool:
        """Whether units are known and numbers carry none, except named constants."""
        return self.dimensions is not None and self.dimensions.dimensions.is_strict

    def allows_numbers(self, expression: Any) -> bool:
        if self.constants_within is None:
            return True
        low, high = self.constants_within
        return all(low <= value <= high for value in numbers_in(expression))

    @property
    def nesting(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((outer, tuple(inner)) for outer, inner in self.forbidden_nesting.items())

    def as_dict(self) -> dict[str, Any]:
        """Return plain text and numbers for a file, which `from_dict` reads back."""
        return {
            "forbidden_nesting": {outer: list(inner) for outer, inner in self.forbidden_nesting.items()},
            "costs": {name: int(cost) for name, cost in self.costs.items()},
            "required": list(self.required),
            "constants_within": None if self.constants_within is None else list(self.constants_within),
            "known": {name: float(value) for name, value in self.known.items()},
            "without": list(self.without),
            "shapes": list(self.shapes),
            "exponents": list(self.exponents),
            "exponents_within": None if self.exponents_within is None else list(self.exponents_within),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Constraints:
        kinds = cls._names()
        for name in content if isinstance(content, Mapping) else ():
            if name not in kinds:
                raise InputError(str(unknown_name("constraint", name, kinds)))
        try:
            return cls(**content)
        except (TypeError, AttributeError) as error:
            raise InputError(f"These are not constraints: {error}.") from error


def _names(given: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise InputError(f"{what} takes lists of names, such as ('exp', 'sin') or ('x1',), not {given!r}.")
    return tuple(given)


def _check_operator(name: str) -> None:
    known = [other for other in operators.names() if other not in _ALWAYS_THERE]
    if name not in known:
        raise unknown_name("operator", name, known)
    if operators.get(name).definition is not None:
        raise InputError(
            f"The operator {name!r} is a custom one, which formulas show only as the operators it is made of: "
            "name those."
        )


def _is_number(value: Any) -> bool:
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return real and bool(np.isfinite(value))


def _bounds(given: Any, what: str) -> tuple[float, float]:
    pair = tuple(given) if isinstance(given, Sequence) else ()
    if len(pair) != 2 or not all(_is_number(bound) for bound in pair) or not pair[0] < pair[1]:
        raise InputError(f"{what} is a pair of numbers, the lower first, such as (-10, 10), not {given!r}.")
    return float(pair[0]), float(pair[1])


NONE = Constraints()
