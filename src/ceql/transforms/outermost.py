"""Targets with the outermost function of y undone, such as a root, an exponential or a reciprocal.

If y is the square root of an expression, then y squared is that expression: it is one layer shallower and so far easier
to find. Such targets only serve to find exact formulas; the formula is always judged on y itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ceql.expression.algebra.squares import signed_root
from ceql.operators import functions, get
from ceql.transforms.policy import TransformPolicy


@dataclass(frozen=True)
class Target:
    name: str
    needs: tuple[str, ...]  # operators needed to write y in terms of it; they must be allowed
    applies: Callable[[np.ndarray, TransformPolicy], bool]
    forward: Callable[[np.ndarray], np.ndarray]
    back: Callable  # turns an expression for forward(y), with the values of y, into one for y


def _has_one_sign(y: np.ndarray) -> bool:
    return bool((y >= 0).all() or (y <= 0).all())


def _sign(y: np.ndarray) -> int:
    return 1 if y.sum() >= 0 else -1


def _is_angle(y: np.ndarray, policy: TransformPolicy, low: float, high: float) -> bool:
    """Return whether y lies between these multiples of pi and spans enough to differ from its own sine."""
    return bool((y >= low * np.pi).all() and (y <= high * np.pi).all() and np.ptp(y) > policy.least_angle)


def _undone(name: str, undone: str, low: float, high: float) -> Target:
    """Return the target that undoes an inverse function: y is then an angle between these multiples of pi."""
    forward, back = functions.get(undone).value, functions.get(name).symbolic
    applies = partial(_is_angle, low=low, high=high)
    return Target(f"{undone} y", (name,), applies, forward, lambda expression, y: back(expression))


TARGETS = (
    Target("y", (), lambda y, _: True, lambda y: y, lambda expression, y: expression),
    Target("y^2", ("sqrt",), lambda y, _: _has_one_sign(y), np.square, lambda e, y: _sign(y) * signed_root(e)),
    # A relativistic (x - u*t)/sqrt(1 - u**2) has both signs; so does the root of its squared numerator.
    Target("y^2, signed", ("sqrt", "div"), lambda y, _: not _has_one_sign(y), np.square, lambda e, y: signed_root(e)),
    Target("1/y", ("div",), lambda y, _: bool((y != 0).all()), lambda y: 1.0 / y, lambda e, y: 1 / e),
    Target(
        "log y",
        ("exp",),
        lambda y, _: _has_one_sign(y) and bool((y != 0).all()),
        lambda y: np.log(np.abs(y)),
        lambda e, y: _sign(y) * get("exp").symbolic(e),
    ),
    *(_undone(function.name, *function.undoes) for function in functions.TABLE if function.undoes is not None),
    Target(
        "exp y",
        ("log",),
        lambda y, policy: bool(np.ptp(y) < policy.widest_exponent and np.abs(y).max() < policy.largest_exponent),
        np.exp,
        lambda e, y: get("log").symbolic(e),
    ),
    # Undone by asinh, written with log and sqrt; exp y would be a sum with a root.
    Target(
        "sinh y",
        ("log", "sqrt"),
        lambda y, policy: bool(np.ptp(y) > policy.least_angle and np.abs(y).max() < policy.widest_exponent),
        np.sinh,
        lambda e, y: get("log").symbolic(e + get("sqrt").symbolic(e**2 + 1)),
    ),
    Target(
        "1/y^2",
        ("div", "sqrt"),
        lambda y, _: _has_one_sign(y) and bool((y != 0).all()),
        lambda y: y**-2.0,
        lambda e, y: _sign(y) / signed_root(e),
    ),
)


def usable_targets(
    y: np.ndarray, operators: tuple[str, ...], policy: TransformPolicy = TransformPolicy()
) -> list[Target]:
    """Return the targets that make sense for these values, y itself first."""
    usable = []
    for target in TARGETS:
        if set(target.needs) <= set(operators) and target.applies(y, policy):
            with np.errstate(all="ignore"):
                image = target.forward(y)
            if np.isfinite(image).all() and np.ptp(image) > 0:
                usable.append(target)
    return usable
