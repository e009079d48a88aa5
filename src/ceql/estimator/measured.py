"""Additional input of a fit: weights, errors of measurement in y and in the columns of X, and censored rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ceql.choice.evidence import scores, weights
from ceql.choice.validation import Folds, cross_validated, r2_of
from ceql.constraints import Constraints
from ceql.data.censoring import censored_apart, check_codes, limited
from ceql.data.dataset import Dataset, column_names, is_table, shape_of
from ceql.data.sigmas import sigma_apart, weights_of, with_noise
from ceql.data.targets import Targets
from ceql.discovery import Discovery, poles_of
from ceql.errors import InputError, unknown_name
from ceql.estimator.censored import Censored, at_greatest_likelihood
from ceql.estimator.complex_targets import folds_of_parts, in_parts, wants_parts
from ceql.estimator.effective_variance import fitted_again, in_turn
from ceql.estimator.folds import folds_of
from ceql.estimator.parameters import is_number
from ceql.formula import Formula
from ceql.templates import Template


@dataclass(frozen=True, eq=False)
class Measured:
    """The data of a fit with their errors of measurement."""

    targets: Targets
    weight: Any  # of the rows, as the caller gave them
    from_frame: bool
    sigma: np.ndarray | None = None
    sigma_x: Mapping[str, np.ndarray] = field(default_factory=dict)
    absolute: bool = True
    censored: Censored | None = None

    def fitted_again(
        self, discoveries: Sequence[Discovery], constraints: Constraints, folds: Folds | None
    ) -> tuple[tuple[Discovery, ...], Targets]:
        """The discoveries, fitted again with the input errors that the chosen formula passes on, or with the censored
        rows converted by it.
        """
        if (not self.sigma_x or self.sigma is None) and self.censored is None:
            return tuple(discoveries), self.targets
        done = []
        for found, data in zip(discoveries, self.targets.datasets, strict=True):
            over = constraints.over(data.names, data.x, data.y)
            done.append(_again(found, *self._best_again(found.best, data, over), folds, over))
        datasets = tuple(data for _, data in done)
        return tuple(found for found, _ in done), replace(self.targets, datasets=datasets)

    def _best_again(self, best: Formula, data: Dataset, constraints: Constraints) -> tuple[Formula, Dataset]:
        if self.censored is not None:
            return at_greatest_likelihood(best, self.censored, constraints)
        assert self.sigma is not None
        return in_turn(best, data, self.sigma, self.sigma_x, self.absolute, constraints)


def with_folds(
    X: Any,
    y: Any,
    sample_weight: Any,
    errors: tuple[Any, Any, bool],
    template: Template | None,
    cv: Any,
    groups: Any,
    limits: tuple[Any, Any] = (None, None),
) -> tuple[Measured, Folds | None]:
    """The data of a fit and its folds. `errors` are sigma, sigma_x and whether they are absolute; `limits` are which
    rows are censored and their common limit.
    """
    rows = shape_of(X, "X")[0]
    if not wants_parts(template, y):
        given = measured(X, y, sample_weight, *errors, *limits)
        return given, folds_of(cv, groups, rows, given.weight)
    if errors[0] is not None or errors[1] is not None:
        raise InputError("sigma= and sigma_x need a real y: use sample_weight for a complex one.")
    if any(limit is not None for limit in limits):
        raise InputError("Censored rows need a real y: a complex value is neither above nor below a limit.")
    folds = folds_of_parts(folds_of(cv, groups, rows, sample_weight))
    return measured(*in_parts(X, y, sample_weight), *errors), folds


def measured(
    X: Any,
    y: Any,
    sample_weight: Any,
    sigma: Any,
    sigma_x: Any,
    absolute: bool,
    censored: Any = None,
    detection_limit: Any = None,
) -> Measured:
    """The checked data of a fit. Columns of X that hold errors or mark censored rows are removed from the inputs."""
    if censored is None and detection_limit is None:
        return _known(X, y, sample_weight, sigma, sigma_x, absolute)
    if sigma_x is not None or (len(shape_of(y, "y")) == 2 and shape_of(y, "y")[1] > 1):
        raise InputError("Censored rows work with one target at a time, and not with sigma_x.")
    if censored is not None and detection_limit is not None:
        raise InputError(
            "Give either censored= or detection_limit, not both; limits that differ go into y, with censored=."
        )
    X, codes = (X, None) if censored is None else censored_apart(X, censored)
    if codes is None:
        values, codes = limited(y, detection_limit)
        y = pd.Series(values, name=getattr(y, "name", None))
    check_codes(codes, shape_of(X, "X")[0])
    given = _known(X, y, sample_weight, sigma, None, absolute)
    if not codes.any():
        return given
    (data,) = given.targets.datasets
    counted = np.ones(len(codes), bool) if sample_weight is None else np.asarray(sample_weight, float).ravel() > 0.0
    held = Censored(data, codes[counted] if counted.size == codes.size else codes)
    return replace(given, targets=replace(given.targets, datasets=(held.first_rows(),)), censored=held)


def _known(X: Any, y: Any, sample_weight: Any, sigma: Any, sigma_x: Any, absolute: bool) -> Measured:
    if sigma is None:
        if sigma_x is not None:
            raise InputError("sigma_x needs sigma=, the errors of y: give them as well, even if they are small.")
        return Measured(Targets.of(X, y, sample_weight), sample_weight, is_table(X))
    if sample_weight is not None:
        raise InputError(
            "Give either sigma= or sample_weight, not both: with sigma=, the weight of a row is one over its "
            "squared error."
        )
    if sigma_x is not None and len(shape_of(y, "y")) == 2 and shape_of(y, "y")[1] > 1:
        raise InputError("sigma_x works with one target at a time: fit each of them by itself.")
    X, own = sigma_apart(X, sigma)
    X, of_columns = _errors_of_columns(X, sigma_x)
    weight = weights_of(own, shape_of(X, "X")[0])
    targets = Targets.of(X, y, weight)
    known = with_noise(targets, own) if absolute else targets
    return Measured(known, weight, is_table(X), own, of_columns, absolute)


def _errors_of_columns(X: Any, sigma_x: Any) -> tuple[Any, dict[str, np.ndarray]]:
    if sigma_x is None:
        return X, {}
    if not isinstance(sigma_x, Mapping):
        raise InputError(
            "sigma_x must be a dictionary of columns and their errors, such as {'x1': 0.1}, not "
            f"{type(sigma_x).__name__}."
        )
    found: dict[str, np.ndarray] = {}
    rows = shape_of(X, "X")[0]
    for name, error in sigma_x.items():
        if name not in column_names(X):
            raise unknown_name("column", name, column_names(X))
        what = f"sigma_x[{name!r}]"
        X, values = sigma_apart(X, np.full(rows, error) if is_number(error) else error, what)
        weights_of(values, rows, what)
        found[str(name)] = values
    lost = [name for name in found if name not in column_names(X)]
    if lost:
        raise InputError(f"sigma_x names {lost[0]!r} as a column with errors and as the errors of another.")
    return X, found


def _again(
    found: Discovery, best: Formula, data: Dataset, folds: Folds | None, constraints: Constraints
) -> tuple[Discovery, Dataset]:
    again = [best if f is found.best else fitted_again(f, data, constraints) for f in found.formulas]
    front, beside = tuple(again[: len(found.front)]), tuple(again[len(found.front) :])
    shares, r2 = weights(scores(again, data)), r2_of(again, data)
    known = [k for k, value in enumerate(found.r2_cv) if not np.isnan(value)]
    r2_cv = np.full(len(found.r2_cv), np.nan)
    r2_cv[known] = cross_validated([again[k] for k in known], data, folds)
    changed = replace(found, front=front, shortlist=beside, weights=shares, r2=r2, r2_cv=tuple(r2_cv.tolist()))
    return replace(changed, poles=poles_of(best, data)), data
