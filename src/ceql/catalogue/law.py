"""A named law as data: its formula, the names and meanings of its constants, and where fits of them start."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from ceql.errors import InputError
from ceql.expression import CompiledJacobian, FormulaError, parse_formula
from ceql.expression.complexity import HIDDEN_IN_A_POWER
from ceql.expression.symbolic import Expr
from ceql.expression.text.compiled import compiled
from ceql.expression.text.tokens import tokenise
from ceql.expression.text.write import readable_name
from ceql.formula import make_symbols
from ceql.operators import functions

_FOLDER = Path(__file__).parent / "laws"
PLAIN = "plain models"  # field of the models that need no theory; they are always fitted
UNNAMED = "small forms"  # field of the forms that are made of terms
OF_A_QUANTITY = (
    "size",
    "rate",
    "width",
    "place",
    "frequency",
    "half frequency",
    "below min",
    "above max",
    "quotient",  # coefficient of this quantity in a denominator, from the equation multiplied out
)
WITHOUT_ONE = ("exponent", "phase")
_START = re.compile(r"(?P<kind>[a-z ]+?)(?: (?:of|in))? (?P<quantity>1/.+|[xy].*)")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_NO_NODES = ("(", ")", "")
_FACTOR = re.compile(r"(?P<sign>[*/]?)(?P<name>x[1-9]|y)(?:\*\*(?P<power>[0-9.]+))?")


@dataclass(frozen=True)
class Start:
    """Where starting values come from: a feature of a quantity (a product of powers of columns), or given numbers."""

    kind: str
    quantity: tuple[tuple[str, float], ...] = ()
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True)
class Constant:
    """A constant of a law. `typical` is a value from textbook examples; without a `start` it is eliminated, being
    linear."""

    name: str
    meaning: str
    typical: float
    start: Start | None = None
    above: float | None = None
    below: float | None = None

    def allows(self, value: float) -> bool:
        return (self.above is None or value > self.above) and (self.below is None or value < self.below)


@dataclass(frozen=True)
class Column:
    """What a column of a law stands for, and the range over which a textbook would plot the law."""

    name: str
    meaning: str
    lower: float
    upper: float


@dataclass(frozen=True)
class Alias:
    """Another name of the same formula; `symbols` maps the law's constants to their names there."""

    name: str
    field: str
    symbols: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Law:
    """A family of formulas. SymPy parses the text only when it is needed."""

    name: str
    field: str
    formula: str
    columns: tuple[Column, ...]
    constants: tuple[Constant, ...]
    others: tuple[Alias, ...] = ()
    known: int = 4  # 1: used in all sciences, 2: in every textbook, 3: known beyond its field, 4: others, 0: no law

    @cached_property
    def expression(self) -> Expr:
        names = [c.name for c in (*self.columns, *self.constants)]
        try:
            return parse_formula(self.formula, names)
        except FormulaError as error:
            raise InputError(f"The law {self.name!r} cannot be read: {error}. Correct its formula.") from error

    @cached_property
    def program(self) -> CompiledJacobian:
        """The compiled values and derivatives, with the constants in the order in which they are listed."""
        program = compiled(self.formula, [column.name for column in self.columns], self.names)
        if not is_linear(program, self.linear):
            named = ", ".join(self.names[k] for k in self.linear)
            raise InputError(f"The law {self.name!r} is not linear in {named} together: give one of them a start.")
        return program

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(constant.name for constant in self.constants)

    @cached_property
    def linear(self) -> tuple[int, ...]:
        """The places of the constants that the law is linear in, which are eliminated."""
        return tuple(k for k, constant in enumerate(self.constants) if constant.start is None)

    @cached_property
    def nonlinear(self) -> tuple[int, ...]:
        return tuple(k for k, constant in enumerate(self.constants) if constant.start is not None)

    @cached_property
    def structure(self) -> int:
        """Approximately the number of nodes of the formula; a power with a constant exponent counts as an
        exponential."""
        nodes = sum(1 for token in tokenise(self.formula) if token.text not in _NO_NODES)
        return nodes + HIDDEN_IN_A_POWER * sum(step.operation == "power" for step in self.program.instructions)

    @property
    def size(self) -> tuple[int, int]:
        """The key by which laws are ordered: the number of constants, then the number of nodes."""
        return len(self.constants), self.structure

    @property
    def is_plain(self) -> bool:
        return self.field == PLAIN

    @property
    def is_named(self) -> bool:
        """Whether the law is known under its name, unlike small forms."""
        return self.field != UNNAMED

    def names_beside(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The names of its constants in a table with these columns: `a` becomes `a0` if a column is called `a`."""
        known = {*columns, *self.names}

        def numbered(name: str) -> str:
            return next(other for k in count() if (other := f"{name}{k}") not in known)

        return tuple(numbered(name) if name in columns else name for name in self.names)

    def text(self, columns: Sequence[str], table: Sequence[str]) -> str:
        """The formula with these columns of a table and the names of its constants, for reading rather than parsing."""
        places = dict(zip(self.names, self.names_beside(table), strict=True))
        places |= dict(zip((column.name for column in self.columns), map(readable_name, columns), strict=True))
        return _WORD.sub(lambda word: places.get(word.group(), word.group()), self.formula)

    def with_numbers(self, values: Sequence[float] | np.ndarray, columns: Sequence[str]) -> Expr:
        """The formula with these values of its constants, in these columns of a table."""
        # All are replaced at once, since a column of the table may have the name of a constant.
        names = (*self.names, *(column.name for column in self.columns))
        numbers = [sympy.Float(float(value)) for value in values]
        return self.expression.xreplace(
            dict(zip(make_symbols(names), [*numbers, *make_symbols(tuple(columns))], strict=True))
        )

    def allows(self, values: Sequence[float] | np.ndarray) -> bool:
        """Whether each constant is within the bounds of the law."""
        return all(constant.allows(float(value)) for constant, value in zip(self.constants, values, strict=True))


def is_linear(program: CompiledJacobian, linear: Sequence[int]) -> bool:
    """Whether the values are linear in these constants taken together."""
    degrees: list[int] = []
    for step in program.instructions:
        inner = [degrees[k] for k in step.operands]
        match step.operation:
            case "parameter":
                degrees.append(int(step.payload in linear))
            case "add":
                degrees.append(max(inner))
            case "multiply":
                degrees.append(sum(inner))
            case "divide" if inner[1] == 0:
                degrees.append(inner[0])
            case _:
                degrees.append(2 if any(inner) else 0)  # 2 stands for anything nonlinear
    return degrees[-1] <= 1


# ---- reading ------------------------------------------------------------------------------------------------------


@cache
def catalogue() -> tuple[Law, ...]:
    """All laws of the catalogue, the plain models first."""
    laws = [law for path in sorted(_FOLDER.glob("*.toml")) for law in read_laws(path.read_text(encoding="utf-8"))]
    _require_distinct([name for law in laws for name in (law.name, *(alias.name for alias in law.others))])
    return tuple(sorted(laws, key=lambda law: not law.is_plain))


def _require_distinct(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"The catalogue has several laws called {', '.join(twice)}: rename or join them.")


def read_laws(text: str) -> list[Law]:
    """The laws of one file, all from one field, with every check that does not need SymPy."""
    file = tomllib.loads(text)
    return [_read_law(entry, file["field"]) for entry in file["law"]]


def _read_law(entry: Mapping[str, Any], of_field: str) -> Law:
    name = entry["name"]
    columns = tuple(
        Column(key, column["is"], float(column["from"]), float(column["to"]))
        for key, column in entry.get("columns", {}).items()
    )
    constants = tuple(_read_constant(key, constant, name) for key, constant in entry["constants"].items())
    others = tuple(
        Alias(alias["name"], alias.get("field", of_field), alias.get("symbols", {})) for alias in entry.get("also", ())
    )
    law = Law(name, of_field, entry["formula"], columns, constants, others, entry.get("known", 4))
    _check(law)
    return law


def _read_constant(name: str, entry: Mapping[str, Any], law: str) -> Constant:
    start = entry.get("start")
    return Constant(
        name,
        entry["is"],
        float(entry["value"]),
        None if start is None else _read_start(start, f"The constant {name!r} of the law {law!r}"),
        entry.get("above"),
        entry.get("below"),
    )


def _read_start(text: str | Sequence[float], what: str) -> Start:
    if not isinstance(text, str):
        return Start("numbers", numbers=tuple(map(float, text)))
    if text in WITHOUT_ONE:
        return Start(text)
    found = _START.fullmatch(text)
    if found is None or found["kind"] not in OF_A_QUANTITY:
        kinds = ", ".join((*(f"{kind} of x1" for kind in OF_A_QUANTITY), *WITHOUT_ONE))
        raise InputError(f"{what} starts from {text!r}, which is not known. Known are {kinds}, or a list of numbers.")
    return Start(found["kind"], _read_quantity(found["quantity"], what))


def _read_quantity(text: str, what: str) -> tuple[tuple[str, float], ...]:
    rest = text.removeprefix("1")
    factors = list(_FACTOR.finditer(rest))
    if "".join(factor.group() for factor in factors) != rest:
        raise InputError(f"{what} starts from {text!r}, which is not a product of powers of columns such as y/x1**2.")
    return tuple((f["name"], float(f["power"] or 1) * (-1 if f["sign"] == "/" else 1)) for f in factors)


def _check(law: Law) -> None:
    tokens = tokenise(law.formula)
    used = {token.text for token in tokens if token.kind == "name"}
    wanted = [column.name for column in law.columns] + list(law.names)
    strangers = used - set(wanted) - set(functions.spellings()) - {"pi"}
    idle = [name for name in wanted if name not in used]
    if strangers or idle:
        problem = f"does not say what {', '.join(sorted(strangers))} is" if strangers else f"does not use {idle[0]}"
        raise InputError(f"The law {law.name!r} {problem}: its formula must have all its columns and constants.")
    if [column.name for column in law.columns] != [f"x{k + 1}" for k in range(len(law.columns))]:
        raise InputError(f"The law {law.name!r} must call its columns x1, x2, ... in this order.")
    if not law.allows([constant.typical for constant in law.constants]):
        raise InputError(
            f"The law {law.name!r} has a typical value outside the bounds of its constant: correct one of them."
        )
    if law.known not in (0, 1, 2, 3, 4):
        raise InputError(f"The law {law.name!r} has known = {law.known!r}: it is 0, 1, 2, 3 or 4.")
    unknown = [key for alias in law.others for key in alias.symbols if key not in law.names]
    if unknown:
        raise InputError(f"The law {law.name!r} renames {unknown[0]}, which is not one of its constants.")
