"""Parses the text of a template into expressions, and checks that every name in it is a column or declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy

from ceql.errors import InputError
from ceql.expression import FormulaError, parse_formula
from ceql.expression.complex_parts import PART, is_complex, parse_with_unit, real_form
from ceql.templates.template import Template, Terms, Unknown


def symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, real=True)


def read_frame(template: Template, columns: Sequence[str]) -> sympy.Expr:
    """Return the formula of the template over columns, parameters, functions and sums."""
    sums = [name for key, terms in template.sums.items() for name in (key, *terms.also)]
    declared = [*template.parameters, *template.functions, *sums]
    _check(declared, template.functions, columns)
    expression = _read(template.formula, columns, declared, declared, "The template", parse_with_unit)
    if is_complex(expression) and PART not in columns:
        raise InputError("The template has the imaginary unit I, but y is real: give complex values, or declare I.")
    _require_column(template, expression, [*columns, *template.functions, *sums], columns)
    return expression


def _require_column(template: Template, expression: Any, varying: Sequence[str], columns: Sequence[str]) -> None:
    """Raise an error if the template has no column, function or sum in it, as it would then be a constant."""
    names = {str(symbol) for symbol in expression.free_symbols}
    if not names & {*varying}:
        numbers = f": {', '.join(sorted(names))} would be found as numbers" if names else ""
        raise InputError(
            f"The template {template.formula!r} has no column in it, so it would be a constant{numbers}. "
            f"Write it with a column: {', '.join(columns)}."
        )


def read_terms(template: Template, name: str, columns: Sequence[str]) -> dict[str, sympy.Expr]:
    """Return the formula of one term, for each sum over these terms."""
    terms = template.sums[name]
    own = [*terms.parameters, *terms.functions]
    shared = [*template.parameters, *template.functions]
    _check(own, terms.functions, columns)
    texts = {name: terms.formula, **terms.also}
    read = {key: _read(text, columns, [*own, *shared], (), f"The sum {key!r}") for key, text in texts.items()}
    used = {str(s) for expression in read.values() for s in expression.free_symbols}
    _require_used(own, used, f"The sum {name!r}")
    return read


def gate_of(terms: Terms, expressions: Mapping[str, Any]) -> str | None:
    """Return the parameter whose removal removes a term, a plain factor such as an amplitude; None if there is none."""
    if len(expressions) != 1:
        return None
    (expression,) = expressions.values()
    for name, parameter in terms.parameters.items():
        factor = symbol(name)
        rest = expression / factor
        if parameter.may_vanish and factor in expression.as_ordered_factors() and not rest.has(factor):
            return name
    return None


def _read(
    text: str,
    columns: Sequence[str],
    declared: Sequence[str],
    needed: Sequence[str],
    what: str,
    parse: Callable[[str, Sequence[str]], Any] = parse_formula,
) -> Any:
    try:
        expression = parse(text, [*columns, *declared])
        real_form(expression)  # raises its errors here
    except FormulaError as error:
        raise InputError(
            f"{what} cannot be read: {error}. Its names are columns ({', '.join(columns)}) or declared as parameters, "
            f"functions or sums ({', '.join(declared) or 'none'})."
        ) from error
    _require_used(needed, {str(s) for s in expression.free_symbols}, what)
    # Numbers written by the user are known. As fractions, they are left alone when constants are fitted.
    return expression.xreplace(
        {number: sympy.Rational(repr(float(number))) for number in expression.atoms(sympy.Float)}
    )


def _require_used(needed: Sequence[str], used: set[str], what: str) -> None:
    idle = [name for name in needed if name not in used]
    if idle:
        raise InputError(f"{what} declares {', '.join(idle)} but does not use it: add it to the formula or remove it.")


def _check(declared: Sequence[str], functions: Mapping[str, Unknown], columns: Sequence[str]) -> None:
    for name, function in functions.items():
        strangers = [column for column in function.inputs if column not in columns]
        if strangers:
            raise InputError(
                f"The function {name!r} of the template takes {', '.join(strangers)}, which is not a column of the "
                f"data. Its columns are: {', '.join(columns)}."
            )
    both = [name for name in declared if name in columns]
    if both:
        raise InputError(f"{', '.join(both)} is declared in the template and also a column of the data: rename one.")
