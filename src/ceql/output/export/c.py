"""C99, which is C++ as well: one function of doubles."""

from __future__ import annotations

from collections.abc import Sequence

from ceql.formula import Formula
from ceql.output.export.program_text import Dialect, plain_calls, words
from ceql.output.export.source import folded, is_long, plan

_DIALECT = Dialect(
    number=repr,
    call=plain_calls("c"),
    power="pow({}, {})",
    whole_exponent=lambda exponent: repr(float(exponent)),
)
_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl complex concept const
consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if imaginary inline int long main mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true
try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq linux unix
"""
_IN_MATH_H = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs fdim
finite floor fma fmax fmin fmod frexp gamma hypot ilogb isfinite isinf isnan isnormal fpclassify signbit isgreater
isless isunordered j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
nextafter nexttoward pow remainder remquo rint round scalb scalbln scalbn significand signgam sin sincos sinh sqrt tan
tanh tgamma trunc y0 y1 yn NAN INFINITY HUGE_VAL M_E M_PI double_t float_t
"""
_RESERVED = frozenset(_KEYWORDS.split()) | set(_IN_MATH_H.split())
_NOTE = (
    "Outside the domain the result is NaN (the logarithm or root of a negative number) or infinity (a division by "
    "zero), as IEEE arithmetic has it; do not compile with -ffast-math. Link with -lm."
)


def write(formula: Formula, names: Sequence[str], target: str | None) -> str:
    planned = plan(formula, names, target, _DIALECT, _RESERVED | words("c"), "//", [_NOTE])
    parameters = ", ".join(f"double {name}" for name in planned.arguments)
    lines = [_statement(f"const double {name} =", value) for name, value in planned.text.variables]
    lines += [f"    (void){name};\n" for name in _unused(planned.arguments, planned.program)]
    value = _statement("return", planned.text.value)
    function = f"double {planned.function}({parameters})\n{{\n{''.join(lines)}{value}}}\n"
    return f"{planned.top}\n#include <math.h>\n\n{function}"


def _statement(start: str, value: str) -> str:
    if not is_long(value):
        return f"    {start} {value};\n"
    return f"    {start}\n{folded(value, 8 * ' ')};\n"


def _unused(arguments: Sequence[str], program) -> list[str]:
    used = {int(step.payload) for step in program.instructions if step.operation == "input"}
    return [name for k, name in enumerate(arguments) if k not in used]
