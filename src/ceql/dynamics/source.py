"""A system as source text: its right-hand side for a solver in Python, Julia or C, LaTeX for a document, plain text.

Every right-hand side is the list of instructions that `simulate` runs, written by the dialects of `ceql.output.export`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ceql import __version__
from ceql.dynamics.system import System
from ceql.errors import InputError, unknown_name
from ceql.expression import UnsupportedExpression, compile_numpy
from ceql.expression.text.write import write_formula
from ceql.operators.program import CompiledFormula
from ceql.output.export.languages import (
    LANGUAGES,
    functions_of,
    helpers_in_python,
    operations_of,
    statement,
    statement_in_c,
)
from ceql.output.export.latex import symbol_names, value_in_latex
from ceql.output.export.program_text import ProgramText, program_text, words
from ceql.output.export.source import comment, known_names, printable, safe_name, safe_names

_FUNCTION = "slopes"


@dataclass(frozen=True)
class _Plan:
    """A right-hand side before it is framed: names, programs, and their texts with the variables that they share."""

    function: str
    time: str
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    slopes: tuple[str, ...]  # names of the slopes
    programs: tuple[CompiledFormula, ...]
    texts: tuple[ProgramText, ...]

    @property
    def uses_time(self) -> bool:
        return any(self._uses(len(self.states) + len(self.inputs)))

    def is_used(self, column: int) -> bool:
        return any(self._uses(column))

    def _uses(self, column: int) -> list[bool]:
        steps = [step for program in self.programs for step in program.instructions]
        return [step.operation == "input" and int(step.payload) == column for step in steps]

    def statements(self, write: Callable[[str, str], str], slope: Callable[[int], str], variable: str) -> str:
        """The shared parts and the slope of each equation in turn."""
        lines = []
        for k, text in enumerate(self.texts):
            lines += [write(f"{variable}{name} =", value) for name, value in text.variables]
            lines.append(write(f"{slope(k)} =", text.value))
        return "".join(lines)


@dataclass(frozen=True)
class _Target:
    language: str  # whose dialect and words it has
    frame: Callable[[_Plan], str]
    taken: frozenset[str]  # further names that the frame uses
    note: str
    input_note: str = ""  # added where the system has inputs


def _scipy(plan: _Plan) -> str:
    operations = frozenset().union(*map(operations_of, plan.programs))
    used = frozenset().union(*map(functions_of, plan.programs))
    helpers = "".join(helpers_in_python(operations, used))
    lines = plan.statements(_line_of_python, lambda k: plan.slopes[k], "")
    arguments = f"{plan.time}, state{', inputs' if plan.inputs else ''}"
    unpacked = f"    {_unpacked(plan.states)} = map(float, state)\n"
    if plan.inputs:
        unpacked += f"    {_unpacked(plan.inputs)} = map(float, inputs({plan.time}))\n"
    function = f"def {plan.function}({arguments}):\n{unpacked}{lines}    return [{', '.join(plan.slopes)}]\n"
    module = "import math\n" if "math." in helpers + function else ""
    return f"{module}{helpers}\n\n{function}" if module or helpers else function


def _line_of_python(start: str, value: str) -> str:
    return statement(f"{start} ", value)


def _unpacked(names: tuple[str, ...]) -> str:
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def _julia(plan: _Plan) -> str:
    states = "".join(f"    {name} = float(u[{k + 1}])\n" for k, name in enumerate(plan.states))
    if plan.inputs:
        states += f"    given = p({plan.time})\n"
        states += "".join(f"    {name} = float(given[{k + 1}])\n" for k, name in enumerate(plan.inputs))
    lines = plan.statements(_line_of_python, lambda k: f"du[{k + 1}]", "")
    return f"function {plan.function}!(du, u, p, {plan.time})\n{states}{lines}    return nothing\nend\n"


def _c(plan: _Plan) -> str:
    count = len(plan.states)
    columns = [(name, f"state[{k}]", k) for k, name in enumerate(plan.states)]
    columns += [(name, f"inputs[{k}]", count + k) for k, name in enumerate(plan.inputs)]
    known = "".join(f"    const double {name} = {place};\n" for name, place, k in columns if plan.is_used(k))
    idle = "" if plan.inputs else "    (void)inputs;\n"
    idle += "" if plan.uses_time else f"    (void){plan.time};\n"
    idle += "" if any(plan.is_used(k) for k in range(count)) else "    (void)state;\n"
    lines = plan.statements(statement_in_c, lambda k: f"slope[{k}]", "const double ")
    arguments = f"double {plan.time}, const double *state, const double *inputs, double *slope"
    return f"#include <math.h>\n\nvoid {plan.function}({arguments})\n{{\n{idle}{known}{lines}}}\n"


_TARGETS: Mapping[str, _Target] = {
    "python": _Target(
        "python",
        _scipy,
        frozenset({"state", "inputs", "map", "float"}),
        "For scipy.integrate.solve_ivp({function}, (begin, end), initial state{arguments}, rtol=1e-8).",
        "inputs(time) gives {inputs} at that time, as a list.",
    ),
    "julia": _Target(
        "julia",
        _julia,
        frozenset({"u", "du", "p", "given"}),
        "For DifferentialEquations: solve(ODEProblem({function}!, initial state, (begin, end){arguments})).",
        "p(time) gives {inputs} at that time, as a vector.",
    ),
    "c": _Target(
        "c",
        _c,
        frozenset({"state", "inputs", "slope"}),
        "It writes the slopes of the states into slope; do not compile with -ffast-math, and link with -lm.",
        "inputs holds {inputs} at that time.",
    ),
}
SYSTEM_LANGUAGES = (*_TARGETS, "latex", "text")


def system_source(system: System, to: str = "python") -> str:
    """The system as text in the language `to`."""
    if to == "text":
        return f"{system}\n"
    if to == "latex":
        return system_in_latex(system)
    if to not in _TARGETS:
        raise unknown_name("language to export a system to", to, SYSTEM_LANGUAGES)
    try:
        return _source(system, _TARGETS[to])
    except UnsupportedExpression as error:
        raise InputError(f"The system cannot be exported: {error}.") from error


def _source(system: System, target: _Target) -> str:
    language = LANGUAGES[target.language]
    reserved = language.reserved | target.taken | (words(target.language) if language.hides_functions else frozenset())
    columns = (*system.states, *system.inputs, system.time)
    arguments = safe_names(columns, reserved, language.any_case)
    function = safe_name(_FUNCTION, {*reserved, *arguments})
    slopes = safe_names((f"d_{name}" for name in system.states), {*reserved, *arguments, function})
    taken = frozenset({function, *arguments, *reserved, *slopes})
    programs = tuple(compile_numpy(formula.expression, formula.symbols) for formula in system.formulas)
    texts: list[ProgramText] = []
    for program in programs:
        count = sum(len(text.variables) for text in texts)
        texts.append(program_text(program, arguments, language.dialect, lambda k, count=count: _part(count + k, taken)))
    inner = len(system.states) + len(system.inputs)
    names = arguments[: len(system.states)], arguments[len(system.states) : inner]
    plan = _Plan(function, arguments[-1], *names, slopes, programs, tuple(texts))
    return f"{_header(system, plan, target)}\n{target.frame(plan)}"


def _part(number: int, taken: frozenset[str]) -> str:
    return safe_name(f"part{number}", taken)


def _header(system: System, plan: _Plan, target: _Target) -> str:
    pairs = zip(system.states, system.formulas, strict=True)
    argument = {"python": ", args=(inputs,)", "julia": ", inputs"}.get(target.language, "") if plan.inputs else ""
    told = {"function": plan.function, "arguments": argument, "inputs": known_names(system.inputs, plan.inputs)}
    lines = [
        *(printable(f"d{name}/d{system.time} = {write_formula(formula.expression)}") for name, formula in pairs),
        f"States, in this order: {known_names(system.states, plan.states)}.",
        target.note.format(**told),
        *([target.input_note.format(**told)] if plan.inputs else []),
        f"Found by ceql {__version__}.",
    ]
    return comment(lines, LANGUAGES[target.language].mark)


def system_in_latex(system: System) -> str:
    """All equations, one below the other."""
    written = symbol_names([*system.columns, *(() if system.depends_on_time else (system.time,))])
    time = written[len(system.columns) - 1] if system.depends_on_time else written[-1]
    rows = [
        rf"\frac{{\mathrm{{d}} {name}}}{{\mathrm{{d}} {time}}} &= {value_in_latex(formula, written)}"
        for name, formula in zip(written, system.formulas, strict=False)
    ]
    inner = " \\\\\n".join(f"  {row}" for row in rows)
    return f"\\begin{{aligned}}\n{inner}\n\\end{{aligned}}\n"
