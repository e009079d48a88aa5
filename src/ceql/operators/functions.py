"""The elementary functions: one object each, with everything that the library needs to know about it.

The parser, the evaluator and its derivatives, the operators of the search, users' own operators, the templates, the
poles and every export look functions up here. A new one is an object in ``TABLE`` and, for fast fits, an entry in
``core/operator_table.hpp`` under the same name; without it the tape is written from ``definition``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import sympy

from ceql.operators.cube_root import cbrt
from ceql.operators.intervals import REALS, Domain

Array = np.ndarray
# Prices in nats: minus the logarithm of an operator's share among those in textbook formulas.
RAREST = 5.26  # the price of the rarest counted operator, used for those not counted or too rare


class Course(Enum):
    """Where a function rises and falls, to find bounds of its values."""

    UNKNOWN = "unknown"
    RISES = "rises"  # on its whole domain
    FALLS = "falls"
    EVEN = "even"  # rises away from zero on both sides
    RISES_BETWEEN_POLES = "rises between poles"  # the poles are the odd multiples of a quarter turn

    @property
    def is_known(self) -> bool:
        return self is not Course.UNKNOWN


@dataclass(frozen=True, eq=False)  # there is only one function of each name
class ElementaryFunction:
    """A function of one real number, in all its forms.

    ``value`` returns NaN outside the ``domain``. ``slope`` returns the derivative, given the argument u and the value
    f. ``symbolic`` is its SymPy class, or a function that builds its SymPy form. ``surrogate`` replaces it in training
    for complex arguments and equals it on the real axis; without one, imaginary parts are ignored.

    ``texts`` maps languages to how a call is written, if not simply with the function's name: another name, or a
    pattern with ``{0}`` for the argument. ``python`` is the body of a function of `a` in plain Python, where `math`
    raises errors instead of returning NaN or infinity.
    """

    name: str
    value: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]
    symbolic: Callable[..., Any]
    surrogate: Callable[[Any], Array] | None = None
    definition: Callable[[Any], Any] | None = None  # builds it as a SymPy formula of other functions
    domain: Domain = REALS
    singular: tuple[str, Callable[[Any], Any]] | None = None  # kind of its singularities, and what vanishes there
    imaginary_part: str | None = None  # the core's operator for the imaginary part that the surrogate drops
    oscillates: bool = False
    degree: float | None = None  # f(s*u) = s**degree * f(u) for every s > 0, so the scale inside is arbitrary
    texts: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None
    aliases: tuple[str, ...] = ()
    undoes: tuple[str, float, float] | None = None  # the function it inverts, for arguments between these times pi
    course: Course = Course.UNKNOWN
    within: tuple[float, float] = (-math.inf, math.inf)  # bounds of its values, if its course is known
    is_shape: bool = False  # whether a whole law may be this function, stretched in both directions
    price: float = RAREST  # its contribution to the description length of a formula, in nats

    @property
    def kind(self) -> type | None:
        """The SymPy class that identifies it in a formula; None if SymPy writes it as a power."""
        return self.symbolic if isinstance(self.symbolic, type) else None

    def call(self, language: str, argument: str, usual: str = "{}") -> str:
        """Return the text of a call; `usual` is the language's pattern for names that are not in `texts`."""
        text = self.texts.get(language, usual.format(self.name))
        return text.format(argument) if "{" in text else f"{text}({argument})"


def _damping(z: Any) -> Array:
    return np.exp(-(z.imag**2) / 2)


def _cbrt_surrogate(z: Any) -> Array:
    size = np.abs(z)
    return z.real * np.where(size > 0, size, 1.0) ** (-2.0 / 3.0)


def _one_over_cosine(u: Array, f: Array) -> Array:
    return 1.0 / np.sqrt(1.0 - u * u)


_POSITIVE, _NOT_NEGATIVE = Domain(lower=0.0, closed=False), Domain(lower=0.0)
_UP_TO_ONE = Domain(-1.0, 1.0)
_FINITE = """
    return math.{0}(a) if math.isfinite(a) else math.nan
"""
_WITHIN_ONE = """
    return math.{0}(a) if -1 <= a <= 1 else math.nan
"""
_BOUNDED = """
    try:
        return math.{0}(a)
    except OverflowError:
        return {1}
"""

TABLE = (
    ElementaryFunction("square", np.square, lambda u, f: 2.0 * u, lambda u: u**2, price=2.62),
    ElementaryFunction("cube", lambda x: x**3, lambda u, f: 3.0 * u * u, lambda u: u**3, price=2.62),
    ElementaryFunction(
        "log",
        np.log,
        lambda u, f: 1.0 / u,
        sympy.log,
        surrogate=lambda z: np.log(z).real,
        domain=_POSITIVE,
        singular=("log singularity", lambda u: u),
        imaginary_part="angle",
        texts={"excel": "LN"},
        python="""
    if a > 0:
        return math.log(a)
    return -math.inf if a == 0 else math.nan
""",
        price=4.04,
    ),
    ElementaryFunction(
        "sqrt",
        np.sqrt,
        lambda u, f: 0.5 / f,
        sympy.sqrt,
        surrogate=lambda z: np.sqrt(z).real,
        domain=_NOT_NEGATIVE,
        imaginary_part="sqrt_im",
        python="""
    return math.sqrt(a) if a >= 0 else math.nan
""",
        price=4.06,
    ),
    ElementaryFunction(
        "exp", np.exp, lambda u, f: f, sympy.exp, python=_BOUNDED.format("exp", "math.inf"), is_shape=True, price=4.06
    ),
    ElementaryFunction(
        "sin",
        np.sin,
        lambda u, f: np.cos(u),
        sympy.sin,
        surrogate=lambda z: np.sin(z.real) * _damping(z),
        oscillates=True,
        python=_FINITE.format("sin"),
        price=5.26,
        is_shape=True,
    ),
    ElementaryFunction(
        "cos",
        np.cos,
        lambda u, f: -np.sin(u),
        sympy.cos,
        surrogate=lambda z: np.cos(z.real) * _damping(z),
        oscillates=True,
        python=_FINITE.format("cos"),
        price=4.75,
        is_shape=True,
    ),
    ElementaryFunction(
        "tan",
        np.tan,
        lambda u, f: 1.0 + f * f,
        sympy.tan,
        surrogate=lambda z: np.tan(z).real,
        singular=("pole", sympy.cos),
        course=Course.RISES_BETWEEN_POLES,
        python=_FINITE.format("tan"),
    ),
    ElementaryFunction(
        "asin",
        np.arcsin,
        _one_over_cosine,
        sympy.asin,
        surrogate=lambda z: np.arcsin(z).real,
        domain=_UP_TO_ONE,
        texts={"numpy": "np.arcsin", "jax": "jnp.arcsin"},
        python=_WITHIN_ONE.format("asin"),
        undoes=("sin", -0.5, 0.5),
        course=Course.RISES,
        within=(-1.6, 1.6),
    ),
    ElementaryFunction(
        "acos",
        np.arccos,
        lambda u, f: -_one_over_cosine(u, f),
        sympy.acos,
        surrogate=lambda z: np.arccos(z).real,
        domain=_UP_TO_ONE,
        texts={"numpy": "np.arccos", "jax": "jnp.arccos"},
        python=_WITHIN_ONE.format("acos"),
        undoes=("cos", 0.0, 1.0),
        course=Course.FALLS,
        within=(0.0, 3.2),
    ),
    ElementaryFunction(
        "atan",
        np.arctan,
        lambda u, f: 1.0 / (1.0 + u * u),
        sympy.atan,
        texts={"numpy": "np.arctan", "jax": "jnp.arctan"},
        undoes=("tan", -0.5, 0.5),
        course=Course.RISES,
        within=(-1.6, 1.6),
        is_shape=True,
    ),
    ElementaryFunction(
        "sinh",
        np.sinh,
        lambda u, f: np.cosh(u),
        sympy.sinh,
        python=_BOUNDED.format("sinh", "math.copysign(math.inf, a)"),
        course=Course.RISES,
        is_shape=True,
    ),
    ElementaryFunction(
        "cosh",
        np.cosh,
        lambda u, f: np.sinh(u),
        sympy.cosh,
        python=_BOUNDED.format("cosh", "math.inf"),
        course=Course.EVEN,
        within=(1.0, math.inf),
        is_shape=True,
    ),
    ElementaryFunction(
        "tanh",
        np.tanh,
        lambda u, f: 1.0 - f * f,
        sympy.tanh,
        course=Course.RISES,
        within=(-1.0, 1.0),
        is_shape=True,
    ),
    ElementaryFunction(
        "cbrt",
        np.cbrt,
        lambda u, f: 1.0 / (3.0 * f * f),
        cbrt,
        surrogate=_cbrt_surrogate,
        degree=1.0 / 3.0,
        course=Course.RISES,
        texts={
            "torch": "(torch.sign({0}) * torch.abs({0})**(1 / 3))",
            "fortran": "sign(abs({0})**(1.0d0/3.0d0), {0})",
            "excel": "(SIGN({0})*ABS({0})^(1/3))",
        },
        python="""
    return math.copysign(abs(a) ** (1.0 / 3.0), a)
""",
    ),
    ElementaryFunction(
        "abs", np.abs, lambda u, f: np.sign(u), sympy.Abs, texts={"python": "abs", "c": "fabs"}, aliases=("Abs",)
    ),
)

_by_name: dict[str, ElementaryFunction] = {}
_by_spelling: dict[str, ElementaryFunction] = {}
_by_kind: dict[type, ElementaryFunction] = {}


def add(function: ElementaryFunction) -> None:
    """Add a function to the tables in which functions are looked up."""
    _by_name[function.name] = function
    for spelling in (function.name, *function.aliases):
        _by_spelling[spelling] = function
    if function.kind is not None:
        _by_kind[function.kind] = function


for _function in TABLE:
    add(_function)


def names() -> tuple[str, ...]:
    return tuple(_by_name)


def get(name: str) -> ElementaryFunction:
    return _by_name[name]


def spellings() -> Mapping[str, ElementaryFunction]:
    """Return the functions by every name that the text of a formula may use."""
    return _by_spelling


def of_kind(kind: type) -> ElementaryFunction | None:
    """Return the function with this SymPy class; None if there is none."""
    return _by_kind.get(kind)


def kinds() -> tuple[type, ...]:
    return tuple(_by_kind)
