"""A formula under examination: its values on the rows and between them, and the noise that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from ceql.choice.vetoes.places import Array, Places
from ceql.choice.vetoes.policy import VetoPolicy
from ceql.data.dataset import Dataset
from ceql.engine.deadline import NEVER, Deadline
from ceql.expression import compile_numpy, node_count, parametrise, value_and_jacobian
from ceql.expression.constants.refit import RANK_TOLERANCE
from ceql.expression.evaluate.poles import not_negative, positive_only, singular_factors
from ceql.expression.symbolic import Expr
from ceql.formula import Formula

_NORMAL = 1.4826  # standard deviations of a normal distribution in its median size
_ROUNDING = 1e-12  # of the size of y: less is no noise


def columns_of(formula: Formula) -> tuple[int, ...]:
    """The places of the columns that occur in it."""
    return tuple(k for k, symbol in enumerate(formula.symbols) if symbol in formula.expression.free_symbols)


@dataclass(frozen=True, eq=False)
class Case:
    """A formula, the table and the places between its rows in the columns of the formula."""

    formula: Formula
    data: Dataset
    places: Places
    policy: VetoPolicy
    until: Deadline = NEVER  # After it, no further refit begins.

    def function(self, expression: Expr) -> Callable[[Array], Array]:
        """A part of the formula as a function of points, whose last axis has the columns of the formula."""
        columns = columns_of(self.formula)
        compiled = compile_numpy(expression, [self.formula.symbols[k] for k in columns])

        def values(points: Array) -> Array:
            flat = points.reshape(-1, len(columns))
            with np.errstate(all="ignore"):
                return np.broadcast_to(compiled(flat), (len(flat),)).astype(float).reshape(points.shape[:-1])

        return values

    @cached_property
    def value(self) -> Callable[[Array], Array]:
        return self.function(self.formula.expression)

    @cached_property
    def points(self) -> Array:
        """On every segment, its ends included."""
        segments = np.arange(len(self.places.first))
        return self.places.at(segments, np.broadcast_to(self.places.steps, (len(segments), len(self.places.steps))))

    @cached_property
    def between(self) -> Array:
        """Values at these points."""
        return self.value(self.points)

    @cached_property
    def residuals(self) -> Array:
        """What the formula leaves of the mean of y at each place."""
        return self.places.y - self.value(self.places.x)

    @cached_property
    def noise(self) -> float:
        """Its standard deviation. A few large residuals beside a pole must not pass for noise, hence the median."""
        apart = np.abs(self.data.y - self.formula(self.data.x))
        freedom = max(len(apart) - len(parametrise(self.formula.expression).symbols), 1)
        size = min(_NORMAL * float(np.median(apart)), float(np.sqrt(np.mean(apart**2))))
        return max(size * np.sqrt(len(apart) / freedom), _ROUNDING * float(np.max(np.abs(self.data.y))))

    @cached_property
    def envelope(self) -> tuple[float, float]:
        """Values outside are far from the data."""
        low, high = float(self.data.y.min()), float(self.data.y.max())
        margin = self.policy.far * ((high - low) or abs(high) or 1.0)
        return low - margin, high + margin

    @cached_property
    def _leverages(self) -> Array:
        """How much each place alone determines the value there when the constants are refitted: from 0 to 1."""
        form = parametrise(self.formula.expression)
        symbols = [self.formula.symbols[k] for k in columns_of(self.formula)]
        _, jacobian = value_and_jacobian(form.expr, symbols, form.symbols)(self.places.x, form.values)
        jacobian = jacobian * np.sqrt(self.places.rows)[:, None]
        size = np.linalg.norm(jacobian, axis=0)
        if not len(size) or not np.isfinite(size).all():
            return np.zeros(len(self.places.x))
        left, strength, _ = np.linalg.svd(jacobian / np.where(size > 0, size, 1.0), full_matrices=False)
        return np.sum(left[:, strength > RANK_TOLERANCE * strength[0]] ** 2, axis=1)

    def leverage(self, place: int) -> float:
        return float(self._leverages[place])

    def is_far(self, values: Array) -> Array:
        low, high = self.envelope
        return (values < low) | (values > high)

    def denominators(self) -> Iterator[Expr]:
        """What makes the formula infinite where it vanishes."""
        return self._shortest(inner for kind, inner in singular_factors(self.formula.expression) if kind == "pole")

    def margins(self) -> Iterator[Expr]:
        """What must not become negative."""
        expression = self.formula.expression
        return self._shortest(inner for kind in (not_negative, positive_only) for inner in kind(expression))

    def _shortest(self, parts: Iterator[Expr]) -> Iterator[Expr]:
        ordered = sorted(set(parts), key=lambda part: (node_count(part), str(part)))
        return islice(iter(ordered), self.policy.most_factors)
