"""The evidence: how likely each of the competing formulas is, given the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ceql.choice.criterion import criterion
from ceql.choice.exactness import EXACT, size_of
from ceql.choice.residuals import grow_with_values
from ceql.data.dataset import Dataset
from ceql.expression.prices import PRICES, Prices
from ceql.formula import Formula


@dataclass(frozen=True)
class EvidencePolicy:
    """When a formula counts as an alternative."""

    telling: float = 0.1  # weight from which an alternative is named beside the best formula: one chance in ten
    competes: float = 0.01  # weight from which a formula counts in scores and intervals
    named: int = 3  # most alternatives that a sentence names
    # Two formulas are the same if their fitted values agree to within `same` times the spread of y, on these rows and
    # in a box that is wider than theirs by the share `widened` on either side.
    rows: int = 200
    widened: float = 0.5
    same: float = 1e-6


EVIDENCE = EvidencePolicy()


def scores(formulas: Sequence[Formula], data: Dataset, prices: Prices = PRICES) -> list[float]:
    """The criterion of each formula; exact formulas get the same score, since they differ only by rounding."""
    least = EXACT.loss * size_of(data)
    floored = (f if f.surprise is not None else replace(f, loss=max(f.loss, least)) for f in formulas)
    return [criterion(formula, len(data.y), prices) for formula in floored]


def weights(scores: Sequence[float]) -> tuple[float, ...]:
    """Relative likelihoods of formulas from their criteria, which are minus twice the log-likelihood plus a constant.

    If no criterion is finite, the rows say nothing, and all weights are equal.
    """
    values = np.array(scores, float)
    if not np.isfinite(values).any():
        return (1.0 / len(values),) * len(values)
    likelihood = np.exp(-0.5 * (values - values.min()))
    return tuple((likelihood / likelihood.sum()).tolist())


def shortlist(
    formulas: Sequence[Formula], scores: Sequence[float], most: int, least_weight: float = EVIDENCE.competes
) -> tuple[Formula, ...]:
    """The likeliest formulas, best first: at most that many, none below that weight among all that are given.

    Formulas with the same text count once. Leave out those that stand on the front to get what competes beside it.
    """
    if not formulas:
        return ()
    shares = weights(scores)
    likely: dict[str, Formula] = {}
    for k in sorted(range(len(formulas)), key=lambda k: scores[k]):
        if shares[k] >= least_weight:
            likely.setdefault(str(formulas[k]), formulas[k])
    return tuple(likely.values())[:most]


@np.errstate(all="ignore")
def told_apart(formulas: Sequence[Formula], data: Dataset, policy: EvidencePolicy = EVIDENCE) -> list[int]:
    """For each formula, the place of the first one with the same values, which is usually its own."""
    few = data.thinned(policy.rows)
    lower, upper = few.x.min(axis=0), few.x.max(axis=0)
    reach = policy.widened * (upper - lower)
    around = np.random.default_rng(0).uniform(lower - reach, upper + reach, few.x.shape)
    points = np.vstack([few.x, around])
    least = policy.same * max(float(np.std(few.y)), np.sqrt(EXACT.hit * size_of(few)))
    first: list[int] = []
    values: list[np.ndarray] = []
    for formula in formulas:
        value = formula.fitted_to(few)(points)
        alike = (k for k, other in enumerate(values) if np.allclose(value, other, 0.0, least, equal_nan=True))
        first.append(next(alike, len(values)))
        values.append(value)
    return first


def sentence(
    formulas: Sequence[Formula], weights: Sequence[float], data: Dataset, policy: EvidencePolicy = EVIDENCE
) -> str:
    """A sentence about formulas that the rows cannot distinguish; nothing if one of them stands out."""
    ranked = sorted(zip(weights, formulas, strict=False), key=lambda pair: -pair[0])
    ranked = [pair for pair in ranked if pair[0] >= policy.competes]
    if len(ranked) < 2 or ranked[1][0] < policy.telling:
        return ""
    first = told_apart([formula for _, formula in ranked], data, policy)
    together = [sum(w for (w, _), other in zip(ranked, first, strict=True) if other == k) for k in range(len(ranked))]
    close = [(w, formula) for w, (_, formula) in zip(together, ranked, strict=True) if w >= policy.telling]
    if len(close) < 2:
        return ""
    named = ", ".join(f"{weight:.2f} for {formula}" for weight, formula in close[: policy.named])
    more = f" and {len(close) - policy.named} more" if len(close) > policy.named else ""
    return f"Weights: {named}{more}; these rows cannot tell them apart."


@np.errstate(all="ignore")
def errors_seem_to_grow(
    formulas: Sequence[Formula], weights: Sequence[float], data: Dataset, policy: EvidencePolicy = EVIDENCE
) -> bool:
    """Whether errors of equally weighted rows seem proportional to y by any competing formula: the likeliest one may
    have been chosen for following the largest values."""
    if np.ptp(data.weight) > 0.0 or data.censored is not None or not (data.y > 0.0).all():
        return False
    competing = [f for f, weight in zip(formulas, weights, strict=False) if weight >= policy.competes]
    fitted = (formula(data.x) for formula in competing)
    return any(grow_with_values(data.y - values, values) for values in fitted)
