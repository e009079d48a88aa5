"""Writes the instructions of a compiled formula as one expression, with variables for parts that occur repeatedly."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ceql.operators import functions
from ceql.operators.functions import ElementaryFunction
from ceql.operators.program import CompiledFormula, Instruction, UnsupportedExpression

# The precedence of a text: it is put in parentheses if its surroundings need a higher one.
SUM, NEGATIVE, PRODUCT, POWER, ATOM = range(5)
_LEAVES = {"constant", "input"}
_WORD = re.compile(r"[A-Za-z_]\w*")


def plain_calls(language: str, usual: str = "{}") -> Callable[[ElementaryFunction, str], str]:
    """Writes a function call in this language; `usual` is the pattern for functions without a text of their own."""
    return lambda function, argument: function.call(language, argument, usual)


def words(language: str) -> frozenset[str]:
    """All names that function calls in this language may use; variables must not have these names."""
    texts = (functions.get(name).call(language, "") for name in functions.names())
    return frozenset(word for text in texts for word in _WORD.findall(text))


@dataclass(frozen=True)
class Dialect:
    """How a language writes the steps of a formula. A pattern with a parenthesis is a function call."""

    number: Callable[[float], str]
    call: Callable[[ElementaryFunction, str], str]  # from a function and the text of its argument
    power: str = "{}**{}"
    whole_exponent: Callable[[int], str] = str
    divide: str = "{} / {}"


@dataclass(frozen=True)
class ProgramText:
    """A formula as text: variables with their values, in order, and the final value."""

    variables: tuple[tuple[str, str], ...]
    value: str


@dataclass(frozen=True)
class _Piece:
    text: str
    level: int

    def at(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


def program_text(
    program: CompiledFormula, arguments: Sequence[str], dialect: Dialect, variable: Callable[[int], str] | None = None
) -> ProgramText:
    """The program as text; `variable` names parts that occur repeatedly, which are written out each time without it."""
    steps = program.instructions
    uses = Counter(slot for step in steps for slot in step.operands)
    writer = _Writer(steps, arguments, dialect)
    variables: list[tuple[str, str]] = []
    if variable is not None:
        for slot, step in enumerate(steps):
            if uses[slot] > 1 and step.operation not in _LEAVES:
                name = variable(len(variables) + 1)
                variables.append((name, writer.piece(slot).text))
                writer.known[slot] = _Piece(name, ATOM)
    return ProgramText(tuple(variables), writer.piece(len(steps) - 1).text)


@dataclass
class _Writer:
    steps: Sequence[Instruction]
    arguments: Sequence[str]
    dialect: Dialect
    known: dict[int, _Piece] = field(default_factory=dict)  # parts that are stored in a variable

    def piece(self, slot: int, negated: bool = False) -> _Piece:
        """The text of a slot; if `negated`, of its negative, where the slot begins with a minus sign."""
        if slot in self.known:
            return self.known[slot]
        step = self.steps[slot]
        match step.operation:
            case "constant":
                return self._number(-float(step.payload) if negated else float(step.payload))
            case "input":
                return _Piece(self.arguments[int(step.payload)], ATOM)
            case "add":
                return self._sum(step.operands)
            case "multiply":
                return self._product(step.operands, negated)
            case "divide":
                return self._quotient(step.operands[0], step.operands[1], negated)
            case "integer_power":
                return self._power(step.operands[0], self.dialect.whole_exponent(int(step.payload)))
            case "real_power":
                return self._power(step.operands[0], self.dialect.number(float(step.payload)))
            case "power":
                exponent = self.piece(step.operands[1])
                return self._power(step.operands[0], exponent.text if self._calls_power else exponent.at(ATOM))
            case _:
                function = functions.get(str(step.payload))
                return _Piece(self.dialect.call(function, self.piece(step.operands[0]).text), ATOM)

    @property
    def _calls_power(self) -> bool:
        return "(" in self.dialect.power

    def _number(self, value: float) -> _Piece:
        if not math.isfinite(value):
            raise UnsupportedExpression(f"it has the constant {value}")
        text = self.dialect.number(value)
        return _Piece(text, NEGATIVE if text.startswith("-") else ATOM)

    def _has_minus(self, slot: int) -> bool:
        if slot in self.known:
            return False
        step = self.steps[slot]
        if step.operation == "constant":
            return float(step.payload) < 0.0
        return step.operation in ("multiply", "divide") and self._has_minus(step.operands[0])

    def _sum(self, operands: Sequence[int]) -> _Piece:
        text = self.piece(operands[0]).text
        for slot in operands[1:]:
            minus = self._has_minus(slot)
            text += f" {'-' if minus else '+'} {self.piece(slot, negated=minus).at(PRODUCT)}"
        return _Piece(text, SUM)

    def _product(self, operands: Sequence[int], negated: bool) -> _Piece:
        if not operands:
            return self._number(-1.0 if negated else 1.0)
        first = self.piece(operands[0], negated)
        rest = operands[1:]
        sign = self.steps[operands[0]]
        if negated and rest and sign.operation == "constant" and sign.payload == -1.0:
            first, rest = self.piece(rest[0]), rest[1:]
        text = first.at(NEGATIVE)
        for slot in rest:
            text += f" * {self.piece(slot).at(POWER)}"
        return _Piece(text, NEGATIVE if first.level == NEGATIVE else PRODUCT)

    def _quotient(self, above: int, below: int, negated: bool) -> _Piece:
        top, bottom = self.piece(above, negated), self.piece(below)
        if "(" in self.dialect.divide:
            return _Piece(self.dialect.divide.format(top.text, bottom.text), ATOM)
        level = NEGATIVE if top.level == NEGATIVE else PRODUCT
        return _Piece(self.dialect.divide.format(top.at(NEGATIVE), bottom.at(POWER)), level)

    def _power(self, base: int, exponent: str) -> _Piece:
        piece = self.piece(base)
        text = self.dialect.power.format(piece.text if self._calls_power else piece.at(ATOM), exponent)
        return _Piece(text, ATOM if self._calls_power else POWER)
