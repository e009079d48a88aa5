"""Structures as laws: of the catalogue, with an offset or another column, or a formula with all its numbers freed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

import numpy as np
import sympy

from ceql.catalogue.law import UNNAMED, Column, Constant, Law, Start, is_linear
from ceql.errors import InputError
from ceql.expression import FormulaError, parse_formula
from ceql.expression.symbolic import Expr
from ceql.expression.text.compiled import compiled
from ceql.expression.text.write import write_formula
from ceql.formula import make_symbols
from ceql.operators.program import UnsupportedExpression
from ceql.search.guesses import read_guess

_TIMES = (0.4, 1.0, 2.5)  # of a number in a formula, at which its constant starts
_EXPONENTS = (0.5, 1.0, 1.7)  # exponents to begin with
_MOST_EXPONENT = 6  # whole exponents up to this one are part of a structure
_LETTERS = "abcdghkmnpqrsuvw"


def free_names(taken: Sequence[str]) -> Iterator[str]:
    """Short names that are none of these."""
    for suffix in chain([""], map(str, count(1))):
        yield from (letter + suffix for letter in _LETTERS if letter + suffix not in taken)


def _columns(number: int) -> tuple[Column, ...]:
    return tuple(Column(f"x{k + 1}", "column", 0.0, 1.0) for k in range(number))


def linear_places(text: str, columns: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """Constants that the text is linear in together, taken in their order."""
    program = compiled(text, columns, names)
    found: list[int] = []
    for place in range(len(names)):
        if is_linear(program, [*found, place]):
            found.append(place)
    return tuple(found)


def made_law(text: str, columns: int, names: Sequence[str], starts: Sequence[Sequence[float]]) -> Law:
    """A structure without a name; `starts` are starting values of each constant."""
    linear = linear_places(text, [f"x{k + 1}" for k in range(columns)], names)
    constants = tuple(
        Constant(name, "constant", float(start[0]), None if k in linear else Start("numbers", numbers=tuple(start)))
        for k, (name, start) in enumerate(zip(names, starts, strict=True))
    )
    return Law(text, UNNAMED, text, _columns(columns), constants, known=0)


# ---- laws with something beside them --------------------------------------------------------------------------------


def with_offset(law: Law) -> Law | None:
    """The law and a constant added to it; None where it has one."""
    return _with_terms(law, "({}) + {}", ())


def with_column(law: Law) -> list[Law]:
    """The law beside or times a power of a column of its own, the next one."""
    other = f"x{len(law.columns) + 1}"
    added = _with_terms(law, f"({{}}) + {{}}*{other}", (other,))
    times = _with_terms(law, f"({{}})*{other}**{{}}", (other,), Start("numbers", numbers=(-1.0, *_EXPONENTS)))
    return [one for one in (added, times) if one is not None]


def _with_terms(law: Law, shape: str, columns: Sequence[str], start: Start | None = None) -> Law | None:
    name = next(free_names([*law.names, *(column.name for column in law.columns), "x"]))
    text = shape.format(law.formula, name)
    constants = (*law.constants, Constant(name, "constant", 1.0, start))
    every = [f"x{k + 1}" for k in range(len(law.columns) + len(columns))]
    linear = [k for k, constant in enumerate(constants) if constant.start is None]
    if not is_linear(compiled(text, every, [c.name for c in constants]), linear):
        return None
    made = replace(
        law,
        name=text,
        field=UNNAMED,
        formula=text,
        columns=_columns(len(every)),
        constants=constants,
        others=(),
        known=0,
    )
    return None if start is None and not columns and _has_offset(law) else made


def _has_offset(law: Law) -> bool:
    """Whether adding a number changes one of its constants alone."""
    x = np.linspace(1.3, 2.9, 3)[:, None] * np.ones(len(law.columns))
    _, slopes = law.program(x, np.array([constant.typical for constant in law.constants]))
    return any(bool((slopes[:, k] == 1.0).all()) for k in law.linear)


# ---- formulas with their numbers freed ------------------------------------------------------------------------------


def skeleton(expression: Expr, symbols: Sequence[sympy.Symbol]) -> tuple[Law, tuple[int, ...]] | None:
    """The structure of a formula with every number a constant, in the columns that it has; None where it has none.

    Whole exponents are part of it, and so are factors of one and minus one, which nobody writes.
    """
    used = [k for k, symbol in enumerate(symbols) if symbol in expression.free_symbols]
    names, values = free_names([*(f"x{k + 1}" for k in range(len(used)))]), []
    taken: list[str] = []

    def named(number: Expr) -> Expr:
        taken.append(next(names))
        values.append(float(number))
        return sympy.Symbol(taken[-1], real=True)

    places = {symbols[k]: sympy.Symbol(f"x{place + 1}", real=True) for place, k in enumerate(used)}
    freed = _freed(expression.xreplace(places), named)
    if not taken or not used:
        return None
    try:
        text = write_formula(freed)
        starts = [[factor * value for factor in _TIMES] if value else [1.0] for value in values]
        order = sorted(range(len(taken)), key=lambda k: taken[k])
        law = made_law(text, len(used), [taken[k] for k in order], [starts[k] for k in order])
    except (FormulaError, UnsupportedExpression, ValueError):
        return None
    return law, tuple(used)


def _freed(node: Expr, named: Callable[[Expr], Expr]) -> Expr:
    if node.is_Number:
        return node if node in (1, -1) else named(node)
    if isinstance(node, sympy.Pow) and node.exp.is_Rational and abs(node.exp) <= _MOST_EXPONENT:
        return sympy.Pow(_freed(node.base, named), node.exp)
    if not node.args:
        return node
    return node.func(*(_freed(argument, named) for argument in node.args))


def expression_in(law: Law, columns: Sequence[str], constants: Sequence[sympy.Symbol]) -> Expr:
    """The law over columns of a table and these symbols for its constants."""
    names = (*law.names, *(column.name for column in law.columns))
    parsed = parse_formula(law.formula, names)
    return parsed.xreplace(dict(zip(make_symbols(names), [*constants, *make_symbols(tuple(columns))], strict=True)))


def substituted(law: Law, instead: Mapping[int, Expr]) -> Law | None:
    """The law with numbers, or expressions of its constants, in place of some of these; None where others would go with
    them, or a column, or all.

    With a zero or a quarter turn for a constant it is a case of the law that its name says as well. Otherwise it has no
    name: there are many ways to put constants together, and what was chosen among them has to be said.
    """
    symbols = make_symbols(law.names)
    changed = law.expression.xreplace({symbols[k]: value for k, value in instead.items()})
    left = [k for k, symbol in enumerate(symbols) if k not in instead or symbol in instead[k].free_symbols]
    wanted = {*(symbols[k].name for k in left), *(column.name for column in law.columns)}
    has_value = not changed.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo)
    if not left or not has_value or wanted != {symbol.name for symbol in changed.free_symbols}:
        return None
    return _made_of(law, changed, left, {*instead}, _name_of_case(law, instead))


def _name_of_case(law: Law, instead: Mapping[int, Expr]) -> str:
    """What the law is called with these in place of constants; empty where that is no name."""
    plain = all(value == 0 or (value.is_number and value.has(sympy.pi)) for value in instead.values())
    if not law.is_named or not plain:
        return ""
    return ", ".join([law.name, *(f"{law.names[k]} = {value}" for k, value in instead.items())])


def rewritten(law: Law, expression: Expr, place: int) -> Law | None:
    """The same law written over another constant in that place; None where it is no longer a law of all of them."""
    wanted = {*law.names, *(column.name for column in law.columns)}
    if wanted != {symbol.name for symbol in expression.free_symbols}:
        return None
    return _made_of(law, expression, range(len(law.names)), {place}, law.name if law.is_named else "")


def _made_of(law: Law, expression: Expr, left: Sequence[int], moved: Collection[int], name: str) -> Law:
    """What is left of the constants of a law, in an expression of its columns; those that moved have no bounds. Without
    a name it is no law that people know."""
    text, columns = write_formula(expression), [column.name for column in law.columns]
    linear = [left[k] for k in linear_places(text, columns, [law.names[k] for k in left])]
    constants = tuple(
        replace(
            c,
            start=None if k in linear else c.start or Start("numbers", numbers=(c.typical,)),
            above=None if k in moved else c.above,
            below=None if k in moved else c.below,
        )
        for k, c in enumerate(law.constants)
        if k in left
    )
    changed = replace(law, formula=text, constants=constants, others=())
    return replace(changed, name=name) if name else replace(changed, name=text, field=UNNAMED, known=0)


def guessed_law(text: str, columns: Sequence[str]) -> tuple[Law, tuple[int, ...]]:
    """What the user suspects: names that are no columns are constants, and so are its numbers."""
    expression, unknown = read_guess(text, columns)
    numbers = {symbol: sympy.Float(1.0) for symbol in make_symbols(unknown)}
    pair = skeleton(expression.xreplace(numbers), make_symbols(tuple(columns)))
    if pair is None:
        raise InputError(f"The guess {text!r} has no column or no constant: there is nothing to fit in it.")
    return pair
