"""Laws between dimensionless groups in which all numbers are simple: y = d + a * (powers of groups) * F(b*w)**q.

w is a product of powers of groups, perhaps times the sine or cosine of an angle, F one of a few functions, b a simple
number, and d zero or plus or minus a product of groups. Given b, w, F and d, the logarithm of the law is linear in all
other numbers, so all candidates are compared at once. Exponents and a must turn out simple as well. Functions are
computed as written: where exp(z) - 1 loses digits, the data lost the same ones, and this distinguishes functions that
are equal otherwise. A small additional term, a product of powers, is looked for in the residual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from operator import mul
from typing import Any

import numpy as np
import sympy

from ceql.closed_form.policy import PurePolicy
from ceql.engine.one_thread import one_thread
from ceql.operators import get
from ceql.operators.functions import TABLE

Column = tuple[np.ndarray, Any]  # values and expression
Price = Callable[[Any], float]  # the description length of a formula
Insides = Callable[..., Iterator[tuple[list["_Inside"], np.ndarray]]]  # batches of candidates with values in some rows
Simple = Callable[[float, float], Any]  # the simple number that equals a number to an accuracy; None if there is none


@dataclass(frozen=True)
class _Function:
    """A function, computed exactly as it is written."""

    needs: tuple[str, ...]
    values: Callable[[np.ndarray], np.ndarray]
    written: Callable[[Any], Any]


def _named(name: str) -> Callable[[Any], Any]:
    return lambda z: get(name).symbolic(z)


_EXP, _COS = _named("exp"), _named("cos")
_FUNCTIONS = (
    _Function((), lambda z: 1.0 + z, lambda z: 1 + z),
    _Function(("exp",), np.exp, _EXP),
    _Function(("exp",), lambda z: np.exp(z) - 1.0, lambda z: _EXP(z) - 1),
    _Function(("exp",), lambda z: np.exp(z) + 1.0, lambda z: _EXP(z) + 1),
    _Function(("log",), lambda z: np.log(1.0 + z), lambda z: _named("log")(1 + z)),
    _Function(("sin",), np.sin, _named("sin")),
    _Function(("cos",), np.cos, _COS),
    _Function(("cos",), lambda z: 1.0 - np.cos(z), lambda z: 1 - _COS(z)),
    *(_Function((one.name,), one.value, one.symbolic) for one in TABLE if one.is_shape and one.course.is_known),
)
_LINEAR = _FUNCTIONS[0]
_NOTHING: Column = (np.array(0.0), sympy.Integer(0))
_LARGEST = 1000  # the largest denominator of a number inside a function
_SIMPLEST = _FUNCTIONS[:2]


@dataclass(frozen=True, eq=False)
class _Inside:
    """A function applied to a variable times a simple number."""

    variable: _Variable
    function: _Function
    number: Fraction
    power_of_pi: int

    @property
    def values(self) -> np.ndarray:
        """Return the values of the function in all rows."""
        return self.function.values(self.variable.values() * (float(self.number) * np.pi**self.power_of_pi))

    @property
    def written(self) -> Any:
        return self.number * sympy.pi**self.power_of_pi * self.variable.written


@dataclass(frozen=True, eq=False)
class _Law:
    """A law: its values, its residual relative to y (root mean square), and its expression."""

    values: np.ndarray
    left: float
    written: Any


@one_thread
@np.errstate(all="ignore")  # candidates that overflow are rejected
def pure_law(
    x: np.ndarray,
    y: np.ndarray,
    symbols: Sequence[Any],
    angles: Sequence[int],
    simple: Simple,
    price: Price,
    names: Sequence[str] | None = None,
    policy: PurePolicy = PurePolicy(),
) -> list[Any]:
    """Return the laws over these symbols that equal y, the shortest to describe first; none if there are none.

    Several laws are returned if the rows used cannot distinguish them. `angles` are the columns whose sines and cosines
    may be factors, `names` the functions that may be used (None: all).
    """
    if x.shape[1] > policy.most_groups or not np.isfinite(x).all() or not y.all():
        return []
    rows = _rows(x, policy)
    own, values = x[rows], y[rows]
    columns = [(own[:, k], symbols[k]) for k in range(x.shape[1]) if (own[:, k] != 0).all()]
    waves = list(_waves(own, symbols, angles, names))
    factors = [*columns, *waves]
    insides = partial(_insides, columns, waves, names, policy)
    laws = _laws(values, list(_offsets(columns, policy)), factors, insides, simple, policy)
    groups = [(own[:, k], symbols[k]) for k in range(x.shape[1]) if k not in angles]
    if not laws and groups and len(groups) <= policy.groups_beside:
        beside = [*factors, *_binomials(groups)]
        laws = _laws(values, [_NOTHING], beside, partial(insides, quickly=True), simple, policy, sums=True)
    return sorted(laws, key=price)[: policy.kept]


def _laws(
    y: np.ndarray,
    offsets: Sequence[Column],
    factors: Sequence[Column],
    insides: Insides,
    simple: Simple,
    policy: PurePolicy,
    sums: bool = False,
) -> list[Any]:
    """Return the laws, made of these factors and functions, with the least residual as far as the rows can tell."""
    goals = [goal for offset in offsets if (goal := _goal(y, offset, factors, policy)) is not None]
    goals = [goal for goal in goals if np.abs(goal.left).max() > policy.digits]  # others are plain products
    found = list(_compared(goals, insides, simple, policy, sums)) if goals else []
    exact = [law for law in found if law.left <= policy.vanishes]
    if not exact:
        found.sort(key=lambda law: law.left)
        corrected = (_corrected(y, law, factors, simple, policy) for law in found[: policy.corrected])
        exact = [law for law in corrected if law is not None]
    least = max(min((law.left for law in exact), default=0.0), policy.rounding) / policy.better
    return list(dict.fromkeys(law.written for law in exact if law.left <= least))


def _compared(
    goals: Sequence[_Goal], insides: Insides, simple: Simple, policy: PurePolicy, sums: bool
) -> Iterator[_Law]:
    """Yield the laws close to a goal, checked in a few informative rows first, which excludes most, and then in all."""
    rows = _telling(goals[0], policy)
    glances = [goal.at(rows, policy) for goal in goals]
    for some, computed in insides(rows=rows):
        logs = np.log(np.abs(computed))
        for goal, glance in zip(goals, glances, strict=True):
            likely = [some[k] for k in _near(glance, logs, policy)]
            if not likely:
                continue
            values = np.column_stack([inside.values for inside in likely])
            for k in _near(goal, np.log(np.abs(values)), policy):
                law = _law(goal, likely[k], values[:, k], simple, policy, sums)
                if law is not None:
                    yield law


def _telling(goal: _Goal, policy: PurePolicy) -> np.ndarray:
    """Return the rows in which the best product of powers has the largest residuals, and as many others."""
    most = max(policy.glance, policy.glance_a_factor * goal.basis.shape[1])
    order = np.argsort(-np.abs(goal.left), kind="stable")
    first, rest = np.split(order, [most // 2])
    return np.sort(np.concatenate([first, np.sort(rest)[:: max(2 * len(rest) // most, 1)]]))


def _rows(x: np.ndarray, policy: PurePolicy) -> np.ndarray:
    """Return some random rows, and those with the largest and smallest groups, where laws differ most."""
    some = np.random.default_rng(0).permutation(len(x))[: policy.rows]
    order = np.argsort(x, axis=0, kind="stable")
    ends = policy.extreme // (2 * x.shape[1])
    return np.unique(np.concatenate([some, order[:ends].ravel(), order[len(x) - ends :].ravel()]))


# ---- what is compared ---------------------------------------------------------------------------------------------


def _waves(
    x: np.ndarray, symbols: Sequence[Any], angles: Sequence[int], names: Sequence[str] | None
) -> Iterator[Column]:
    """Yield sines and cosines of angles and of their differences, and 1 plus or minus the cosines."""
    single = [(x[:, k], symbols[k]) for k in angles]
    pairs = [
        (x[:, i] - x[:, j], symbols[i] - symbols[j]) for place, i in enumerate(angles) for j in angles[place + 1 :]
    ]
    for values, symbol in (*single, *pairs):
        for name, function in (("sin", np.sin), ("cos", np.cos)):
            if names is None or name in names:
                yield function(values), get(name).symbolic(symbol)
        if names is None or "cos" in names:
            yield 1.0 - np.cos(values), 1 - _COS(symbol)
            yield 1.0 + np.cos(values), 1 + _COS(symbol)


def _binomials(groups: Sequence[Column]) -> Iterator[Column]:
    """Yield 1 - u, 1 + u and 1 + u**2 for each group u, which may be factors beside a function."""
    for values, symbol in groups:
        yield 1.0 - values, 1 - symbol
        yield 1.0 + values, 1 + symbol
        yield 1.0 + values**2, 1 + symbol**2


def _offsets(columns: Sequence[Column], policy: PurePolicy) -> Iterator[Column]:
    """Yield what may be added to a law: nothing, plus or minus one, or, for few groups, a product of them."""
    yield _NOTHING
    powers = product((0, 1, -1), repeat=len(columns) if len(columns) <= policy.groups_beside else 0)
    for own in powers:
        if sum(map(abs, own)) > policy.most_powers_beside:
            continue
        values, written = np.array(1.0), sympy.Integer(1)
        for (column, symbol), power in zip(columns, own, strict=False):
            values, written = values * column**power, written * symbol**power
        yield from ((sign * values, sign * written) for sign in (1, -1))


def _insides(
    columns: Sequence[Column],
    waves: Sequence[Column],
    names: Sequence[str] | None,
    policy: PurePolicy,
    rows: np.ndarray,
    quickly: bool = False,
) -> Iterator[tuple[list[_Inside], np.ndarray]]:
    """Yield functions of the simplest variables, a few variables at a time, with their values in these rows.

    Variables that are not plain are tried with the simplest functions and numbers only; with `quickly`, so are all.
    """
    allowed = [f for f in _FUNCTIONS if names is None or set(f.needs) <= set(names)]
    variables = sorted(_variables(columns, waves, policy), key=lambda found: found.cost)[: policy.most_variables]
    fractions = [Fraction(number).limit_denominator(_LARGEST) for number in policy.numbers]
    all_numbers, few = list(product(fractions, policy.powers_of_pi)), [(number, 0) for number in fractions]
    plain = [] if quickly else [variable for variable in variables if variable.is_plain]
    others = [variable for variable in variables if quickly or not variable.is_plain]
    ways = [([variable], allowed, all_numbers) for variable in plain]
    simplest = [function for function in allowed if function in _SIMPLEST]
    ways += [(others[k : k + policy.at_once], simplest, few) for k in range(0, len(others), policy.at_once)]
    for some, kinds, numbers in ways:
        sizes = np.array([float(n) * np.pi**p for n, p in numbers])
        arguments = np.hstack([variable.values(rows)[:, None] * sizes for variable in some])
        found = [_Inside(variable, function, *own) for function in kinds for variable in some for own in numbers]
        yield found, np.hstack([function.values(arguments) for function in kinds])


@dataclass(frozen=True, eq=False)
class _Variable:
    """A product of powers of the groups, perhaps times one sine or cosine; computed on demand, since few are needed."""

    factors: tuple[tuple[Column, int], ...]
    cost: float  # the simplest come first
    is_plain: bool  # without a sine or cosine, and not of many powers

    def values(self, rows: Any = slice(None)) -> np.ndarray:
        return reduce(np.multiply, (column[rows] ** power for (column, _), power in self.factors))

    @property
    def written(self) -> Any:
        return reduce(mul, (symbol**power for (_, symbol), power in self.factors))


def _variables(columns: Sequence[Column], waves: Sequence[Column], policy: PurePolicy) -> Iterator[_Variable]:
    for powers in product(policy.powers, repeat=len(columns)):
        total = sum(abs(power) for power in powers)
        if total > policy.most_powers:
            continue
        factors = tuple((column, power) for column, power in zip(columns, powers, strict=True) if power)
        if total:
            yield _Variable(factors, float(total), total <= policy.plain_powers)
        if total <= policy.most_powers_beside:
            yield from (_Variable((*factors, (wave, 1)), float(total + policy.wave), False) for wave in waves)


# ---- comparing ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Goal:
    """What a law must equal, given the offset added to it, and the logarithms of its possible factors."""

    y: np.ndarray
    offset: Column
    values: np.ndarray
    weight: np.ndarray  # per row: less where subtracting the offset loses digits
    factors: Sequence[Column]
    logs: np.ndarray
    basis: np.ndarray  # orthonormal basis of the weighted logs
    left: np.ndarray  # what that basis leaves of the weighted logarithm of the values

    def at(self, rows: np.ndarray, policy: PurePolicy) -> _Goal:
        """Return the goal restricted to these rows, for comparisons."""
        values, weight, logs = self.values[rows], self.weight[rows], self.logs[rows]
        basis, left = _beside_products(values, weight, logs, policy)
        return replace(self, values=values, weight=weight, logs=logs, basis=basis, left=left)


def _goal(y: np.ndarray, offset: Column, factors: Sequence[Column], policy: PurePolicy) -> _Goal | None:
    values = y - offset[0]
    if not y.all() or not values.all() or not np.isfinite(values).all():
        return None
    if offset[1] != 0 and np.median(np.abs(offset[0] / y)) < policy.rounding:  # the offset is lost in rounding
        return None
    weight = np.minimum(1.0, np.abs(values / y))
    logs = np.column_stack([np.ones(len(y)), *(np.log(np.abs(column)) for column, _ in factors)])
    kept: Any = np.isfinite(logs).all(axis=0)
    logs, factors = logs[:, kept], [one for one, there in zip(factors, kept[1:], strict=True) if there]
    return _Goal(y, offset, values, weight, factors, logs, *_beside_products(values, weight, logs, policy))


def _beside_products(
    values: np.ndarray, weight: np.ndarray, logs: np.ndarray, policy: PurePolicy
) -> tuple[np.ndarray, np.ndarray]:
    basis, sizes, _ = np.linalg.svd(weight[:, None] * logs, full_matrices=False)
    basis = basis[:, sizes > policy.idle * sizes[0]]
    left = weight * np.log(np.abs(values))
    return basis, left - basis @ (basis.T @ left)


def _near(goal: _Goal, logs: np.ndarray, policy: PurePolicy) -> list[int]:
    """Return the indices of the candidates close to the goal, the closest first, given the logs of their functions."""
    flat = goal.weight[:, None] * logs
    usable = np.isfinite(flat).all(axis=0)
    flat[:, ~usable] = 0.0
    flat -= goal.basis @ (goal.basis.T @ flat)
    size = np.einsum("ij,ij->j", flat, flat)
    power = (flat.T @ goal.left) / np.maximum(size, 1e-300)
    left: Any = np.linalg.norm(goal.left[:, None] - power * flat, axis=0)
    is_power = (np.abs(power) >= 0.5 - policy.whole) & (np.abs(power) <= policy.highest)
    near = usable & is_power & (left <= policy.near * np.linalg.norm(goal.left))
    order = np.flatnonzero(near)
    return order[np.argsort(left[order], kind="stable")].tolist()[: policy.tried]


def _law(
    goal: _Goal, inside: _Inside, computed: np.ndarray, simple: Simple, policy: PurePolicy, sums: bool
) -> _Law | None:
    """Return the law with this function, its exponents and factor made simple; None if they are not simple.

    A plain 1 + z is rejected unless `sums` is set: sums of two terms are found elsewhere.
    """
    fitted = _exponents(goal, [np.log(np.abs(computed))], policy)
    if fitted is None or not fitted[-1] or (inside.function is _LINEAR and fitted[-1] == 1.0 and not sums):
        return None
    start = computed ** fitted[-1], inside.function.written(inside.written) ** _exact(fitted[-1])
    return _product(goal, fitted[:-1], start, simple, policy)


def _exponents(goal: _Goal, others: Sequence[np.ndarray], policy: PurePolicy) -> np.ndarray | None:
    """Return the exponents of the factors, and of others given by their logarithms; None if they are not simple."""
    matrix = goal.weight[:, None] * np.column_stack([goal.logs, *others])
    scale = np.linalg.norm(matrix, axis=0)
    if not (scale > 0.0).all():
        return None
    logs = goal.weight * np.log(np.abs(goal.values))
    solution = np.linalg.lstsq(matrix / scale, logs, rcond=policy.idle)[0] / scale
    exponents = np.round(policy.parts * solution[1:]) / policy.parts
    return exponents if np.abs(exponents - solution[1:]).max(initial=0.0) <= policy.whole else None


def _product(
    goal: _Goal, exponents: np.ndarray, start: tuple[np.ndarray, Any], simple: Simple, policy: PurePolicy
) -> _Law | None:
    """Return `start` times these powers of the factors and a number; None if that number is not simple."""
    values, written = start
    for (column, symbol), power in zip(goal.factors, exponents, strict=True):
        if power:
            values, written = values * column**power, written * symbol ** _exact(power)
    weight = goal.weight**2
    factor = float(np.sum(values * goal.values * weight) / np.sum(values**2 * weight))
    if not np.isfinite(factor):
        return None
    rough = _left(goal.offset[0] + factor * values, goal.y)
    number = simple(factor, max(policy.accuracy, rough)) if rough <= policy.close else None
    if number is None:
        return None
    whole = goal.offset[0] + float(number) * values
    return _Law(whole, _left(whole, goal.y), goal.offset[1] + number * written)


def _left(values: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((values / y - 1.0) ** 2)))


def _corrected(y: np.ndarray, law: _Law, factors: Sequence[Column], simple: Simple, policy: PurePolicy) -> _Law | None:
    """Return the law plus a small term if that leaves no residual, else None. The number of a small term is known less
    accurately."""
    goal = _goal(y - law.values, _NOTHING, factors, policy)
    fitted = None if goal is None else _exponents(goal, [], policy)
    if goal is None or fitted is None:
        return None
    loose = replace(policy, accuracy=policy.accuracy / law.left) if law.left > 0.0 else policy
    term = _product(goal, fitted, (np.ones(len(y)), 1), simple, loose)
    if term is None:
        return None
    both = law.values + term.values
    left = _left(both, y)
    return _Law(both, left, law.written + term.written) if left <= policy.vanishes else None


def _exact(number: float) -> Any:
    return int(number) if float(number).is_integer() else Fraction(number)
