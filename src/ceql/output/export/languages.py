"""The programming languages: how each writes a step, its reserved names, and the frame around the formula."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ceql.expression import compile_numpy
from ceql.formula import Formula
from ceql.operators import functions
from ceql.operators.functions import ElementaryFunction
from ceql.operators.program import CompiledFormula
from ceql.output.export.program_text import Dialect, ProgramText, plain_calls, program_text, words
from ceql.output.export.source import folded, header, is_long, safe_name, safe_names

UNNAMED = "formula"


@dataclass(frozen=True)
class Plan:
    """A program before it is written: its function's name, arguments, names in use, compiled formula and text."""

    function: str
    arguments: tuple[str, ...]
    taken: frozenset[str]
    program: CompiledFormula
    text: ProgramText

    @property
    def signature(self) -> str:
        return f"{self.function}({', '.join(self.arguments)})"

    @property
    def functions(self) -> frozenset[str]:
        """The names of the functions that the program uses."""
        return functions_of(self.program)

    @property
    def operations(self) -> frozenset[str]:
        return operations_of(self.program)


def functions_of(program: CompiledFormula) -> frozenset[str]:
    return frozenset(str(step.payload) for step in program.instructions if step.operation == "function")


def operations_of(program: CompiledFormula) -> frozenset[str]:
    return frozenset(step.operation for step in program.instructions)


@dataclass(frozen=True)
class Language:
    """A programming language; `mark` begins a comment, and `notes` may contain `{function}`."""

    dialect: Dialect
    frame: Callable[[Plan], str]
    notes: tuple[str, ...]
    reserved: frozenset[str]
    mark: str = "#"
    any_case: bool = False  # whether names are case-insensitive
    hides_functions: bool = False  # whether an argument hides a function of the same name


_UNDEFINED = "NaN where the formula is undefined."
_ARRAYS = f"One array of equal length, or one number, for each input. {_UNDEFINED}"
_TENSORS = f"One tensor of equal shape for each input; float64 gives all digits. {_UNDEFINED}"
_PRECISION = (
    "JAX computes in single precision unless told otherwise, before anything else, with "
    'jax.config.update("jax_enable_x64", True). Numbers below 2e-308 count as zero.'
)
_IN_C = (
    "Outside the domain the result is NaN (the logarithm or root of a negative number) or infinity (a division by "
    "zero), as IEEE arithmetic has it; do not compile with -ffast-math. Link with -lm."
)
_IN_FORTRAN = (
    "Outside the domain (the logarithm or root of a negative number, a division by zero) the standard leaves the "
    "result open; compilers give NaN or infinity unless told to trap."
)
_IN_JULIA = (
    "Outside the domain (the logarithm, root or fractional power of a negative number, a sine of infinity) Julia "
    "throws a DomainError; a division by zero gives infinity or NaN. For columns: {function}.(...)."
)
_PYTHON_WORDS = frozenset({*keyword.kwlist, *keyword.softkwlist})
_C_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl complex concept const
consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if imaginary inline int long main mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true
try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq linux unix
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs fdim
finite floor fma fmax fmin fmod frexp gamma hypot ilogb isfinite isinf isnan isnormal fpclassify signbit isgreater
isless isunordered j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
nextafter nexttoward pow remainder remquo rint round scalb scalbln scalbn significand signgam sin sincos sinh sqrt tan
tanh tgamma trunc y0 y1 yn NAN INFINITY HUGE_VAL M_E M_PI double_t float_t
"""
# Fortran reserves nothing, but an argument called `exp` would hide the function of that name.
_FORTRAN_WORDS = """
dp result value module contains function end implicit none real integer parameter kind intent in out pure elemental
program subroutine use only public private if then else do while select case where call return stop data common save
print write read open close inquire format entry type class allocate block double precision logical character complex
"""
_JULIA_WORDS = """
abstract baremodule begin break catch const continue do else elseif end export false finally for function global if
import in isa let local macro module mutable outer primitive public quote return struct true try type using var where
while float pi im missing nothing Inf NaN Float64 Int Base Core Main
"""
# `math` raises where NumPy gives NaN or infinity; these helper functions return what `predict` returns.
_DIVIDE = """
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
"""
_POWER = """
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan
"""
_POWERS = {"integer_power", "real_power", "power"}


def _call_in_python(function: ElementaryFunction, argument: str) -> str:
    return f"_{function.name}({argument})" if function.python else function.call("python", argument, "math.{}")


def _number_in_fortran(value: float) -> str:
    text = repr(value)
    return text.replace("e", "d") if "e" in text else f"{text}d0"


def _body(plan: Plan, indent: str = "    ") -> str:
    """The body of a Python or Julia function: the variables, then the value."""
    starts = [(f"{name} = ", value) for name, value in plan.text.variables]
    return "".join(statement(start, value, indent) for start, value in [*starts, ("return ", plan.text.value)])


def statement(start: str, value: str, indent: str = "    ") -> str:
    """A Python or Julia statement, folded in parentheses if it is long."""
    if is_long(value):
        return f"{indent}{start}(\n{folded(value, indent + '    ')}\n{indent})\n"
    return f"{indent}{start}{value}\n"


def _python(plan: Plan) -> str:
    """Plain Python for one row of numbers that needs only `math`."""
    helpers = "".join(helpers_in_python(plan.operations, plan.functions))
    function = f"def {plan.signature}:\n{_body(plan)}"
    module = "import math\n" if "math." in helpers + function else ""
    return f"{module}{helpers}\n\n{function}"


def helpers_in_python(operations: Collection[str], used: Collection[str]) -> Iterator[str]:
    """The helper functions for these operations and functions, which return what NumPy returns where `math` raises."""
    if "divide" in operations:
        yield f"\n\ndef _divide(a, b):{_DIVIDE}"
    if not _POWERS.isdisjoint(operations):
        yield f"\n\ndef _power(a, b):{_POWER}"
    for name in functions.names():
        body = functions.get(name).python
        if name in used and body is not None:
            yield f"\n\ndef _{name}(a):{body}"


def _arrays(plan: Plan, module: str, constant: str, convert: str = "", before: str = "") -> str:
    """A Python function of whole columns; `constant` is the body for a formula without inputs."""
    names = plan.arguments
    if "input" in plan.operations:
        inner = before + _body(plan, (8 if before else 4) * " ")
    else:
        shapes = ", ".join(f"{name}.shape" for name in names)
        inner = constant.format(plan.text.value, names=", ".join(names), shapes=shapes, first=names[0])
    top = "".join(f"    {convert.format(name)}\n" for name in names if convert)
    return f"import {module}\n\n\ndef {plan.signature}:\n{top}{inner}"


_numpy = partial(
    _arrays,
    module="numpy as np",
    constant="    return np.full(np.broadcast({names}).shape, {})\n",
    convert="{0} = np.asarray({0}, dtype=float)",
    before='    with np.errstate(all="ignore"):\n',
)
_jax = partial(
    _arrays,
    module="jax.numpy as jnp",
    constant="    return jnp.full(jnp.broadcast_shapes({shapes}), {})\n",
    convert="{0} = jnp.asarray({0}, dtype=float)",
)
_torch = partial(_arrays, module="torch", constant="    return torch.full_like({first}, {})\n")


def _c(plan: Plan) -> str:
    """One C99 function of doubles, which is also valid C++."""
    used = {int(step.payload) for step in plan.program.instructions if step.operation == "input"}
    parts = [(f"const double {name} =", value) for name, value in plan.text.variables]
    lines = [statement_in_c(*part) for part in parts]
    lines += [f"    (void){name};\n" for k, name in enumerate(plan.arguments) if k not in used]
    lines.append(statement_in_c("return", plan.text.value))
    parameters = ", ".join(f"double {name}" for name in plan.arguments)
    return f"#include <math.h>\n\ndouble {plan.function}({parameters})\n{{\n{''.join(lines)}}}\n"


def statement_in_c(start: str, value: str) -> str:
    return f"    {start}\n{folded(value, 8 * ' ')};\n" if is_long(value) else f"    {start} {value};\n"


def _fortran(plan: Plan) -> str:
    """Fortran 2003: a module with one elemental function in double precision."""
    module = safe_name(f"{plan.function}_module", plan.taken, any_case=True)
    arguments = ", ".join(plan.arguments)
    variables = [*(name for name, _ in plan.text.variables), "value"]
    inner = [
        f"real(dp), intent(in) :: {arguments}",
        f"real(dp) :: {', '.join(variables)}",
        *(f"{name} = {text}" for name, text in plan.text.variables),
        f"value = {plan.text.value}",
    ]
    lines = [
        f"module {module}",
        "  implicit none",
        "  integer, parameter :: dp = kind(1.0d0)",
        "contains",
        folded(f"elemental function {plan.signature} result(value)", "  ", " &"),
        *(folded(line, "    ", " &") for line in inner),
        f"  end function {plan.function}",
        f"end module {module}",
    ]
    return "\n".join(lines) + "\n"


def _julia(plan: Plan) -> str:
    """One function of numbers; `f.(x, y)` applies it to columns."""
    floats = "".join(f"    {name} = float({name})\n" for name in plan.arguments)  # whole numbers would overflow
    return f"function {plan.signature}\n{floats}{_body(plan)}end\n"


def _arrays_with(name: str, module: str, frame: Callable[[Plan], str], notes: tuple[str, ...], *taken: str) -> Language:
    dialect = Dialect(number=repr, call=plain_calls(name, f"{module}.{{}}"))
    return Language(dialect, frame, notes, _PYTHON_WORDS | {module, *taken})


LANGUAGES: Mapping[str, Language] = {
    "python": Language(
        Dialect(number=repr, call=_call_in_python, power="_power({}, {})", divide="_divide({}, {})"),
        _python,
        (f"One number for each input. {_UNDEFINED}",),
        _PYTHON_WORDS | {"math", "abs"},
    ),
    "numpy": _arrays_with("numpy", "np", _numpy, (_ARRAYS,), "float"),
    "jax": _arrays_with("jax", "jnp", _jax, (_ARRAYS, _PRECISION), "jax"),
    "torch": _arrays_with("torch", "torch", _torch, (_TENSORS,)),
    "c": Language(
        Dialect(repr, plain_calls("c"), "pow({}, {})", whole_exponent=lambda exponent: repr(float(exponent))),
        _c,
        (_IN_C,),
        frozenset(_C_WORDS.split()),
        mark="//",
        hides_functions=True,
    ),
    "fortran": Language(
        Dialect(number=_number_in_fortran, call=plain_calls("fortran")),
        _fortran,
        (_IN_FORTRAN,),
        frozenset(_FORTRAN_WORDS.split()),
        mark="!",
        any_case=True,
        hides_functions=True,
    ),
    "julia": Language(
        Dialect(number=repr, call=plain_calls("julia"), power="{}^{}"),
        _julia,
        (_IN_JULIA,),
        frozenset(_JULIA_WORDS.split()),
        hides_functions=True,
    ),
}


def write(to: str, formula: Formula, names: Sequence[str], target: str | None) -> str:
    language = LANGUAGES[to]
    reserved = language.reserved | (words(to) if language.hides_functions else frozenset())
    arguments = safe_names(names, reserved, language.any_case)
    function = safe_name(target or UNNAMED, {*reserved, *arguments}, language.any_case)
    taken = frozenset({function, *arguments, *reserved})
    program = compile_numpy(formula.expression, formula.symbols)

    def variable(k: int) -> str:
        return safe_name(f"part{k}", taken, language.any_case)

    text = program_text(program, arguments, language.dialect, variable)
    notes = [note.format(function=function) for note in language.notes]
    top = header(formula, names, arguments, target, language.mark, notes)
    return f"{top}\n{language.frame(Plan(function, arguments, taken, program, text))}"
