"""Finished formulas in the user's units: evaluated, printed and judged, with their constants and poles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import sympy

from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset
from ceql.engine.one_thread import one_thread
from ceql.expression import (
    BRIEF,
    THOROUGH,
    Effort,
    compile_numpy,
    forms,
    node_count,
    parametrise,
    readable,
    refit,
    round_to_errors,
    snap,
)
from ceql.expression.constants.held import held_numbers, smallest_holding
from ceql.expression.constants.named import FIRST_STEPS, NamedForm, fitted_values
from ceql.expression.constants.named_law import TEMPLATE, LawConstant, NamedLaw
from ceql.expression.constants.parametrise import Parametrised, with_named_constants
from ceql.expression.constants.refit import covariance_of, refit_reweighted, refit_within
from ceql.expression.constants.rewrites import with_factors_absorbed, with_simple_exponents, with_small_phases
from ceql.expression.evaluate.poles import Pole, find_poles
from ceql.expression.evaluate.residual_problem import Form, Program, make_problem
from ceql.expression.text.write import in_words, readable_text, with_decimals


@dataclass(frozen=True)
class PolishPolicy:
    """The numbers that control how a raw formula is finished."""

    fitted: float = 1e-9  # relative accuracy of the engine's constants before they are refitted
    checked_rows: int = 2000  # rows on which a rewritten form is compared with the original
    last_steps: int = 8  # steps of the final fit to all rows of a long table, after a fit to some of them
    most_rows: int = sys.maxsize  # most rows that are fitted to; the rest of a longer table is only used for judging
    rows_a_second: int = 5000  # that limit, per second of the time limit
    certain: float = 1e-8  # a constant with a smaller relative standard error counts as exact

    def within(self, time_limit: float) -> PolishPolicy:
        """Return the policy with the number of rows that can be fitted within this time limit."""
        return replace(
            self, most_rows=max(int(min(self.rows_a_second * time_limit, self.most_rows)), self.checked_rows)
        )


POLISH = PolishPolicy()


@dataclass(frozen=True, eq=False)
class Formula:
    """A SymPy formula with its loss on the training data and its constants, each a value and a standard error."""

    expression: sympy.Expr
    symbols: tuple[sympy.Symbol, ...]
    loss: float  # weighted mean squared error on the training data, or the mean of another loss
    constants: tuple[tuple[float, float], ...] = ()  # value and standard error of each, in the order of `form`

    costs: Mapping[str, int] = field(default_factory=dict)  # operators that count for more than one node
    law: NamedLaw | None = None  # the law it was fitted as, in which a constant that occurs twice is one constant
    surprise: float | None = None  # for a loss other than squares: how unlikely the data are, by its criterion
    is_shrunk: bool = False  # a straight line with smaller slopes than those of least squares

    @cached_property
    def complexity(self) -> int:
        """The number of nodes, where operators may cost more than one."""
        return node_count(self.expression, self.costs)

    @cached_property
    def form(self) -> Parametrised | NamedForm:
        """The formula over its constants; those of a template have names, and each is one number wherever it occurs."""
        if self.law is not None and self.law.is_template:
            return self.law.form([symbol.name for symbol in self.symbols])
        return parametrise(self.expression)

    @cached_property
    def program(self) -> Program:
        """The compiled formula, which computes values and their derivatives by the constants."""
        return self.form.program(self.symbols)

    def poles_among(self, x: np.ndarray) -> list[Pole]:
        """Return its poles within the range of these rows."""
        return find_poles(self.expression, self.symbols, x.min(axis=0), x.max(axis=0))

    def fitted_to(self, data: Dataset) -> Formula:
        """Return the formula with its constants refined on these rows, for comparisons; its loss is not updated."""
        return self.with_expression(refit(self.expression, self.symbols, data.x, data.y, data.weight).expr)

    def at(self, values: np.ndarray) -> Formula:
        """Return the formula with these values of its constants."""
        changed = self.with_expression(self.form.substitute(values))
        if self.law is None or not self.law.is_template:
            return changed
        return replace(changed, law=self.law.at(values, np.full(len(values), np.nan)))

    @cached_property
    def _compiled(self) -> Callable[[np.ndarray], np.ndarray]:
        form = self.form
        if isinstance(form, NamedForm):  # SymPy turns exp(2000.0 - x) into infinity times exp(-x)
            return partial(self.program.value, constants=form.values)
        return compile_numpy(self.expression, self.symbols)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the values at the rows of x; NaN where the formula is undefined."""
        return np.broadcast_to(self._compiled(x), (len(x),)).astype(float)

    @property
    def uncertain_constants(self) -> tuple[tuple[float, float], ...]:
        """The constants known only up to noise, with their standard errors; none if the fit is exact."""
        return tuple((value, error) for value, error in self.constants if error > POLISH.certain * abs(value))

    @property
    def shown(self) -> sympy.Expr:
        """The formula as people write it; for a complex target, with the imaginary unit."""
        return self.form.shown if isinstance(self.form, NamedForm) else self.expression

    @property
    def named(self) -> sympy.Expr:
        """The formula with names in place of its constants: the template's, or c1, c2, ..."""
        return self.form.named if isinstance(self.form, NamedForm) else with_named_constants(self.expression)[0]

    def latex(self) -> str:
        """Return the formula in LaTeX."""
        numbers = {s: rf"\text{{{worded}}}" for s in self.symbols if (worded := in_words(s.name)) != s.name}
        return sympy.latex(self.shown, symbol_names=numbers)

    def with_expression(self, expression: sympy.Expr) -> Formula:
        """Return the formula with another form or other numbers; it then no longer counts as a fitted law."""
        return replace(self, expression=expression, law=None, is_shrunk=False)

    def over(self, symbols: tuple[sympy.Symbol, ...]) -> Formula:
        """Return the formula for a table with other columns, which must include its own."""
        return self if symbols == self.symbols else replace(self, symbols=symbols)

    def __str__(self) -> str:
        return readable_text(with_decimals(self.shown))


def make_symbols(names: tuple[str, ...]) -> tuple[sympy.Symbol, ...]:
    """Return one real symbol per column. Names may be anything, since they are never looked up or parsed."""
    return tuple(sympy.Symbol(name, real=True) for name in names)


def mean_square(residual: np.ndarray, weight: np.ndarray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.mean(weight * residual**2))


def values_of(expression: sympy.Expr, symbols: tuple[sympy.Symbol, ...], x: np.ndarray) -> np.ndarray | None:
    """Return the values of an unfinished expression; None if it is not real or is undefined in some row."""
    if not _is_real(expression):
        return None
    values = Formula(expression, symbols, np.inf)(x)
    return values if np.isfinite(values).all() else None


@one_thread
def polish(
    raw: sympy.Expr,
    data: Dataset,
    symbols: tuple[sympy.Symbol, ...],
    constraints: Constraints = NONE,
    policy: PolishPolicy = POLISH,
) -> Formula | None:
    """Return the smallest equal form with refined and rounded constants; None if it is undefined in some row.

    If constraints rule that form out, return another form, one with its constants within bounds, or None.
    """
    rough = _shortened(raw, data, symbols, THOROUGH, policy)
    if rough is None:
        return None
    whole, data = data, data.thinned(policy.most_rows)
    known = tuple(map(float, constraints.known.values()))
    refined = _refined(rough, symbols, data, policy)
    snapped = snap(refined, symbols, data.x, data.y, data.weight, known=known)
    if len(parametrise(snapped).symbols) < len(parametrise(refined).symbols):
        # A constant that became 0, 1 or a fraction may allow a shorter form.
        held = held_numbers(raw) | (held_numbers(snapped) if known else frozenset())
        shorter = smallest_holding(snapped, symbols, data.thinned(policy.checked_rows).x, held, THOROUGH)
        snapped = min(snapped, shorter, key=node_count)
    rounded = round_to_errors(snapped, symbols, data.x, data.y, data.weight)
    allowed = _first_allowed(rounded, refined, raw, data, symbols, constraints, policy)
    return _judged(allowed, whole, symbols, constraints, fitted_to=data)


@one_thread
def sketch(
    raw: sympy.Expr,
    data: Dataset,
    symbols: tuple[sympy.Symbol, ...],
    constraints: Constraints = NONE,
    policy: PolishPolicy = POLISH,
) -> Formula | None:
    """Do the same as `polish` in a fraction of the time, without snapping constants, for formulas not chosen."""
    rough = _shortened(raw, data, symbols, BRIEF, policy)
    return None if rough is None else _fitted_to_some(rough, raw, data, symbols, constraints, policy)


@one_thread
def refitted(
    raw: sympy.Expr,
    data: Dataset,
    symbols: tuple[sympy.Symbol, ...],
    constraints: Constraints = NONE,
    policy: PolishPolicy = POLISH,
) -> Formula | None:
    """Do the same as `sketch`, but keep the form."""
    return _fitted_to_some(raw, raw, data, symbols, constraints, policy) if _is_usable(raw, symbols, data) else None


@one_thread
def settled(
    raw: sympy.Expr,
    data: Dataset,
    symbols: tuple[sympy.Symbol, ...],
    constraints: Constraints = NONE,
    policy: PolishPolicy = POLISH,
) -> Formula | None:
    """Do the same as `polish`, but keep the form."""
    if not _is_usable(raw, symbols, data):
        return None
    whole, data = data, data.thinned(policy.most_rows)
    refined = _refined(raw, symbols, data, policy)
    snapped = snap(refined, symbols, data.x, data.y, data.weight, known=tuple(map(float, constraints.known.values())))
    rounded = round_to_errors(snapped, symbols, data.x, data.y, data.weight)
    allowed = _first_allowed(rounded, refined, raw, data, symbols, constraints, policy)
    return _judged(allowed, whole, symbols, constraints, fitted_to=data)


@one_thread
def as_it_stands(
    raw: sympy.Expr, data: Dataset, symbols: tuple[sympy.Symbol, ...], constraints: Constraints = NONE
) -> Formula | None:
    """Return the formula with its form and constants unchanged; None if it is undefined in some row or not allowed."""
    return _judged(raw, data, symbols, constraints) if constraints.allows(raw) else None


def _fitted_to_some(
    rough: sympy.Expr,
    raw: sympy.Expr,
    data: Dataset,
    symbols: tuple[sympy.Symbol, ...],
    constraints: Constraints,
    policy: PolishPolicy,
) -> Formula | None:
    """Return the formula with its constants fitted to and rounded by some rows of a long table, but judged on all."""
    few = data.thinned(policy.checked_rows)
    refined = refit(rough, symbols, few.x, few.y, few.weight).expr
    rounded = round_to_errors(refined, symbols, few.x, few.y, few.weight)
    allowed = _first_allowed(rounded, refined, raw, few, symbols, constraints, policy)
    return _judged(allowed, data, symbols, constraints, fitted_to=few)


def _refined(rough: sympy.Expr, symbols: tuple[sympy.Symbol, ...], data: Dataset, policy: PolishPolicy) -> Any:
    """Return the expression with its constants fitted to all rows; for a long table, to some of the rows first."""
    few = data.thinned(policy.checked_rows)
    if few is not data:
        ahead = refit(rough, symbols, few.x, few.y, few.weight).expr
        start = min(ahead, rough, key=lambda form: _loss(form, symbols, data))
        return refit(start, symbols, data.x, data.y, data.weight, max_iterations=policy.last_steps).expr
    return refit(rough, symbols, data.x, data.y, data.weight).expr


def _loss(expression: sympy.Expr, symbols: tuple[sympy.Symbol, ...], data: Dataset) -> float:
    """Return the loss of an expression; infinite if it is undefined in some row."""
    value = Formula(expression, symbols, np.inf)(data.x)
    return mean_square(value - data.y, data.weight) if np.isfinite(value).all() else np.inf


def _first_allowed(
    rounded: Any, refined: Any, raw: Any, data: Dataset, symbols: Any, constraints: Constraints, policy: PolishPolicy
) -> Any:
    """Return the rounded form if it is allowed, else the first other form that is; None if none is."""
    if not constraints or constraints.allows(rounded):
        return rounded
    if not constraints.keeps_shape(refined):
        few = data.thinned(policy.checked_rows)
        return constraints.mended(refined, few.x, few.y, few.weight)
    others = _other_forms(refined, raw, data, symbols, constraints, policy)
    return next((form for form in others if form is not None and constraints.allows(form)), None)


def _other_forms(
    refined: Any,
    raw: Any,
    data: Dataset,
    symbols: tuple[sympy.Symbol, ...],
    constraints: Constraints,
    policy: PolishPolicy,
) -> Iterator[Any]:
    """Yield other forms of the formula, the best first, which may contain a required column or satisfy bounds."""
    table = data.x, data.y, data.weight
    few = data.thinned(policy.checked_rows).x
    written = [refined, *forms(refined, symbols, BRIEF, few), refit(raw, symbols, *table).expr]
    for form in written:
        yield round_to_errors(form, symbols, *table)
        yield form
    if constraints.constants_within is not None:
        for form in written:
            yield refit_within(form, symbols, *table, *constraints.constants_within)


@one_thread
def shortened(raw: sympy.Expr, data: Dataset, effort: Effort, policy: PolishPolicy = POLISH) -> Any:
    """Return the free part of a template in the shortest form found with that effort; unchanged if undefined."""
    short = _shortened(raw, data, make_symbols(data.names), effort, policy)
    return raw if short is None else short


def _shortened(
    raw: sympy.Expr, data: Dataset, symbols: tuple[sympy.Symbol, ...], effort: Effort, policy: PolishPolicy
) -> Any:
    """Return the shortest form found with that effort, with the engine's constants; None if it is not usable."""
    if not _is_usable(raw, symbols, data):
        return None
    raw = with_simple_exponents(raw, policy.fitted)
    few = data.thinned(policy.checked_rows).x
    short = smallest_holding(raw, symbols, few, held_numbers(raw), effort, policy.fitted)
    return with_factors_absorbed(with_small_phases(_without_idle_abs(short, symbols, data)))


def _is_usable(raw: sympy.Expr, symbols: tuple[sympy.Symbol, ...], data: Dataset) -> bool:
    """Return whether the formula is real, finite and defined in every row, before any effort is spent on it."""
    return values_of(raw, symbols, data.x) is not None


def _is_real(expression: sympy.Expr) -> bool:
    return not expression.has(sympy.I, sympy.zoo, sympy.nan, sympy.oo, -sympy.oo)


def _without_idle_abs(raw: sympy.Expr, symbols: tuple[sympy.Symbol, ...], data: Dataset) -> Any:
    """Replace |a| by a or -a if a has one sign on all the data; roots of squares leave such absolute values behind."""
    turned = {}
    for bars in raw.atoms(sympy.Abs):
        inner = bars.args[0]
        value = compile_numpy(inner, symbols)(data.x)
        if (value >= 0).all() or (value <= 0).all():
            turned[bars] = inner if (value >= 0).all() else -inner
    return raw.xreplace(turned) if turned else raw


def _judged(
    expression: sympy.Expr | None,
    data: Dataset,
    symbols: tuple[sympy.Symbol, ...],
    constraints: Constraints,
    fitted_to: Dataset | None = None,
) -> Formula | None:
    """Return the formula with its loss on all the data, and standard errors from the rows it was fitted to."""
    if expression is None or (value := values_of(expression, symbols, data.x)) is None:
        return None
    loss = mean_square(value - data.y, data.weight)
    constants = constants_of(parametrise(expression), symbols, fitted_to or data)
    return Formula(expression, symbols, loss, constants, constraints.costs)


def constant_formula(data: Dataset, constraints: Constraints = NONE) -> Formula:
    """Return the simplest formula, the mean of y or the bound next to it; every front begins with it."""
    symbols = make_symbols(data.names)
    value = float(np.average(data.y, weights=data.weight))
    if constraints.constants_within is not None:
        value = float(np.clip(value, *constraints.constants_within))
    if value.is_integer() and abs(value) < 1e15:
        return plain_constant(value, data)
    expression = round_to_errors(sympy.Float(value), symbols, data.x, data.y, data.weight)
    loss = mean_square(data.y - float(expression), data.weight)
    return Formula(expression, symbols, loss, constants_of(parametrise(expression), symbols, data))


def plain_constant(value: float, data: Dataset) -> Formula:
    """Return this number as a formula, as an integer if it is whole."""
    whole = value.is_integer() and abs(value) < 1e15
    number = sympy.Integer(int(value)) if whole else sympy.Float(value)
    return Formula(number, make_symbols(data.names), mean_square(data.y - value, data.weight))


def in_readable_form(
    formula: Formula, data: Dataset, constraints: Constraints = NONE, policy: PolishPolicy = POLISH
) -> Formula:
    """Return the form with the shortest constants; the formula unchanged if it is a template's or no allowed form has
    shorter ones."""
    if not isinstance(formula.form, Parametrised):
        return formula
    few = data.thinned(policy.checked_rows)
    other = readable(formula.expression, formula.symbols, few.x, few.y)
    if not constraints.allows(other):
        return formula
    return formula.with_expression(min(formula.expression, other, key=_digits))


def _digits(expression: sympy.Expr) -> int:
    """Return the number of characters in its numbers."""
    numbers = (part for part in sympy.preorder_traversal(expression) if part.is_Float or part.is_Rational)
    return sum(len(sympy.sstr(number, full_prec=False)) for number in numbers)


def reweighted(
    formula: Formula, data: Dataset, weigh: Callable[[np.ndarray], np.ndarray], rounds: int, steps: int = 10
) -> Formula:
    """Return the formula with its constants fitted by weights that depend on its values; unchanged if that fails."""
    fitted = formula.at(refit_reweighted(formula.form, formula.symbols, data.x, data.y, weigh, rounds, steps))
    return fitted if _is_real(fitted.expression) and np.isfinite(fitted(data.x)).all() else formula


def rounded_by(formula: Formula, data: Dataset) -> Formula:
    """Return the formula with its constants rounded to their errors, by the weights of these data.

    A template keeps all digits, since its constants are what the user wants to know.
    """
    if formula.law is not None and formula.law.is_template:
        return formula
    expression = round_to_errors(formula.expression, formula.symbols, data.x, data.y, data.weight)
    return formula.with_expression(expression)


def with_errors(formula: Formula, data: Dataset) -> Formula:
    """Return the formula with the standard errors of its constants, by the weights of these data."""
    constants = constants_of(formula.form, formula.symbols, data)
    law = formula.law
    if law is not None and law.is_template:
        law = law.at(*np.array(constants).reshape(-1, 2).T)
    return replace(formula, constants=constants, law=law)


def covariance(formula: Formula, data: Dataset) -> np.ndarray:
    """Return the covariance of the constants, in the order of the form, by the weights of these data."""
    return _covariance(formula.form, formula.symbols, data)


@np.errstate(all="ignore")
def _covariance(form: Form, symbols: tuple[sympy.Symbol, ...], data: Dataset) -> np.ndarray:
    problem = make_problem(form, symbols, data.x, data.y, data.weight)
    return covariance_of(problem, form.values, problem.misfit(form.values), data.noise)


def constants_of(form: Form, symbols: tuple[sympy.Symbol, ...], data: Dataset) -> tuple[tuple[float, float], ...]:
    """Return each constant with its standard error, in the order of the form."""
    if not form.symbols:
        return ()
    errors = np.sqrt(np.abs(np.diag(_covariance(form, symbols, data))))
    return tuple(zip(map(float, form.values), map(float, errors), strict=True))


@one_thread
def lowest_form(forms: Sequence[NamedForm], data: Dataset, symbols: tuple[sympy.Symbol, ...]) -> NamedForm | None:
    """Return the best-fitting of these forms, with its constants fitted; None if each is undefined in some row."""
    given = data.x, data.y, data.weight
    fits = [(form, fitted_values(form, symbols, *given, steps=FIRST_STEPS)) for form in forms]
    found = [replace(form, values=values) for form, values in fits if values is not None]
    return min(found, key=lambda form: make_problem(form, symbols, *given).misfit(form.values), default=None)


@one_thread
def held(
    form: NamedForm,
    data: Dataset,
    symbols: tuple[sympy.Symbol, ...],
    constraints: Constraints = NONE,
    policy: PolishPolicy = POLISH,
) -> Formula | None:
    """Return a template's formula with its constants fitted within their bounds, unrounded; None if it is undefined in
    some row or not allowed."""
    if constraints.constants_within is not None:
        low, high = constraints.constants_within
        form = replace(form, low=np.maximum(form.low, low), high=np.minimum(form.high, high))
        if np.any(form.low > form.high):
            return None
    few = data.thinned(policy.most_rows)
    values = fitted_values(form, symbols, few.x, few.y, few.weight)
    if values is not None and not constraints.keeps_shape(form.substitute(values)):
        some = few.thinned(policy.checked_rows)
        values = constraints.held(replace(form, values=values), some.x, some.y, some.weight)
    if values is None or not constraints.allows(expression := form.substitute(values)):
        return None
    given = zip(form.symbols, values, form.low, form.high, strict=True)
    named = tuple(LawConstant(s.name, "parameter", float(v), np.nan, float(a), float(b)) for s, v, a, b in given)
    law = NamedLaw(TEMPLATE, "the user", form.text, named)
    formula = Formula(expression, symbols, np.inf, (), constraints.costs, law)
    fitted = formula(data.x)
    if not (_is_real(expression) and np.isfinite(fitted).all()):
        return None
    return with_errors(replace(formula, loss=mean_square(fitted - data.y, data.weight)), few)
