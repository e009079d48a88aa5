"""Templates: the known part of a formula, as text, and declarations of what the search has to find.

    Template(
        "k * exp(-E/T) * f",
        parameters={"k": Parameter(), "E": Parameter(low=0, about=1000)},
        functions={"f": Unknown(["c"])},
    )

Names in the text are columns of the data, parameters (numbers), unknown functions (each a small symbolic network over
some columns) or sums of terms, whose number is found from the data. A template is plain data: it is compared, copied,
pickled and saved as such. `templates.assembly` makes a model of it once the columns are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from ceql import operators as library
from ceql.errors import InputError
from ceql.expression.complex_parts import UNIT
from ceql.expression.text.tokens import tokenise

_LIMIT = float("inf")
DEFAULT_OPERATORS = ("square", "mul", "div", "sqrt")
MOST_TERMS = 60


@dataclass(frozen=True)
class Parameter:
    """A number to be found. `about` is its size, if known; the search then starts there.

    The bounds `low` and `high` are inclusive. `sign` "+" or "-" keeps the number strictly on its side of zero. A
    `value` fixes it: ``Parameter(value=9.81)`` is a name for a known number.
    """

    low: float = -_LIMIT
    high: float = _LIMIT
    sign: str | None = None
    about: float | None = None
    value: float | None = None

    def __post_init__(self) -> None:
        for name in ("low", "high", "about", "value"):
            _check_number(getattr(self, name), name, optional=name in ("about", "value"))
        if self.value is not None:
            if not np.isfinite(self.value):
                raise InputError(f"The value of a parameter must be a finite number, not {self.value!r}.")
            bounds = ((-_LIMIT, _LIMIT), (self.value, self.value))
            if (self.low, self.high) not in bounds or self.sign is not None or self.about is not None:
                raise InputError("A parameter with a value is fixed: leave out its bounds, its sign and its size.")
            for bound in ("low", "high"):  # a known number has two equal bounds
                object.__setattr__(self, bound, float(self.value))
            return
        if not self.low < self.high:
            raise InputError(f"A parameter needs low < high, not low={self.low:g} and high={self.high:g}.")
        if self.sign not in (None, "+", "-"):
            raise InputError(f"The sign of a parameter is '+', '-' or None, not {self.sign!r}.")
        if self.sign is not None and (np.isfinite(self.low) or np.isfinite(self.high)):
            raise InputError("Give a parameter either a sign or bounds, not both: sign='+' already means above zero.")
        if self.about is not None and not 0 < self.about < _LIMIT:
            raise InputError(f"about is the size of a parameter, a positive number, not {self.about!r}.")

    @property
    def may_vanish(self) -> bool:
        """Whether it may be zero, that is, left out."""
        return self.value is None and self.sign is None and self.low <= 0.0 <= self.high

    @property
    def size(self) -> float:
        if self.value:
            return abs(float(self.value))
        return 1.0 if self.about is None else float(self.about)


@dataclass(frozen=True)
class Unknown:
    """A function to be found: a small symbolic network over these columns.

    Without operators it is a weighted sum of the columns and a constant. `layers` is the number of layers of operators.
    `about` is the size of its values, if known.
    """

    inputs: Sequence[str]
    operators: Sequence[str] = DEFAULT_OPERATORS
    layers: int = 2
    about: float = 1.0
    constant: bool = True  # whether its weighted sums may include a constant

    def __post_init__(self) -> None:
        if any(isinstance(names, str) or not isinstance(names, Iterable) for names in (self.inputs, self.operators)):
            raise InputError("inputs and operators must be lists of names, such as ['c'] and ['mul', 'sqrt'].")
        object.__setattr__(self, "inputs", tuple(map(str, self.inputs)))
        object.__setattr__(self, "operators", tuple(self.operators))
        if not self.inputs or len(set(self.inputs)) < len(self.inputs):
            raise InputError("An unknown function needs at least one column as input, and each only once.")
        for name in self.operators:
            library.get(name)
        if not isinstance(self.layers, int | np.integer) or self.layers < 1:
            raise InputError(f"An unknown function has at least one layer, not {self.layers!r}.")
        _check_number(self.about, "about")
        if not 0 < self.about < _LIMIT:
            raise InputError(f"about is the size of a function's values, a positive number, not {self.about!r}.")


@dataclass(frozen=True)
class Terms:
    """A sum of at most `most` terms of the same form, each with its own parameters and functions.

    `also` gives further sums over the same terms, such as the imaginary part besides the real part of a resonance.
    """

    formula: str
    most: int = 6
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    functions: Mapping[str, Unknown] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.formula, str):
            raise InputError("The formula of a sum's terms must be text, such as 'A/(x - p)'.")
        if not isinstance(self.most, int | np.integer) or not 1 <= self.most <= MOST_TERMS:
            raise InputError(f"A sum may have 1 to {MOST_TERMS} terms, not {self.most!r}.")
        _check_parts(parameters=self.parameters, functions=self.functions, also=self.also)
        _check_names(self.parameters, self.functions)


@dataclass(frozen=True)
class Template:
    """A formula with known and unknown parts.

    The formula is text. Names in it are columns of the data or declared here: numbers to be found, functions to be
    found, and sums of terms whose number is found from the data.
    """

    formula: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    functions: Mapping[str, Unknown] = field(default_factory=dict)
    sums: Mapping[str, Terms] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.formula, str):
            raise InputError("The formula of a template must be text, such as 'a*x + f'.")
        _check_parts(parameters=self.parameters, functions=self.functions, sums=self.sums)
        _check_names(self.parameters, self.functions, self.sums, *(terms.also for terms in self.sums.values()))
        for terms in self.sums.values():
            _check_names(self.parameters, self.functions, self.sums, terms.parameters, terms.functions, terms.also)
        found = [p for p in self.parameters.values() if p.value is None]
        if not (found or self.functions or self.sums):
            raise InputError("The template has nothing to be found: declare a parameter, a function or a sum.")

    @property
    def has_unit(self) -> bool:
        """Whether the formula contains the imaginary unit, that is, a name I that is not declared."""
        declared = (*self.parameters, *self.functions, *self.sums, *(k for s in self.sums.values() for k in s.also))
        return UNIT.name not in declared and any(token.text == UNIT.name for token in tokenise(self.formula))

    @property
    def is_fixed(self) -> bool:
        """Whether only numbers have to be found."""
        return not (self.functions or self.sums)

    def as_dict(self) -> dict[str, Any]:
        """Return plain text and numbers for a file, which `from_dict` reads back."""
        return _in_words(asdict(self))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Template:
        try:
            sums = {name: Terms(**{**terms, **_parts(terms)}) for name, terms in content["sums"].items()}
            return cls(str(content["formula"]), **_parts(content), sums=sums)
        except (TypeError, KeyError, AttributeError) as error:
            raise InputError(f"This is not a template: {error}.") from error


# By group of a template: the type of its parts, and an example.
_KINDS: Mapping[str, tuple[type, str]] = {
    "parameters": (Parameter, "{'k': Parameter()}"),
    "functions": (Unknown, "{'f': Unknown(['x'])}"),
    "sums": (Terms, "{'S': Terms('A/(x - p)', parameters={...})}"),
    "also": (str, "{'Q': 'B/(x - p)'}"),
}


def _check_parts(**groups: Any) -> None:
    """Raise an error for a list in place of a dict, or a number in place of a Parameter, before any fit."""
    for group, parts in groups.items():
        kind, example = _KINDS[group]
        if not isinstance(parts, Mapping):
            raise InputError(
                f"{group} of a template is a dict that gives each part its name, such as {example}, "
                f"not a {type(parts).__name__}: {parts!r}."
            )
        for name, part in parts.items():
            if not isinstance(part, kind):
                wanted = "a text" if kind is str else f"a {kind.__name__}(...)"
                raise InputError(f"{name!r} in the template must be {wanted}, not {part!r}.")


def _check_number(value: Any, name: str, optional: bool = False) -> None:
    if not (isinstance(value, Real) or (optional and value is None)):
        raise InputError(f"{name} must be a number, not {value!r}.")


def _check_names(*groups: Mapping[str, Any]) -> None:
    seen: set[str] = set()
    for group in groups:
        for name in group:
            if not isinstance(name, str) or not name.isidentifier():
                raise InputError(f"A name in a template must be a plain word such as 'k', not {name!r}.")
            if name in seen:
                raise InputError(f"{name!r} is declared twice in the template.")
            seen.add(name)


def _in_words(value: Any) -> Any:
    """Replace infinite bounds by None, since JSON has no infinity."""
    if isinstance(value, Mapping):
        return {key: _in_words(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_in_words(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _parts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters and functions from a file; bounds of None are left out, which makes them infinite."""
    known = {
        key: {name: value for name, value in given.items() if value is not None}
        for key, given in content["parameters"].items()
    }
    return {
        "parameters": {name: Parameter(**given) for name, given in known.items()},
        "functions": {name: Unknown(**given) for name, given in content["functions"].items()},
    }
