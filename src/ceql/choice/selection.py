"""Which row of the front is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.choice.criterion import constants_of, criterion, interpolates
from ceql.choice.exactness import EXACT
from ceql.choice.front import gains
from ceql.choice.validation import VALIDATION, Folds, HeldOut, held_out, is_beaten, within_one_error
from ceql.data.dataset import Dataset
from ceql.errors import unknown_name
from ceql.expression.prices import PRICES, Prices
from ceql.formula import Formula


@dataclass(frozen=True)
class TiePolicy:
    """When held-out rows decide between formulas that the criterion hardly distinguishes."""

    # Largest difference in the criterion; the second formula then still has a tenth of the weight of the first.
    apart: float = 4.6
    # To replace the first formula, another must predict held-out rows better by this many standard errors and by this
    # share of the first one's error: less may be the same formula, rounded differently.
    errors: float = 0.5
    share: float = 0.01
    most: int = 6  # formulas compared with the first
    # With a single column, the others are other shapes, of which a few rows know less than the prices do.
    columns: int = 2  # fewest columns
    # With more rows, only some would be held out, while the criterion uses all: it decides alone.
    rows: int = VALIDATION.rows


TIES = TiePolicy()
RULES = ("best", "accuracy", "score", "cv")


def check_rule(rule: str) -> None:
    if rule not in RULES:
        raise unknown_name("model_selection rule", rule, RULES)


def choose(
    front: Sequence[Formula],
    rule: str,
    n_samples: int,
    y_size: float,
    held_out: HeldOut | None = None,
    prices: Prices = PRICES,
) -> int:
    """The place of the formula to report.

    "best" weighs fit against size, given the noise; "accuracy" takes the lowest loss; "score" takes the steepest gain
    among rows within 1.5 times the lowest loss.

    "cv" takes the simplest formula that held-out rows cannot distinguish from the best (see `within_one_error`); of
    several equally simple ones, it takes the one with the lowest criterion. The lowest error itself would mostly select
    a longer formula: among many formulas about equally good, chance decides which is lowest, and most of them are long.
    """
    check_rule(rule)
    losses = np.array([formula.loss for formula in front])
    proven = np.array([not interpolates(formula, n_samples) for formula in front])
    exact = np.flatnonzero((losses <= EXACT.loss * y_size) & proven)
    if len(exact):
        return int(exact[0])
    if rule == "accuracy":
        return int(np.argmin(losses))
    if rule == "score":
        near = losses <= 1.5 * losses.min()
        return int(np.argmax(np.where(near, gains(front), -np.inf)))
    scores = [criterion(formula, n_samples, prices) for formula in front]
    if rule == "cv" and held_out is not None:
        equal = np.flatnonzero(within_one_error(held_out) & proven)
        if len(equal):
            return min(equal.tolist(), key=lambda k: (front[k].complexity, scores[k]))
    return int(np.argmin(scores))


def or_simpler(
    chosen: int,
    formulas: Sequence[Formula],
    data: Dataset,
    folds: Folds | None = None,
    prices: Prices = PRICES,
    most: int = 12,
) -> int:
    """The formula that the criterion chooses, or the first simpler one that predicts held-out rows better.

    Only the `most` best formulas by the criterion are considered. What a longer formula adds has to show in rows that
    it has not seen: a single row far from all others may pay for all of its constants in the criterion, which treats
    every row as typical.
    """
    best = formulas[chosen]
    ranked = sorted(range(len(formulas)), key=lambda k: criterion(formulas[k], len(data.y), prices))
    simpler = [
        k
        for k in ranked[:most]
        if constants_of(formulas[k]) < constants_of(best) and formulas[k].complexity < best.complexity
    ]
    own, *others = held_out([best, *(formulas[k] for k in simpler)], data, folds).r2
    return next((k for k, r2 in zip(simpler, others, strict=True) if r2 > own), chosen)


def or_tied(
    chosen: int,
    formulas: Sequence[Formula],
    held: Callable[[Sequence[Formula]], HeldOut],
    rows: int,
    prices: Prices = PRICES,
    policy: TiePolicy = TIES,
) -> int:
    """The formula that the criterion chooses, or a nearly equal one that predicts held-out rows clearly better.

    Compared are those within `policy.apart` of the first by the criterion, at most `policy.most` of them.
    """
    own = criterion(formulas[chosen], rows, prices)
    scores = {k: criterion(formula, rows, prices) for k, formula in enumerate(formulas) if k != chosen}
    near = [k for k in sorted(scores, key=lambda k: scores[k]) if scores[k] <= own + policy.apart]
    near = [chosen, *(k for k in near[: policy.most] if not interpolates(formulas[k], rows))]
    if len(near) == 1 or rows > policy.rows:
        return chosen
    judged = held([formulas[k] for k in near])
    left = judged.errors @ judged.sizes
    best = int(np.argmin(left))
    first, rival = (replace(judged, errors=judged.errors[k : k + 1]) for k in (0, best))
    clearly = left[best] < (1.0 - policy.share) * left[0] and is_beaten(first, rival, policy.errors)
    return near[best] if clearly else chosen
