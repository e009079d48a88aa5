"""Rounds fitted constants to the numbers they stand for, as far as the data allow.

Exact data pin a constant to many digits, so 1.5600000003 can only be 1.56.  Noisy data leave an
error bar; then a round number is taken only if it lies well inside the bar and round numbers are so
sparse at that length that hitting one by chance is unlikely.  The information criterion agrees: to it,
one constant less is worth more than the rise of chi-squared by at most 1.5 squared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from sympy import Float, Integer, Rational, S, Symbol, nan, oo, pi, zoo

from ceql.expression.algebra.decimals import rounded, significant_digits
from ceql.expression.constants.parametrise import Parametrised, parametrise
from ceql.expression.constants.refit import REFIT_STEPS, covariance_of, held_at, minimise, minimise_free
from ceql.expression.constants.rounding_policy import ROUNDING, RoundingPolicy
from ceql.expression.evaluate.residual_problem import Array, Problem, make_problem
from ceql.expression.symbolic import Expr


@dataclass(frozen=True)
class Candidate:
    """A round number; ``spacing`` is the distance between such numbers near the value."""

    number: Expr
    value: float
    cost: float
    spacing: float


@dataclass(frozen=True)
class Evidence:
    """What the data allow: a deviation for each constant and a limit on the misfit."""

    deviations: Array
    misfit: float
    floor: float
    growth: float  # misfit allowed per snapped constant, in units of the residual variance
    exact: bool
    chance: float = ROUNDING.chance
    by_errors: bool = False  # whether the deviations are standard errors

    def limit(self, snapped: int) -> float:
        if self.exact:
            return max(4.0 * self.misfit, self.floor)
        # True values raise chi-squared by one per constant on average; this admits 95 % of them.
        return max(self.misfit + self.growth * (snapped + 2.0 * math.sqrt(2.0 * snapped)), self.floor)


def candidates(value: float, deviation: float, policy: RoundingPolicy = ROUNDING) -> Iterator[Candidate]:
    """Yield round numbers within the deviation, in no particular order."""
    for digits in range(1, policy.most_digits + 1):
        short = rounded(value, digits)
        if abs(short - value) <= deviation:
            yield _decimal(short)
            break
    if value and abs(value) < 1e3:
        yield from _fractions(value, deviation, policy)
        yield from _multiples_of_pi(value, deviation, policy)


def whole(value: float, deviation: float, policy: RoundingPolicy = ROUNDING) -> Iterator[Candidate]:
    """Yield the nearest whole number if it lies within the deviation and is not zero."""
    near = round(value) if abs(value) < 1e3 and 2.0 * deviation <= policy.whole_chance else 0
    if near and abs(near - value) <= deviation:
        yield _decimal(float(near))


def _decimal(value: float) -> Candidate:
    digits = significant_digits(value)
    exponent = math.floor(math.log10(abs(value))) if value else 0
    spacing = 10.0 ** (exponent - digits + 1)
    if value == int(value) and abs(value) < 1e6:
        return Candidate(Integer(int(value)), value, digits - 0.5, max(spacing, 1.0) if digits > 1 else 1.0)
    return Candidate(Float(value), value, digits, spacing)


def _fractions(value: float, deviation: float, policy: RoundingPolicy) -> Iterator[Candidate]:
    for denominator in range(2, policy.largest_denominator + 1):
        top = round(value * denominator)
        if top and math.gcd(top, denominator) == 1 and abs(top / denominator - value) <= deviation:
            cost = len(str(abs(top))) + len(str(denominator)) + 2.0
            yield Candidate(Rational(top, denominator), top / denominator, cost, policy.share / denominator**2)


def _multiples_of_pi(value: float, deviation: float, policy: RoundingPolicy) -> Iterator[Candidate]:
    for denominator in range(1, policy.largest_denominator + 1):
        top = round(value * denominator / math.pi)
        exact_value = top * math.pi / denominator
        simple = 0 < abs(top) <= policy.largest_denominator and math.gcd(top, denominator) == 1
        if simple and abs(exact_value - value) <= deviation:
            cost = 1.5 + len(str(abs(top))) + len(str(denominator))
            spacing = policy.share * math.pi / (denominator * policy.largest_denominator)
            yield Candidate(pi * Rational(top, denominator), exact_value, cost, spacing)


def multiples_of_known(
    value: float, deviation: float, known: Sequence[float], policy: RoundingPolicy = ROUNDING
) -> Iterator[Candidate]:
    """Yield simple multiples and powers of known constants, as fractions, so that no later step changes them."""
    for constant in known:
        exact = Rational(repr(constant))
        for power in policy.known_powers:
            for above, below in policy.known_multiples:
                number = exact**power * Rational(above, below)
                number = number if value > 0 else -number
                if abs(float(number) - value) <= deviation:
                    yield Candidate(
                        number, float(number), -5.0 + above + below + abs(power), policy.known_spacing * abs(value)
                    )


def best_candidate(
    value: float,
    deviation: float,
    zero: bool,
    chance: float | None = None,
    known: Sequence[float] = (),
    policy: RoundingPolicy = ROUNDING,
) -> Candidate | None:
    """Return the cheapest round number that is unlikely to be a coincidence; known constants take precedence."""
    if zero:
        return Candidate(S.Zero, 0.0, 0.0, math.inf)
    if not math.isfinite(deviation):
        return None
    round_ones = chain(candidates(value, deviation, policy), whole(value, policy.whole * deviation, policy))
    offered = chain(multiples_of_known(value, deviation, known, policy), round_ones)
    chance = policy.chance if chance is None else chance
    notable = [candidate for candidate in offered if 2.0 * deviation <= chance * candidate.spacing]
    return min(notable, key=lambda candidate: candidate.cost, default=None)


def gather_evidence(
    problem: Problem, values: Array, misfit: float, tolerance: float | None, policy: RoundingPolicy = ROUNDING
) -> Evidence:
    power = problem.power
    exact = misfit <= policy.exact_data * power
    floor = power * max(policy.rounding_floor if exact else 0.0, (tolerance or 0.0) ** 2)
    freedom = max(problem.rows - len(values), 1)
    if exact:
        deviations = policy.exact_deviation * np.abs(values)
    else:
        errors = np.sqrt(np.diag(covariance_of(problem, values, misfit)))
        deviations = policy.error_bars * errors
    if tolerance:
        reach = tolerance * math.sqrt(power) / np.maximum(influence(problem, values), 1e-300)
        deviations = np.maximum(deviations, np.minimum(reach, np.abs(values)))
    # With a tolerance, the user wants short numbers, whether or not they are significant.
    chance = math.inf if tolerance else policy.chance
    by_errors = not exact and not tolerance
    return Evidence(deviations, misfit, floor, misfit / freedom, exact and not tolerance, chance, by_errors)


def influence(problem: Problem, values: Array) -> Array:
    """Return how far the fitted values move per unit of each constant."""
    _, jacobian = problem.linearise(values)
    if problem.is_long and not np.all(np.isfinite(jacobian)):
        return np.full(len(values), np.inf)  # no constant is known to have no influence
    return np.linalg.norm(np.nan_to_num(jacobian), axis=0)


@dataclass
class _Snapper:
    """Fixes constants one after another and refits those that are still free."""

    form: Parametrised
    problem: Problem
    values: Array
    evidence: Evidence
    known: Sequence[float]
    policy: RoundingPolicy

    def __post_init__(self) -> None:
        self.deviations = self.evidence.deviations
        self.numbers: dict[int, Expr] = {}

    def proposals(self) -> dict[int, Candidate]:
        power = float(np.linalg.norm(self.problem.y * self.problem.root_weights))
        reach = influence(self.problem, self.values)
        self._sharpen()
        found: dict[int, Candidate] = {}
        for index, value in enumerate(self.values):
            if index in self.numbers:
                continue
            deviation = float(self.deviations[index])
            zero = abs(value) * reach[index] <= self.policy.exact_deviation * power
            if not self.evidence.exact:
                zero = zero or abs(value) <= 0.5 * deviation
            candidate = best_candidate(float(value), deviation, zero, self.evidence.chance, self.known, self.policy)
            if candidate is not None:
                found[index] = candidate
        return found

    def _sharpen(self) -> None:
        """Update the deviations: once some constants are fixed, the others are known more accurately."""
        free = [index for index in range(len(self.values)) if index not in self.numbers]
        if not self.evidence.by_errors or not self.numbers or not free:
            return
        part = held_at(self.problem, self.values, free)
        covariance = covariance_of(part, self.values[free], self.evidence.misfit)
        self.deviations = self.evidence.deviations.copy()
        self.deviations[free] = self.policy.error_bars * np.sqrt(np.diag(covariance))

    def try_fixing(self, fixed: dict[int, Candidate]) -> bool:
        """Fix these numbers if the rest can be refitted within the limit; return whether it worked."""
        values = self.values.copy()
        for index, candidate in fixed.items():
            values[index] = candidate.value
        held = set(self.numbers) | set(fixed)
        refitted, misfit = minimise_free(self.problem, values, held)
        if not misfit <= self.evidence.limit(len(held)):
            return False
        self.values = refitted
        self.numbers.update({index: candidate.number for index, candidate in fixed.items()})
        return True

    def holds_on(self, problem: Problem) -> bool:
        """Fit the free constants to all rows of a long table; return whether the misfit is within the limit."""
        self.values, misfit = minimise_free(problem, self.values, set(self.numbers))
        return misfit <= self.evidence.limit(len(self.numbers))

    def run(self) -> None:
        together = self.proposals()
        if together and self.try_fixing(together) and not self.evidence.by_errors:
            return
        refused: set[int] = set()
        while True:
            open_now = {i: c for i, c in self.proposals().items() if i not in refused}
            if not open_now:
                return
            index = min(open_now, key=lambda i: self._support(i, open_now[i]))
            if not self.try_fixing({index: open_now[index]}):
                refused.add(index)

    def _support(self, index: int, candidate: Candidate) -> tuple[float, float]:
        deviation = float(self.deviations[index]) or 1.0
        return candidate.cost, abs(candidate.value - float(self.values[index])) / deviation

    def result(self) -> Expr:
        numbers = [self.numbers.get(index, Float(float(v))) for index, v in enumerate(self.values)]
        return self.form.substitute(numbers)


@np.errstate(all="ignore")
def snap(
    expr: Expr,
    symbols: Sequence[Symbol],
    x: Array,
    y: Array,
    weights: Array | None = None,
    tolerance: float | None = None,
    known: Sequence[float] = (),
    policy: RoundingPolicy = ROUNDING,
) -> Expr:
    """Replace constants by short decimals, integers, fractions or multiples of pi where the data allow.

    ``tolerance`` accepts any fit whose root-mean-square residual stays below that fraction of the
    root mean square of ``y``; without it the limit follows from the data themselves. ``known`` are
    constants of which simple multiples and powers are preferred to all others.
    """
    form = parametrise(expr)
    if not form.symbols:
        return expr
    problem = make_problem(form, symbols, x, y, weights)
    if len(problem.y) == 0:
        return expr
    values, misfit = minimise(problem, form.values, REFIT_STEPS if problem.is_long else policy.first_steps)
    if not math.isfinite(misfit):
        return expr
    evidence = gather_evidence(problem, values, misfit, tolerance, policy)
    snapper = _Snapper(form, problem.near(values), values, evidence, known, policy)
    snapper.run()
    if problem.is_long and not snapper.holds_on(problem):
        if not evidence.exact:
            return form.substitute(values)  # constants too uncertain for the linear approximation stay unchanged
        snapper = _Snapper(form, problem, values, evidence, known, policy)
        snapper.run()
    snapped = snapper.result()
    return expr if snapped.has(zoo, nan, oo) else snapped
