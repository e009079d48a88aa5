"""Structures as laws: laws with an added offset or column, and formulas whose numbers have become constants."""

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

_TIMES = (0.4, 1.0, 2.5)  # multiples of a number in a formula at which its constant starts
_EXPONENTS = (0.5, 1.0, 1.7)  # exponents to begin with
_MOST_EXPONENT = 6  # rational exponents up to this size are part of a structure
_LETTERS = "abcdghkmnpqrsuvw"


def free_names(taken: Sequence[str]) -> Iterator[str]:
    """Short names that are not taken."""
    for suffix in chain([""], map(str, count(1))):
        yield from (letter + suffix for letter in _LETTERS if letter + suffix not in taken)


def _columns(number: int) -> tuple[Column, ...]:
    return tuple(Column(f"x{k + 1}", "column", 0.0, 1.0) for k in range(number))


def linear_places(text: str, columns: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """The places of constants that the formula is jointly linear in, chosen greedily from the first."""
    program = compiled(text, columns, names)
    found: list[int] = []
    for place in range(len(names)):
        if is_linear(program, [*found, place]):
            found.append(place)
    return tuple(found)


def made_law(text: str, columns: int, names: Sequence[str], starts: Sequence[Sequence[float]]) -> Law:
    """An unnamed law with this formula; `starts` holds the starting values of each constant."""
    linear = linear_places(text, [f"x{k + 1}" for k in range(columns)], names)
    constants = tuple(
        Constant(name, "constant", float(start[0]), None if k in linear else Start("numbers", numbers=tuple(start)))
        for k, (name, start) in enumerate(zip(names, starts, strict=True))
    )
    return Law(text, UNNAMED, text, _columns(columns), constants, known=0)


# ---- laws with something beside them --------------------------------------------------------------------------------


def with_offset(law: Law) -> Law | None:
    """The law plus an additive constant; None if it already has one."""
    return _with_terms(law, "({}) + {}", ())


def with_column(law: Law) -> list[Law]:
    """The law plus a multiple of a new column, and the law times a power of it, as far as possible."""
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
    """Whether the law has an additive constant."""
    x = np.linspace(1.3, 2.9, 3)[:, None] * np.ones(len(law.columns))
    _, slopes = law.program(x, np.array([constant.typical for constant in law.constants]))
    return any(bool((slopes[:, k] == 1.0).all()) for k in law.linear)


# ---- formulas with their numbers freed ------------------------------------------------------------------------------


def skeleton(expression: Expr, symbols: Sequence[sympy.Symbol]) -> tuple[Law, tuple[int, ...]] | None:
    """The structure of a formula, with every number replaced by a constant, and the columns that it uses.

    Small whole and fractional exponents, and factors of one and minus one, remain part of the structure. None if the
    formula has no numbers or no columns.
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
    """The law as an expression in these columns of a table and these symbols for its constants."""
    names = (*law.names, *(column.name for column in law.columns))
    parsed = parse_formula(law.formula, names)
    return parsed.xreplace(dict(zip(make_symbols(names), [*constants, *make_symbols(tuple(columns))], strict=True)))


def substituted(law: Law, instead: Mapping[int, Expr]) -> Law | None:
    """The law with numbers, or expressions of its constants, in place of some constants.

    None if other constants or a column would vanish as well, or if no constant would be left. A law with zero or a
    multiple of pi/2 in place of a constant keeps a name that says so. Any other has no name, since there are many ways
    to combine constants and the chosen one has to be stated.
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
    """The name of this special case of the law; empty if it has none."""
    plain = all(value == 0 or (value.is_number and value.has(sympy.pi)) for value in instead.values())
    if not law.is_named or not plain:
        return ""
    return ", ".join([law.name, *(f"{law.names[k]} = {value}" for k, value in instead.items())])


def rewritten(law: Law, expression: Expr, place: int) -> Law | None:
    """The law with another constant in this place; None if a constant or column would vanish, or others appear."""
    wanted = {*law.names, *(column.name for column in law.columns)}
    if wanted != {symbol.name for symbol in expression.free_symbols}:
        return None
    return _made_of(law, expression, range(len(law.names)), {place}, law.name if law.is_named else "")


def _made_of(law: Law, expression: Expr, left: Sequence[int], moved: Collection[int], name: str) -> Law:
    """The law as this expression with the remaining constants; those in `moved` lose their bounds.

    Without a name it no longer counts as a known law.
    """
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
    """The user's guess as a law and its columns: its numbers and unknown names are the constants."""
    expression, unknown = read_guess(text, columns)
    numbers = {symbol: sympy.Float(1.0) for symbol in make_symbols(unknown)}
    pair = skeleton(expression.xreplace(numbers), make_symbols(tuple(columns)))
    if pair is None:
        raise InputError(f"The guess {text!r} has no column or no constant: there is nothing to fit in it.")
    return pair
