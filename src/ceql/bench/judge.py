"""Judges a found formula: its errors, the strict verdict for data in any unit, and SRBench's verdict.

If a problem is `relative`, formulas are compared in units of the data. Two more conditions hold then, since a missing
term that the data cannot show (a recoil of 1e-10 beside one) would go unnoticed otherwise: both formulas depend on the
same columns, and they agree also far outside the data, wherever the truth is well conditioned.

A *symbolic solution*, as SRBench defines it, is the truth up to a factor or an added constant, with constants rounded
to three digits. SRBench asks SymPy to simplify the rounded difference and ratio; here

- found minus true value, or their ratio, must be constant to 1e-3 at 95 % of the test points, and
- the formula with a free factor and constant must be the truth exactly, or become it when its numbers are set free and
  refitted to the test targets, which have no noise, with no more independent numbers than the truth has. If it helps,
  numbers within 1e-3 of a whole number are replaced by it, and terms below 1e-4 of the target's typical size dropped.

If the data determine the `constants` of a law, their values do not matter: the formula must become the truth when its
numbers are set free, and may have no more independent numbers than the law has constants.

A constant is not a solution, nor is a formula with an R² of at most 0.5 at the test points or with over 300 nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from ceql.bench.definitions import Problem, Samples
from ceql.bench.law_judge import LawJudge
from ceql.bench.noise import agrees, independent_constants, with_free_integers
from ceql.bench.points import columns
from ceql.catalogue.recognition import named
from ceql.expression import compile_numpy, is_exact, node_count, parse_formula, refit
from ceql.expression.rounding import of_its_terms
from ceql.formula import Formula

EQUIVALENT_MSE = 1e-20
_WITNESS_POINTS = 512
_TEST_POINTS = 2048
_MOST_NODES = 300  # five times the largest truth; refitting all numbers of a larger formula takes minutes
_DIGITS = 1e-3
_SMALL = 1e-4
_SHARE = 0.95
_LEAST_R2 = 0.5
_FAR = (1e4, 1e8)
_NUDGE = 1e-6
_FAR_TOLERANCE = 1e-5
_ROUNDING = 16.0 * 2.0**-52


@dataclass(frozen=True)
class Units:
    """The typical size of every column and of the target, as powers of two, so that dividing by them is exact.

    A judge that compares coefficients needs them to be near one. Constants of nature in the formula, or charges of
    1e-19 in the data, make them very large or very small.
    """

    columns: tuple[float, ...]
    target: float

    def points(self, X: np.ndarray) -> np.ndarray:
        return X / np.array(self.columns)

    def formula(self, expression: Any, symbols: Sequence[Any]) -> Any:
        """The same function in units of the data: from scaled columns to the scaled target."""
        changed = {s: sympy.Float(u) * s for s, u in zip(symbols, self.columns, strict=True) if u != 1.0}
        inside = expression.xreplace(changed)
        return inside if self.target == 1.0 else inside / sympy.Float(self.target)


def units_of(X: np.ndarray, y: np.ndarray) -> Units:
    """The units of data: the powers of two nearest to the median sizes."""
    return Units(tuple(_unit(column) for column in X.T), _unit(y))


def _unit(values: np.ndarray) -> float:
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return float(2.0 ** np.round(np.log2(np.median(sizes)))) if len(sizes) else 1.0


class Judge:
    """The truth of a problem, ready to be compared with formulas found in its samples."""

    def __init__(self, problem: Problem, samples: Samples) -> None:
        self.symbols = columns(samples.names)
        self.relative = problem.relative
        self.constants = problem.constants
        plain = Units((1.0,) * len(self.symbols), 1.0)
        self.units = units_of(samples.X_interp, samples.y_interp) if problem.relative else plain
        self.truth = self._in_units(parse_formula(problem.expression, samples.names))
        step = max(1, len(samples.y_interp) // _TEST_POINTS)
        self.x_test = self.units.points(samples.X_interp[::step])
        self.y_test = samples.y_interp[::step] / self.units.target

    def exact(self, expression: Any) -> bool:
        """Whether the formula is exactly the truth (the strict verdict)."""
        return self._exact(self._in_units(expression))

    def solution(self, expression: Any, r2: float, exact: bool) -> bool:
        """SRBench's verdict, given the formula's R² and the strict verdict."""
        if not r2 > _LEAST_R2 or not expression.free_symbols:
            return False
        return exact or (node_count(expression) <= _MOST_NODES and self._is_solution(expression))

    def _is_solution(self, expression: Any) -> bool:
        plain = [self._in_units(e) for e in dict.fromkeys((expression, _rounded(expression)))]
        if self.constants is not None:
            families = [*plain, *map(with_free_integers, plain)]
            return any(self._contains_the_truth(family, self.constants) for family in families)
        forms = dict.fromkeys(form for e in plain for form in self._shifted_and_scaled(e))
        if any(map(self._exact, forms)):
            return True
        most = self._numbers(_freed(self.truth))
        candidates = dict.fromkeys((*forms, *map(_trimmed, forms)))
        return any(self._contains_the_truth(_freed(form), most) for form in candidates)

    def _in_units(self, expression: Any) -> Any:
        return self.units.formula(expression, self.symbols)

    def _exact(self, found: Any) -> bool:
        if not is_exact(found, self.truth, self.symbols, self.x_test[:_WITNESS_POINTS]):
            return False
        return not self.relative or (found.free_symbols == self.truth.free_symbols and self._agrees_far_away(found))

    @np.errstate(all="ignore")
    def _agrees_far_away(self, found: Any) -> bool:
        formulas = found, of_its_terms(found), self.truth, _nudged(self.truth)
        function, sizes, truth, nudged = (compile_numpy(e, self.symbols) for e in formulas)
        signs = np.random.default_rng(7).choice([-1.0, 1.0], self.x_test.shape)
        for stretch in _stretches(len(self.symbols)):
            x = self.x_test * stretch
            wanted, got = truth(x), function(x)
            # Where the last digits of columns or constants matter, values cannot distinguish formulas.
            shaken = np.abs(nudged(x) - wanted) + np.abs(truth(x * (1.0 + _NUDGE * signs)) - wanted)
            finite = np.isfinite(wanted) & np.isfinite(got) & (wanted != 0) & (got != 0)
            fit = finite & (shaken < 1e-3 * np.abs(wanted))
            allowed = _FAR_TOLERANCE * np.abs(wanted) + 10.0 * shaken + _ROUNDING * sizes(x)
            close = np.abs(got - wanted) <= allowed
            if np.mean(fit) > 1.0 - _SHARE and np.mean(close[fit]) < _SHARE:
                return False
        return True

    @np.errstate(all="ignore")
    def _shifted_and_scaled(self, found: Any) -> Iterator[Any]:
        """Yields the formula itself, minus a constant, and divided by a factor, if the values are right."""
        values = compile_numpy(found, self.symbols)(self.x_test)
        if not np.isfinite(values).all():
            return
        nonzero = self.y_test != 0
        offset = float(np.median(values - self.y_test))
        factor = float(np.median(values[nonzero] / self.y_test[nonzero])) if nonzero.any() else 0.0
        room = _DIGITS * (np.abs(self.y_test) + float(np.median(np.abs(self.y_test))))

        def close(candidate: np.ndarray) -> bool:
            return float(np.mean(np.abs(candidate - self.y_test) <= room)) >= _SHARE

        if close(values):
            yield found
        if close(values - offset):
            yield found - sympy.Float(offset)
        if factor and close(values / factor):
            yield found / sympy.Float(factor)

    def _contains_the_truth(self, family: Any, most: int) -> bool:
        if family.free_symbols != self.truth.free_symbols or family.has(sympy.zoo, sympy.nan):
            return False
        if self._numbers(family) > most:
            return False
        fitted = refit(family, self.symbols, self.x_test[::2], self.y_test[::2], max_iterations=200).expr
        contained = agrees(fitted, self.symbols, self.x_test, self.y_test)
        return contained and (not self.relative or self._agrees_far_away(_without_offset(fitted)))

    def _numbers(self, family: Any) -> int:
        return independent_constants(family, self.symbols, self.x_test)


def _nudged(expression: Any) -> Any:
    """The formula with its numbers changed slightly, alternately up and down."""
    numbers = sorted((freed := with_free_integers(expression)).atoms(sympy.Float))
    return freed.xreplace({c: c * (1.0 + _NUDGE * (-1) ** k) for k, c in enumerate(numbers)})


def _stretches(width: int) -> Iterator[np.ndarray]:
    """Yields factors for the columns: all at once, and each alone, since some formulas depend only on ratios."""
    for factor in _FAR:
        yield np.full(width, factor)
        yield from np.where(np.eye(width, dtype=bool), factor, 1.0)


def _freed(expression: Any) -> Any:
    """The formula with all its numbers set free, and a free factor and constant around it."""
    return sympy.Add(sympy.Mul(sympy.Float(1.0), with_free_integers(expression)), sympy.Float(_SMALL))


def _without_offset(expression: Any) -> Any:
    """The formula without the tiny constant that a fit may add, which could outweigh other terms far away."""
    constant, rest = expression.as_coeff_Add()
    return rest if abs(constant) < _NUDGE else expression


def _rounded(expression: Any) -> Any:
    """The formula with whole numbers in place of decimals that are close to them."""
    near = {f: sympy.Integer(round(f)) for f in expression.atoms(sympy.Float) if abs(f - round(f)) <= _DIGITS * abs(f)}
    return expression.xreplace(near)


def _trimmed(expression: Any) -> Any:
    """The formula with decimals that are nearly zero replaced by 0."""
    return expression.xreplace({f: sympy.Integer(0) for f in expression.atoms(sympy.Float) if abs(f) < _SMALL})


@dataclass(frozen=True)
class Score:
    """The scores of a formula; `records` describes the fields, and the text of this module defines the verdicts.

    If the problem is `relative`, `equivalent` means below 1e-20 of the mean square of the target. `front_solution` is
    set only for laws with free constants, since that is how their benchmark counts. `chosen` and `offered` are set only
    for measured tables, where they are the verdict.
    """

    train_mse: float
    interp_mse: float
    extrap_mse: float | None
    r2: float
    node_count: int
    exact: bool
    equivalent: bool
    symbolic_solution: bool
    front_solution: bool | None = None
    chosen: bool | None = None
    offered: bool | None = None
    name: str | None = None


def score(found: Any, problem: Problem, samples: Samples, front: Sequence[Any] = ()) -> Score:
    """Scores `found`, an expression or its text, on the samples of `problem`, and the `front` it comes from, if any."""
    expression = as_expression(found, samples.names)
    if problem.start:
        return _score_on_table(expression, problem, samples, [as_expression(one, samples.names) for one in front])
    symbols = columns(samples.names)
    function = compile_numpy(expression, symbols)
    interp = mse(function(samples.X_interp), samples.y_interp)
    extrap = mse(function(samples.X_extrap), samples.y_extrap) if len(samples.y_extrap) else None
    fit = r2(interp, samples.y_interp)
    judge = Judge(problem, samples)
    exact = judge.exact(expression)
    solution = judge.solution(expression, fit, exact)
    return Score(
        train_mse=mse(function(samples.X_train), samples.y_train),
        interp_mse=interp,
        extrap_mse=extrap,
        r2=fit,
        node_count=node_count(expression),
        exact=exact,
        equivalent=_tiny(interp, samples.y_interp, problem)
        and (extrap is None or _tiny(extrap, samples.y_extrap, problem)),
        symbolic_solution=solution,
        front_solution=None if problem.constants is None else solution or _is_on_front(front, judge, samples),
    )


def _score_on_table(expression: Any, problem: Problem, samples: Samples, front: Sequence[Any]) -> Score:
    """The score on a measured table, where the truth is a law whose constants the data determine."""
    symbols = columns(samples.names)
    error = mse(compile_numpy(expression, symbols)(samples.X_train), samples.y_train)
    verdict = LawJudge(problem).verdict(expression, front)
    box = samples.X_train.min(axis=0), samples.X_train.max(axis=0)
    known = named(Formula(expression, tuple(symbols), error), box)
    return Score(
        train_mse=error,
        interp_mse=error,
        extrap_mse=None,
        r2=r2(error, samples.y_train),
        node_count=node_count(expression),
        exact=False,
        equivalent=False,
        symbolic_solution=False,
        chosen=verdict.chosen,
        offered=verdict.offered,
        name=None if known is None else known.law.name,
    )


def _is_on_front(front: Sequence[Any], judge: Judge, samples: Samples) -> bool:
    def is_solution(expression: Any) -> bool:
        values = compile_numpy(expression, columns(samples.names))(samples.X_interp)
        return judge.solution(expression, r2(mse(values, samples.y_interp), samples.y_interp), exact=False)

    return any(is_solution(as_expression(found, samples.names)) for found in front)


def as_expression(found: Any, names: tuple[str, ...]) -> Any:
    """The formula as an expression; text is parsed."""
    return parse_formula(found, names) if isinstance(found, str) else found


def mse(predicted: np.ndarray, truth: np.ndarray) -> float:
    """The mean squared error; infinite if the formula is undefined at a point where the truth is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.mean((np.asarray(predicted, dtype=float) - truth) ** 2))
    return error if np.isfinite(error) else float("inf")


def r2(error: float, truth: np.ndarray) -> float:
    """The coefficient of determination that goes with a mean squared error."""
    spread = float(np.var(truth))
    return 1.0 - error / spread if spread > 0 else float("nan")


def _tiny(error: float, truth: np.ndarray, problem: Problem) -> bool:
    unit = float(np.mean(truth**2)) if problem.relative else 1.0
    return error < EQUIVALENT_MSE * unit
