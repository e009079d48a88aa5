"""Right-hand sides for one equation: sums of terms, and formulas found by the search on slopes, ranked by the integral
form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy

from ceql.data.dataset import Dataset
from ceql.discovery import Settings
from ceql.dynamics.elimination import taken_down
from ceql.dynamics.integral_form import IntegralTarget, Path, with_constants
from ceql.dynamics.policy import DynamicsPolicy
from ceql.dynamics.relatives import has_idle_parts, is_rational, relatives
from ceql.dynamics.shapes import Shape, shape_of
from ceql.dynamics.term_sums import term_sums
from ceql.dynamics.vocabulary import Vocabulary, vocabulary
from ceql.engine.deadline import NEVER, Deadline
from ceql.formula import Formula
from ceql.pipeline import discover


@dataclass(frozen=True, eq=False)
class Candidate:
    """A right-hand side with its constants fitted in the integral form, and the criterion there."""

    formula: Formula
    criterion: float
    leap: float = 1.0  # by which factor right-hand sides with fewer constants leave more
    doubted: tuple[float, ...] = ()  # the criterion at each level of doubt about the path (`CandidatePolicy.doubted`)

    @property
    def structure(self) -> Shape:
        return shape_of(self.formula.expression)


@dataclass(frozen=True, eq=False)
class Slopes:
    """The slopes of one state along the path, with their errors, for a search that needs values of y."""

    rows: np.ndarray
    values: np.ndarray
    errors: np.ndarray


def polynomials(
    target: IntegralTarget, symbols: Sequence[sympy.Symbol], floor: float, policy: DynamicsPolicy
) -> list[Candidate]:
    """Sums of powers alone, the best first: they are found quickly, and many laws have this form."""
    terms = replace(policy.terms, only_powers=True)
    sums = _sums(target, vocabulary(target.path.rows, symbols, terms), symbols, floor, policy, NEVER)
    return _diverse(_distinct(_judged(sums, target, floor, policy)), policy)


def candidates_for(
    target: IntegralTarget,
    other: Path,
    words: Vocabulary,
    formulas: Sequence[Formula],
    symbols: Sequence[sympy.Symbol],
    floor: float,
    policy: DynamicsPolicy,
    until: Deadline = NEVER,
    with_relatives: bool = True,
) -> list[Candidate]:
    """Sums of terms, the given formulas, and fractions near them, fitted in the integral form, the best first.

    Each structure occurs once. Raises `OutOfTime` if there is no time for all of them. `other` is another path that the
    samples allow. What the best formula makes of the difference of the two paths is an error that no formula can avoid,
    so it raises the floor; if it is large, sums are searched once more.
    """
    known = [replace(formula, loss=np.inf) for formula in formulas]
    fitted = _fitted([*_sums(target, words, symbols, floor, policy, until), *known], target, policy, until)
    if not fitted:
        return []
    best = min(_judged(fitted, target, floor, policy), key=lambda candidate: candidate.criterion)
    doubt = policy.candidates.doubt * _doubt(best.formula, target, other)
    floor = max(floor, doubt)
    if doubt > policy.candidates.matters * np.sqrt(best.formula.loss):
        there = {shape_of(formula.expression) for formula in fitted}
        sums = _sums(target, words, symbols, floor, policy, until)
        others = [one for one in sums if shape_of(one.expression) not in there]
        fitted += _fitted(others, target, policy, until)
    fitted = [formula for formula in fitted if not has_idle_parts(formula, target.path.rows, policy.relatives)]
    if with_relatives:
        fitted += _relatives(_distinct(_judged(fitted, target, floor, policy)), target, floor, policy, until)
    return _diverse(_distinct(_judged(fitted, target, floor, policy)), policy)


def _sums(
    target: IntegralTarget,
    words: Vocabulary,
    symbols: Sequence[sympy.Symbol],
    floor: float,
    policy: DynamicsPolicy,
    until: Deadline,
) -> list[Formula]:
    """Sums that are built up from terms, and polynomials reduced term by term."""
    built_up = term_sums(target, words, symbols, floor, policy.terms, until)
    return [*built_up, *taken_down(target, symbols, floor, policy.elimination)]


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best first, each structure once."""
    distinct: dict[Shape, Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.criterion):
        distinct.setdefault(candidate.structure, candidate)
    return list(distinct.values())


def _relatives(
    candidates: Sequence[Candidate], target: IntegralTarget, floor: float, policy: DynamicsPolicy, until: Deadline
) -> list[Formula]:
    """The most promising fractions that are one or more steps away from fractions among the candidates.

    The numbers of constants take turns, small ones first: of each, the best fraction not yet used has its relatives
    fitted roughly, and these join the fractions that wait for their turn.
    """
    steps, known = policy.relatives, {candidate.structure for candidate in candidates}
    roughly = replace(policy.integral, steps=steps.steps)
    waiting: dict[int, list[_Relative]] = {}
    asked: Counter[int] = Counter()
    found: list[_Relative] = []

    def enter(one: _Relative) -> None:
        if (size := len(one.constants)) <= steps.most_constants:
            waiting.setdefault(size, []).append(one)

    for candidate in candidates:
        if is_rational(candidate.formula):
            formula = candidate.formula
            enter(_Relative(candidate.criterion, formula, formula.form.values, formula.loss))
    for _ in range(steps.parents):
        sizes = [size for size, formulas in waiting.items() if formulas]
        if not sizes:
            break
        size = min(sizes, key=lambda size: (asked[size], size))
        asked[size] += 1
        parent = min(waiting[size], key=lambda one: one.score)
        waiting[size].remove(parent)
        for relative in relatives(parent.written, target.path.rows, steps):
            structure = shape_of(relative.expression)
            if structure not in known:
                known.add(structure)
                until.require_time()
                fitted = target.constants_of(relative, roughly)
                if fitted is not None:
                    score = target.criterion(replace(relative, loss=fitted[1]), floor)
                    found.append(_Relative(score, relative, *fitted))
                    enter(found[-1])
    best = sorted(found, key=lambda one: one.score)[: steps.ahead]
    fitted = _fitted([replace(one.written, loss=np.inf) for one in best], target, policy, until)
    return [formula for formula in fitted if not has_idle_parts(formula, target.path.rows, steps)]


@dataclass(frozen=True, eq=False)
class _Relative:
    """A fraction with its score and its fitted constants; these are written into the formula only when needed."""

    score: float
    formula: Formula
    constants: np.ndarray
    loss: float

    @property
    def written(self) -> Formula:
        return with_constants(self.formula, self.constants, self.loss)


def _diverse(candidates: Sequence[Candidate], policy: DynamicsPolicy) -> list[Candidate]:
    """The best candidates, and the best of each size: where the path is wrong, long sums fit its errors, unlike the
    law."""
    sizes = [len(candidate.formula.form.symbols) for candidate in candidates]
    doubting = [best_in_doubt(candidates, level) for level in range(len(policy.candidates.doubted))]
    close = candidates[0].criterion + policy.candidates.close
    kept = [
        candidate
        for place, candidate in enumerate(candidates)
        if place < policy.candidates.kept
        or (place < policy.candidates.most_close and candidate.criterion < close)
        or sizes[:place].count(sizes[place]) < policy.candidates.of_each_size
        or candidate in doubting
    ]
    return [one for one in kept if len(one.formula.form.symbols) <= policy.candidates.most_constants]


def best_in_doubt(candidates: Sequence[Candidate], level: int) -> Candidate:
    """The best candidate at this level of doubt about the path; the larger the doubt, the simpler the best."""
    return min(candidates, key=lambda candidate: candidate.doubted[level])


def best_of_size(candidates: Sequence[Candidate], size: int) -> Candidate:
    """The best candidate with this many constants, or the best of all if there is none."""
    return next((one for one in candidates if len(one.formula.form.symbols) == size), candidates[0])


def _fitted(
    formulas: Sequence[Formula], target: IntegralTarget, policy: DynamicsPolicy, until: Deadline
) -> list[Formula]:
    """Those that have a loss are fitted already."""
    found = []
    for formula in formulas:
        until.require_time()
        found.append(formula if np.isfinite(formula.loss) else target.fitted(formula, policy.integral))
    return [formula for formula in found if formula is not None]


def _judged(
    formulas: Sequence[Formula], target: IntegralTarget, floor: float, policy: DynamicsPolicy
) -> list[Candidate]:
    sizes = np.array([len(formula.form.symbols) for formula in formulas])
    left = np.sqrt([formula.loss + floor**2 for formula in formulas])
    smaller = [np.min(left[sizes < size], initial=float(np.std(target.values))) for size in sizes]
    found = []
    for formula, other, own in zip(formulas, smaller, left, strict=True):
        judged = target.criterion(formula, floor)
        # The floor changes what the loss says, not the price.
        doubted = (
            judged + target.rows * np.log((formula.loss + (times * floor) ** 2) / (formula.loss + floor**2))
            for times in policy.candidates.doubted
        )
        found.append(Candidate(formula, judged, float(other / own), tuple(map(float, doubted))))
    return found


def _doubt(formula: Formula, target: IntegralTarget, other: Path) -> float:
    """How far the integrals of a formula along two paths differ."""
    with np.errstate(all="ignore"):
        difference = target.path.integrals(formula(target.path.rows) - formula(other.rows))
    size = float(np.sqrt(np.mean(difference**2)))
    return size if np.isfinite(size) else 0.0


def searched(slopes: Slopes, names: Sequence[str], settings: Settings, policy: DynamicsPolicy) -> list[Formula]:
    """The formulas found by a search on the slopes: its front, and the best others."""
    most = policy.candidates.most_rows
    every = np.arange(len(slopes.values))
    if len(every) > most:
        every = np.linspace(0, len(every) - 1, most).round().astype(int)
    usual = float(np.median(slopes.errors)) or 1.0
    weight = 1.0 / np.maximum(slopes.errors[every] / usual, 0.1) ** 2
    x, y = slopes.rows[every], slopes.values[every]
    moving = np.ptp(x, axis=0) > 0.0
    if np.ptp(y) == 0.0 or not moving.any():
        return []
    found = discover(Dataset(x, y, weight / weight.mean(), tuple(names)), replace(settings, more=16))
    return [replace(formula, law=None) for formula in found.formulas]
