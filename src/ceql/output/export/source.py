"""What all code languages share: the plan of a program with safe names, its comment, and long lines in pieces."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ceql import __version__
from ceql.expression import compile_numpy
from ceql.expression.text.write import write_formula
from ceql.formula import Formula
from ceql.operators.program import CompiledFormula
from ceql.output.export.identifiers import printable, quoted, safe_name, safe_names
from ceql.output.export.program_text import Dialect, ProgramText, program_text

WIDTH = 100
UNNAMED = "formula"


@dataclass(frozen=True)
class Plan:
    """A program before it is written: the comment on top, its function's name, arguments, compiled formula and text."""

    top: str
    function: str
    arguments: tuple[str, ...]
    program: CompiledFormula
    text: ProgramText

    @property
    def functions(self) -> frozenset[str]:
        """The functions it uses, by name."""
        return frozenset(str(s.payload) for s in self.program.instructions if s.operation == "function")

    @property
    def operations(self) -> frozenset[str]:
        return frozenset(step.operation for step in self.program.instructions)

    @property
    def is_constant(self) -> bool:
        return "input" not in self.operations


def plan(
    formula: Formula,
    names: Sequence[str],
    target: str | None,
    dialect: Dialect,
    reserved: Collection[str],
    mark: str,
    notes: Sequence[str],
    any_case: bool = False,
) -> Plan:
    """`mark` begins a comment; the notes in it may speak of the `{function}`."""
    arguments = safe_names(names, reserved, any_case)
    function = safe_name(target or UNNAMED, {*reserved, *arguments}, any_case)
    program = compile_numpy(formula.expression, formula.symbols)
    taken = {function, *arguments, *reserved}

    def variable(k: int) -> str:
        return safe_name(f"part{k}", taken, any_case)

    told = [note.format(function=function) for note in notes]
    top = header(formula, names, arguments, target, mark, told)
    return Plan(top, function, arguments, program, program_text(program, arguments, dialect, variable))


def header(
    formula: Formula,
    names: Sequence[str],
    arguments: Sequence[str],
    target: str | None,
    mark: str,
    notes: Sequence[str] = (),
    inputs: str = "Inputs",
) -> str:
    """The comment on top: what is computed, from what, how good it is and by which ceql it was found."""
    known = [a if a == name else f"{a} (column {quoted(name)})" for a, name in zip(arguments, names, strict=True)]
    lines = [
        f"{described(target)} = {printable(write_formula(formula.expression))}",
        f"{inputs}: {', '.join(known)}.",
        f"Mean squared error on the training data: {formula.loss:.6g}. Found by ceql {__version__}.",
        *notes,
    ]
    return "".join(f"{part}\n" for line in lines for part in comment(line, mark))


def described(target: str | None) -> str:
    if target is None:
        return "value"
    return target if target.isidentifier() else quoted(target)


def comment(line: str, mark: str) -> list[str]:
    return [f"{mark} {part}".rstrip() for part in _wrapped(line, WIDTH - len(mark) - 1, "  ")]


def folded(text: str, indent: str, more: str = "") -> str:
    """A long expression over several lines, broken where blanks are; `more` ends each line that goes on."""
    lines = _wrapped(text, WIDTH - len(indent) - len(more), "")
    return f"{more}\n".join(indent + line for line in lines)


def is_long(text: str) -> bool:
    return len(text) > WIDTH - 20


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, expand_tabs=False
    ) or [""]
