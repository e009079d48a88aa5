"""Laws with simple numbers between dimensionless groups. The numbers are known rather than fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import sympy

from ceql.choice.exactness import is_exact
from ceql.closed_form import fraction, pure_law
from ceql.data.dataset import Scaling
from ceql.dimensions.explained import Simple, SimplePolicy, simple, simple_number
from ceql.expression import THOROUGH
from ceql.expression.prices import structure_price
from ceql.formula import Formula, as_it_stands, shortened, values_of
from ceql.operators import get
from ceql.search.target_search import TargetProblem
from ceql.transforms import usable_targets

_GOALS = ("y", "y^2", "y^2, signed")  # what may be a fraction
_ROUNDING = 1e-15  # of a whole number
_LARGE = 1e6  # No larger numbers are made whole.
_WORSE = 10.0  # times what a law leaves: a shorter form that leaves more is another law


def simplest_law(problems: Sequence[TargetProblem], stop: Callable[[], bool]) -> Formula | None:
    """The law of the first groups that have one, or a cheaper one for others with as many groups."""
    found: list[tuple[TargetProblem, Formula]] = []
    for problem in problems:
        if stop() or (found and problem.target.x.shape[1] > found[0][0].target.x.shape[1]):
            break
        law = simple_law(problem)
        found += [] if law is None else [(problem, law)]
    if not found:
        return None
    first = found[0][0]
    return _cheapest(first, _alike(first, [law for _, law in found]))


def _alike(problem: TargetProblem, formulas: Sequence[Formula]) -> list[Formula]:
    """Those of which no other one leaves clearly less."""
    policy = problem.policy.closed_forms.pure
    left = [max(_left(problem, formula), policy.rounding) for formula in formulas]
    return [f for f, own in zip(formulas, left, strict=True) if policy.better * own <= min(left)]


def _cheapest(problem: TargetProblem, formulas: Sequence[Formula]) -> Formula | None:
    """The one that is the cheapest to say."""
    price = partial(structure_price, prices=problem.policy.prices)
    return min(formulas, key=lambda formula: price(formula.expression), default=None)


def simple_law(problem: TargetProblem) -> Formula | None:
    """A law for y over groups, if it is exact: a function with powers of the groups, or a fraction of polynomials."""
    target, counted = problem.whole, problem.whole.weight > 0.0
    if target.angles is None:
        return None
    names = None if problem.functions is None else tuple(problem.functions)
    x, y = target.x[counted], target.y[counted]
    symbols = [sympy.Dummy(f"g{k}", real=True) for k in range(x.shape[1])]
    price = partial(structure_price, prices=problem.policy.prices)
    policy = problem.policy.closed_forms.pure
    given = x, y, symbols, target.angles, simple_number, price, names, policy
    laws = pure_law(*given) or _simple_fractions(problem, x, y, symbols)
    formulas = [formula for law in laws if (formula := _raw(problem, law, symbols)) is not None]
    if not formulas:
        return None
    alike = _alike(problem, formulas)[: policy.finished]  # by all rows: more rows tell more
    finished = [formula for law in alike if (formula := _exact(problem, law)) is not None]
    return _cheapest(problem, finished)


def _raw(problem: TargetProblem, law: Any, groups: Sequence[Any]) -> Formula | None:
    """The formula for y from a law between groups, unfinished; None if it is undefined in some row."""
    own = problem.target.symbols
    if any(symbol.atoms(sympy.Float) for symbol in own):
        # One decimal says what two would, and SymPy takes sines of multiples of pi apart, digits and all.
        law = law.xreplace({sympy.pi: sympy.Float(sympy.pi)})
    raw = problem.target.back(law.xreplace(dict(zip(groups, own, strict=True))))
    if values_of(raw, problem.symbols, problem.data.x) is None:
        return None
    return as_it_stands(raw, problem.data, problem.symbols, problem.constraints)


def _simple_fractions(problem: TargetProblem, x: np.ndarray, y: np.ndarray, symbols: Sequence[Any]) -> list[Any]:
    """The fraction of polynomials with simple coefficients that y or its square is; none where they are none."""
    operators = tuple(name for name in ("sqrt", "div") if problem.functions is None or name in problem.functions)
    goals = [goal for goal in usable_targets(y, operators, problem.policy.transforms) if goal.name in _GOALS]
    for columns, written in _with_waves(problem, x, symbols):
        for goal in goals:
            law = _simple_fraction(problem, columns, goal.forward(y), written)
            if law is not None:
                return [goal.back(law, y)]
    return []


def _with_waves(
    problem: TargetProblem, x: np.ndarray, symbols: Sequence[Any]
) -> Iterator[tuple[np.ndarray, list[Any]]]:
    """The groups; then with an angle, or the difference of two, replaced by its sine or cosine."""
    yield x, list(symbols)
    angles = problem.target.angles or ()
    names = [name for name in ("cos", "sin") if problem.functions is None or name in problem.functions]
    singles = [((k,), x[:, k], symbols[k]) for k in angles]
    pairs = [((i, j), x[:, i] - x[:, j], symbols[i] - symbols[j]) for i, j in combinations(angles, 2)]
    for gone, values, symbol in (*pairs, *singles):
        kept = [k for k in range(x.shape[1]) if k not in gone]
        for name in names:
            wave = get(name)
            columns = np.column_stack([wave.real(values), x[:, kept]])
            yield columns, [wave.symbolic(symbol), *(symbols[k] for k in kept)]


def _simple_fraction(problem: TargetProblem, x: np.ndarray, y: np.ndarray, symbols: Sequence[Any]) -> Any:
    """The fraction of polynomials that y is, with simple coefficients; None where it has others."""
    policy = problem.policy.closed_forms
    scaling = Scaling.of(x, y)
    scaled = [symbol / float(size) for symbol, size in zip(symbols, scaling.x, strict=True)]
    found = fraction(x / scaling.x, y / scaling.y, scaled, policy.fractions)
    if found is None:
        return None
    above, below = (part.as_coefficients_dict() for part in sympy.fraction(scaling.y * found.expression))
    rough = replace(SimplePolicy(), accuracy=policy.pure.rough)
    for unit in below.values():
        parts = [
            {term: simple(float(number / unit), rough) for term, number in part.items()} for part in (above, below)
        ]
        if all(number is not None for part in parts for number in part.values()):
            top, bottom = (_sum(part) for part in parts)
            return top / bottom
    return None


def _sum(part: Mapping[Any, Simple | None]) -> Any:
    """The polynomial with these numbers before its terms, in factors: spread out, it loses digits near a zero."""
    return sympy.factor(sum(number.number * term for term, number in part.items() if number is not None))


def _exact(problem: TargetProblem, law: Formula) -> Formula | None:
    """The formula in the shortest form that says the same; None where it is not exact."""
    raw, data = law.expression, problem.data
    forms = [shortened(raw, data, THOROUGH), sympy.factor_terms(raw), raw]
    given = data, problem.symbols, problem.constraints
    formulas = [as_it_stands(_with_whole_numbers(form), *given) for form in forms]
    left = [np.inf if formula is None else _left(problem, formula) for formula in formulas]
    formula = next((f for f, own in zip(formulas, left, strict=True) if own <= _WORSE * min(left)), None)
    if formula is None or formula.complexity > problem.most_nodes:
        return None
    return formula if is_exact(formula, data, problem.policy.exact) else None


def _with_whole_numbers(expression: Any) -> Any:
    """Decimals that are whole but for rounding, which the conversion of units leaves behind, made whole."""
    whole = {d: sympy.Integer(round(d)) for d in expression.atoms(sympy.Float) if abs(d) < _LARGE and round(d) != 0}
    return expression.xreplace({d: n for d, n in whole.items() if abs(float(d) - int(n)) <= _ROUNDING * abs(int(n))})


def _left(problem: TargetProblem, formula: Formula) -> float:
    """What it leaves in all rows, relative to y."""
    relative = np.abs(formula(problem.data.x) - problem.data.y) / np.maximum(np.abs(problem.data.y), 1e-300)
    return float(np.sqrt(np.mean(relative**2)))
