"""A formula with some constants shared by all groups and others fitted per group.

Its arguments are the columns of the table followed by the number of the row's group, so that it can be used wherever a
formula can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import sympy

from ceql.data.dataset import Dataset
from ceql.errors import unknown_name
from ceql.expression.evaluate.poles import Pole
from ceql.expression.evaluate.residual_problem import Program
from ceql.expression.symbolic import Expr
from ceql.expression.text.write import in_words
from ceql.formula import Formula, make_symbols
from ceql.operators.program import BLOCK, CompiledJacobian, value_and_jacobian

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Constants:
    """The names of a structure's shared and per-group constants, and the labels of the groups."""

    shared: tuple[str, ...]
    own: tuple[str, ...]
    labels: tuple[str, ...]  # labels of the groups, in the order of their numbers

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all constants in the order of their values: the shared ones, then those of each group."""
        return (*self.shared, *(f"{name}[{label}]" for label in self.labels for name in self.own))

    @property
    def count(self) -> int:
        return len(self.shared) + len(self.own) * len(self.labels)

    def rows_of(self, values: Array, codes: Array) -> Array:
        """The values of the structure's constants in each row: (constants, rows)."""
        shared = np.repeat(np.asarray(values[: len(self.shared)])[:, None], len(codes), axis=1)
        return np.vstack([shared, self.table(values)[codes].T])

    def table(self, values: Array | Sequence[float]) -> Array:
        """The values of the per-group constants: (groups, own)."""
        return np.asarray(values, float)[len(self.shared) :].reshape(len(self.labels), len(self.own))


@dataclass(frozen=True, eq=False)
class GroupedProgram:
    """The compiled structure, evaluated on rows whose last column is the number of the group."""

    compiled: CompiledJacobian
    constants: Constants

    def _inner(self, x: Array, constants: Array) -> tuple[Array, Array, Array]:
        codes = np.clip(np.rint(x[:, -1]), 0, len(self.constants.labels) - 1).astype(int)
        return x[:, :-1], self.constants.rows_of(constants, codes), codes

    def value(self, x: Array, constants: Array) -> Array:
        blocks = [x[first : first + BLOCK] for first in range(0, len(x) or 1, BLOCK)]
        return np.concatenate([self.compiled.value(*self._inner(block, constants)[:2]) for block in blocks])

    def __call__(self, x: Array, constants: Array) -> tuple[Array, Array]:
        """Values, and their derivatives by all constants: a row depends only on those of its own group and the
        shared ones."""
        inner, parameters, codes = self._inner(x, constants)
        values, slopes = self.compiled(inner, parameters)
        shared, own = len(self.constants.shared), len(self.constants.own)
        jacobian = np.zeros((len(x), self.constants.count))
        jacobian[:, :shared] = slopes[:, :shared]
        for k in range(own):
            jacobian[np.arange(len(x)), shared + codes * own + k] = slopes[:, shared + k]
        return values, jacobian


@dataclass(frozen=True, eq=False)
class GroupedForm:
    """A grouped formula's constants by name, with their values and bounds."""

    structure: Expr
    constants: Constants
    values: Array
    low: Array | float = -np.inf
    high: Array | float = np.inf

    @property
    def expr(self) -> Expr:
        return self.structure

    @cached_property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        return make_symbols(self.constants.names)

    def program(self, columns: Sequence[sympy.Symbol]) -> Program:
        """The compiled structure; the last of `columns` is that of the groups."""
        names = make_symbols((*self.constants.shared, *self.constants.own))
        return GroupedProgram(value_and_jacobian(self.structure, tuple(columns[:-1]), names), self.constants)


@dataclass(frozen=True, eq=False)
class GroupedFormula(Formula):
    """A formula with shared and per-group constants.

    `structure` contains the names of all constants; `expression` has numbers for the shared ones and names such as
    `f[lens]` for the others. `constants` holds the shared ones, then those of each group, each with its standard error.
    """

    structure: Expr = field(default=sympy.S.Zero)
    parts: Constants = Constants((), (), ())
    bounds: tuple[tuple[float, float], ...] = ()  # bounds of each constant of the structure, if the user gave them

    @classmethod
    def of(
        cls,
        structure: Expr,
        symbols: tuple[sympy.Symbol, ...],
        parts: Constants,
        values: Array,
        errors: Array,
        loss: float = np.inf,
        **more: object,
    ) -> GroupedFormula:
        """A grouped formula from the values of its constants; the last of `symbols` is the column of the groups."""
        constants = tuple(zip(map(float, values), map(float, errors), strict=True))
        shared = {s: sympy.Float(v) for s, v in zip(make_symbols(parts.shared), map(float, values), strict=False)}
        expression = structure.xreplace({**shared, **_marked(parts.own, symbols[-1].name)})
        return cls(expression, symbols, loss, constants, structure=structure, parts=parts, **more)  # pyright: ignore[reportArgumentType]

    @property
    def column(self) -> str:
        """The name of the column that the rows are grouped by."""
        return self.symbols[-1].name

    @cached_property
    def values(self) -> Array:
        return np.array([value for value, _ in self.constants])

    @cached_property
    def form(self) -> GroupedForm:  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]
        low, high = -np.inf, np.inf
        if self.bounds:
            count = len(self.parts.shared)
            shared = np.array(self.bounds[:count]).reshape(-1, 2)
            own = np.tile(np.array(self.bounds[count:]).reshape(-1, 2), (len(self.parts.labels), 1))
            low, high = np.vstack([shared, own]).T
        return GroupedForm(self.structure, self.parts, self.values, low, high)

    @cached_property
    def _compiled(self):  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]
        return partial(self.program.value, constants=self.values)

    @property
    def shown(self) -> Expr:
        return self.expression

    @property
    def named(self) -> Expr:
        """The formula with the names of all its constants, per-group ones written as `f[lens]`."""
        return self.structure.xreplace(_marked(self.parts.own, self.column))

    def latex(self) -> str:
        numbers = {s: rf"\text{{{worded}}}" for s in self.symbols if (worded := in_words(s.name)) != s.name}
        return sympy.latex(self.expression, symbol_names={**numbers, **self.marks_in_latex()})

    def marks_in_latex(self) -> dict[sympy.Symbol, str]:
        """The LaTeX for each per-group constant: its name with the grouping column as a subscript."""
        marked = _marked(self.parts.own, self.column)
        return {mark: _with_subscript(sympy.latex(name), self.column) for name, mark in marked.items()}

    def at(self, values: Array) -> GroupedFormula:
        """The formula with these values for its constants, whose errors are then unknown."""
        errors = np.full(len(values), np.nan)
        more = {"costs": self.costs, "law": self.law, "bounds": self.bounds}
        return GroupedFormula.of(self.structure, self.symbols, self.parts, values, errors, self.loss, **more)

    def fitted_to(self, data: Dataset) -> GroupedFormula:
        """The formula unchanged, since it is fitted to all rows already."""
        return self

    def code(self, label: str) -> int:
        if label not in self.parts.labels:
            raise unknown_name(f"group of {self.column}", label, list(self.parts.labels))
        return self.parts.labels.index(label)

    def of_group(self, label: str) -> Formula:
        """The formula of one group, a function of the columns alone."""
        code = self.code(label)
        shared, own = len(self.parts.shared), len(self.parts.own)
        places = [*range(shared), *range(shared + code * own, shared + (code + 1) * own)]
        names = make_symbols((*self.parts.shared, *self.parts.own))
        numbers = {s: sympy.Float(self.values[k]) for s, k in zip(names, places, strict=True)}
        chosen = tuple(self.constants[k] for k in places)
        return Formula(self.structure.xreplace(numbers), self.symbols[:-1], self.loss, chosen, self.costs)

    def poles_among(self, x: Array) -> list[Pole]:
        """The poles of each group's formula within the range of that group's rows."""
        if not self.parts.own:
            return self.of_group(self.parts.labels[0]).poles_among(x[:, :-1])
        found = []
        for code, label in enumerate(self.parts.labels):
            rows = x[x[:, -1] == code, :-1]
            if len(rows):
                found += [replace(p, group=f"{self.column} {label}") for p in self.of_group(label).poles_among(rows)]
        return found

    def over(self, symbols: tuple[sympy.Symbol, ...]) -> GroupedFormula:
        return self if symbols == self.symbols else replace(self, symbols=symbols)


def _marked(names: Sequence[str], column: str) -> dict[sympy.Symbol, sympy.Symbol]:
    """Maps the symbol of each constant, such as `f`, to the marked one, such as `f[lens]`."""
    return {s: sympy.Symbol(f"{s.name}[{column}]", real=True) for s in make_symbols(tuple(names))}


def _with_subscript(name: str, column: str) -> str:
    """A constant's LaTeX name with the grouping column as a subscript, after any subscript of its own."""
    base, _, below = name.partition("_")
    own = f"{below.removeprefix('{').removesuffix('}')}, " if below else ""
    words = "".join(f"\\{sign}" if sign in "_%&#$" else sign for sign in column)
    return rf"{base}_{{{own}\text{{{words}}}}}"
