"""What a formula must and must not be: nesting, costs, columns, sizes of constants, known constants.

Design. `Constraints` is plain data, checked when it is made and once more against the columns of a table. It acts in
two places. The search is steered by it: sub-networks whose graph nests what must not be nested, or leaves out a column
that must be there, are neither drawn nor kept (`network.nesting`, through `Prior`). And every finished formula is
judged by it, whatever way it came about (`formula.polish`, `formula.sketch`): of the equal forms of a formula the
first that is allowed stands for it, and a formula without such a form is dropped. Only the second is the guarantee.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ceql import operators
from ceql.errors import InputError, unknown_name
from ceql.expression.operations import contained, nests, numbers_in

_ALWAYS_THERE = ("id", "const")
_EXAMPLES = {"forbidden_nesting": '{"exp": ("exp", "sin")}', "costs": '{"sin": 3}', "known": '{"g": 9.81}'}


@dataclass(frozen=True)
class Constraints:
    """What every formula of the front keeps to. All are optional.

    Parameters
    ----------
    forbidden_nesting
        Per operator, those that may not stand anywhere inside it: ``{"exp": ("exp", "sin")}``.
    costs
        How much an operator counts in the complexity, ``{"sin": 3}``; what is not named counts 1.
    required
        Columns that occur in every formula. The constant that opens each front is excepted, but not chosen.
    constants_within
        The least and the largest value of every number that is no exponent; 1 and -1 always may occur.
    known
        Constants of known value, ``{"g": 9.81}``. A fitted constant that agrees with one of them, or with a simple
        multiple or power of it, is set to exactly that and no longer fitted.
    without
        Operators that do not occur.
    """

    forbidden_nesting: Mapping[str, Sequence[str]] = field(default_factory=dict)
    costs: Mapping[str, int] = field(default_factory=dict)
    required: Sequence[str] = ()
    constants_within: tuple[float, float] | None = None
    known: Mapping[str, float] = field(default_factory=dict)
    without: Sequence[str] = ()

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
            object.__setattr__(self, "constants_within", _bounds(self.constants_within))

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) not in ({}, (), None) for field in fields(self))

    def __hash__(self) -> int:
        return hash(repr(self))

    def check_columns(self, names: Sequence[str]) -> None:
        """Complains of a required column that the table does not have."""
        for name in self.required:
            if name not in names:
                raise unknown_name("column", name, names)

    def allows(self, expression: Any) -> bool:
        """Whether a finished formula, as it is written, keeps to all of this."""
        if set(self.required) - {symbol.name for symbol in expression.free_symbols}:
            return False
        if nests(expression, self.nesting) or contained(expression) & set(self.without):
            return False
        return self.allows_numbers(expression)

    def allows_numbers(self, expression: Any) -> bool:
        if self.constants_within is None:
            return True
        low, high = self.constants_within
        return all(low <= value <= high for value in numbers_in(expression))

    @property
    def nesting(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((outer, tuple(inner)) for outer, inner in self.forbidden_nesting.items())

    def as_dict(self) -> dict[str, Any]:
        """Plain text and numbers, for a file; `from_dict` reads it back."""
        return {
            "forbidden_nesting": {outer: list(inner) for outer, inner in self.forbidden_nesting.items()},
            "costs": {name: int(cost) for name, cost in self.costs.items()},
            "required": list(self.required),
            "constants_within": None if self.constants_within is None else list(self.constants_within),
            "known": {name: float(value) for name, value in self.known.items()},
            "without": list(self.without),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Constraints:
        kinds = [field.name for field in fields(cls)]
        for name in content if isinstance(content, Mapping) else ():
            if name not in kinds:
                raise InputError(str(unknown_name("constraint", name, kinds)))
        try:
            return cls(**content)
        except (TypeError, AttributeError) as error:
            raise InputError(f"These are no constraints: {error}.") from error


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
            f"The operator {name!r} is your own: in a formula it is not seen as such. Name what it is made of."
        )


def _is_number(value: Any) -> bool:
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return real and bool(np.isfinite(value))


def _bounds(given: Any) -> tuple[float, float]:
    pair = tuple(given) if isinstance(given, Sequence) else ()
    if len(pair) != 2 or not all(_is_number(bound) for bound in pair) or not pair[0] < pair[1]:
        raise InputError(f"constants_within is a pair of numbers, the lower first, such as (-10, 10), not {given!r}.")
    return float(pair[0]), float(pair[1])


NONE = Constraints()
