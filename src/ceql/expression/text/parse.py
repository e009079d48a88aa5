"""Parses formulas from people and data files without ever executing them.

This is a small precedence parser, used instead of Python's: column names such as ``lambda`` are
ordinary names here, every error has its position, and each power is checked before it is computed, so
that a malicious text cannot make SymPy work for hours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Generic, Protocol, TypeVar

from sympy import Symbol
from sympy.core.parameters import distribute

from ceql.expression.symbolic import Expr
from ceql.expression.text.formula_values import NAMED_CONSTANTS, Value, apply, combine, raise_to, read_number
from ceql.expression.text.tokens import FormulaError, Token, tokenise
from ceql.operators import functions
from ceql.operators.functions import ElementaryFunction

LONGEST_TEXT = 20_000
DEEPEST_NESTING = 60
MOST_TOKENS = 4_000
BINDING = {"+": 1, "-": 1, "*": 2, "/": 2}

__all__ = ["Algebra", "FormulaError", "parse_formula", "read_with"]

Part = TypeVar("Part")


class Algebra(Protocol[Part]):
    """Defines what the parts of a formula become when they are parsed."""

    def number(self, token: Token) -> Part: ...

    def column(self, name: str) -> Part: ...

    def named_constant(self, name: str) -> Part: ...

    def negated(self, part: Part) -> Part: ...

    def combined(self, left: Part, operator: Token, right: Part) -> Part: ...

    def raised(self, base: Part, exponent: Part, position: int) -> Part: ...

    def applied(self, function: ElementaryFunction, argument: Part, token: Token) -> Part: ...


class _Symbolic:
    """Turns parts into SymPy expressions; columns become real symbols unless others are given."""

    def __init__(self, given: Mapping[str, Symbol] = {}) -> None:
        self._given = given

    def number(self, token: Token) -> Value:
        return read_number(token)

    def column(self, name: str) -> Value:
        return Value(self._given.get(name) or Symbol(name, real=True), None)

    def named_constant(self, name: str) -> Value:
        return Value(*NAMED_CONSTANTS[name])

    def negated(self, part: Value) -> Value:
        return Value(-part.expr, None if part.constant is None else -part.constant)

    def combined(self, left: Value, operator: Token, right: Value) -> Value:
        return combine(left, operator, right)

    def raised(self, base: Value, exponent: Value, position: int) -> Value:
        return raise_to(base, exponent, position)

    def applied(self, function: ElementaryFunction, argument: Value, token: Token) -> Value:
        return apply(function, argument, token)


class _Parser(Generic[Part]):
    def __init__(self, text: str, names: Sequence[str], algebra: Algebra[Part]) -> None:
        self._tokens = tokenise(text)
        if len(self._tokens) > MOST_TOKENS:
            raise FormulaError(f"the formula has more than {MOST_TOKENS} parts", 0)
        self._index = 0
        self._depth = 0
        self._columns = dict.fromkeys(names)
        self._algebra = algebra

    @property
    def _token(self) -> Token:
        return self._tokens[self._index]

    def _advance(self) -> Token:
        token = self._token
        self._index += 1
        return token

    def _sees(self, operator: str) -> bool:
        return self._token.kind == "operator" and self._token.text == operator

    def parse(self) -> Part:
        if self._token.kind == "end":
            raise FormulaError("the formula is empty", 0)
        value = self._sum()
        if self._token.kind != "end":
            raise FormulaError(self._misplaced(self._token), self._token.position)
        return value

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            raise FormulaError(f"nested more than {DEEPEST_NESTING} levels deep", self._token.position)

    def _sum(self, binding: int = 1) -> Part:
        self._enter()
        left = self._signed()
        while self._token.kind == "operator" and BINDING.get(self._token.text, 0) >= binding:
            operator = self._advance()
            right = self._sum(BINDING[operator.text] + 1)
            left = self._algebra.combined(left, operator, right)
        self._depth -= 1
        return left

    def _signed(self) -> Part:
        negative = False
        while self._sees("-") or self._sees("+"):
            negative ^= self._advance().text == "-"
        value = self._power()
        return self._algebra.negated(value) if negative else value

    def _power(self) -> Part:
        base = self._atom()
        if not self._sees("**"):
            return base
        operator = self._advance()
        self._enter()
        exponent = self._signed()  # right to left, and tighter than the minus sign before the base
        self._depth -= 1
        return self._algebra.raised(base, exponent, operator.position)

    def _atom(self) -> Part:
        token = self._advance()
        if token.kind == "number":
            return self._algebra.number(token)
        if token.kind in ("name", "quoted"):
            return self._named(token)
        if token.kind == "operator" and token.text == "(":
            value = self._sum()
            self._close(token)
            return value
        raise FormulaError(self._misplaced(token), token.position)

    def _close(self, opening: Token) -> None:
        if not self._sees(")"):
            if self._token.kind == "end":
                raise FormulaError("this parenthesis is never closed; add )", opening.position)
            raise FormulaError(self._misplaced(self._token), self._token.position)
        self._advance()

    def _named(self, token: Token) -> Part:
        called = token.kind == "name" and self._sees("(") and token.text in functions.spellings()
        if called:
            return self._call(token)
        if token.text in self._columns:
            return self._algebra.column(token.text)
        if token.kind == "name" and token.text in NAMED_CONSTANTS:
            return self._algebra.named_constant(token.text)
        raise FormulaError(self._unknown(token), token.position)

    def _call(self, token: Token) -> Part:
        opening = self._advance()
        argument = self._sum()
        self._close(opening)
        return self._algebra.applied(functions.spellings()[token.text], argument, token)

    def _unknown(self, token: Token) -> str:
        if token.kind == "name" and token.text in functions.spellings():
            return f"the function {token.text!r} needs an argument in parentheses"
        known = [*self._columns, *(functions.spellings() if self._sees("(") else ()), "pi"]
        nearest = get_close_matches(token.text, known, n=1, cutoff=0.4)
        remedy = f"did you mean {nearest[0]!r}?" if nearest else f"known names: {', '.join(known[:12])}"
        return f"unknown name {token.text!r}; {remedy}"

    @staticmethod
    def _misplaced(token: Token) -> str:
        if token.kind == "end":
            return "the formula ends where a value is expected"
        if token.text == ")":
            return "this closing parenthesis has no opening one; remove it"
        if token.kind == "operator":
            return f"{token.text!r} cannot stand here; a value is missing beside it"
        return f"an operator such as * is missing before {token.text!r}"


def parse_formula(text: str, names: Sequence[str], as_written: bool = False, given: Mapping[str, Symbol] = {}) -> Expr:
    """Read ``text`` with the given column names; backticks quote names such as `` `x y` ``.

    Column names always win over ``pi`` and ``e``; a name followed by a parenthesis is a function.
    Decimals become Float, whole numbers Integer. SymPy multiplies a number into a sum that follows it, which changes
    last digits; ``as_written`` prevents that. ``given`` maps further names to symbols.
    """
    try:
        with distribute(not as_written):
            return read_with(_Symbolic(given), text, [*names, *given]).expr
    except RecursionError as error:  # SymPy's sign tests recurse endlessly if exponentials share parts
        raise FormulaError("SymPy cannot process this formula; write it in fewer parts", 0) from error


def read_with(algebra: Algebra[Part], text: str, names: Sequence[str]) -> Part:
    """Parse a formula with the caller's algebra, by the same grammar and with the same errors."""
    if len(text) > LONGEST_TEXT:
        raise FormulaError(f"the formula is longer than {LONGEST_TEXT} characters", LONGEST_TEXT)
    return _Parser(text, names, algebra).parse()
