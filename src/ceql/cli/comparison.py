"""How well saved models predict rows that they have not seen, and whether these rows can distinguish the models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ceql.choice.uncertainty import uncertain
from ceql.data.tables import Table
from ceql.errors import InputError
from ceql.estimator.model import Model
from ceql.estimator.results import Finding

_LEVEL = 0.95
_ERRORS = 2.0  # standard errors by which two models must differ for one to be called better
_FEWEST = 3  # the fewest rows on which models are compared


@dataclass(frozen=True)
class Compared:
    """How well one model predicts the new rows."""

    model: str
    formula: str
    complexity: int
    r2: float
    rmse: float
    largest: float  # error of a row
    within: float  # share of the rows inside the intervals of 95 %
    undefined: int  # rows in which it has no value

    def in_words(self) -> list[str]:
        numbers = f"{self.r2:.6g}", f"{self.rmse:.4g}", f"{self.largest:.4g}", f"{100 * self.within:.0f} %"
        return [self.model, str(self.complexity), *numbers, str(self.undefined)]

    def as_json(self) -> dict[str, Any]:
        return {n: None if isinstance(v, float) and not math.isfinite(v) else v for n, v in asdict(self).items()}


def named(paths: Sequence[Path]) -> list[str]:
    """A name for each model: its file name, or the whole path if two files have the same name."""
    short = [path.name for path in paths]
    if len(paths) < 2 or len(set(map(str, paths))) < len(paths):
        raise InputError("Give two or more different models, such as a.ceql b.ceql.")
    return short if len(set(short)) == len(short) else list(map(str, paths))


def compared(
    models: Mapping[str, Model], table: Table, target: str | None, drop: bool
) -> tuple[list[Compared], str, tuple[str, ...]]:
    """A row for each model, the verdict in a sentence, and notes."""
    column = target or _common_target(models)
    grouped = [name for name, model in models.items() if model.groups_]
    if grouped:
        raise InputError(
            f"{grouped[0]} has constants of groups: compare such models in Python, with predict(X, groups=...)."
        )
    found = {name: _finding(model, column) for name, model in models.items()}
    inputs = list(dict.fromkeys(name for one in found.values() for name in one.data.names))
    numbers = table.numbers([*inputs, *([] if column in inputs else [column])], gaps=drop)
    whole = numbers.notna().all(axis=1).to_numpy()
    numbers = numbers.loc[whole]
    notes = [f"{table.path}: {(~whole).sum()} of {len(whole)} rows have gaps: left out."] if not whole.all() else []
    y = numbers[column].to_numpy()
    values = {name: one.formula(numbers[list(one.data.names)].to_numpy()) for name, one in found.items()}
    defined = np.all([np.isfinite(value) for value in values.values()], axis=0)
    if defined.sum() < _FEWEST:
        raise InputError(
            f"All models have a value in only {defined.sum()} rows of {table.path}: at least 3 such rows are needed."
        )
    notes += [_seen(name, one, numbers, y) for name, one in found.items()]
    rows = [_row(name, found[name], numbers, y, values[name], defined) for name in found]
    squares = {name: (values[name] - y)[defined] ** 2 for name in found}
    return rows, _verdict(squares, int(defined.sum()), len(y)), tuple(note for note in notes if note)


def _common_target(models: Mapping[str, Model]) -> str:
    names = {name for model in models.values() for name in model.target_names_}
    if len(names) > 1:
        raise InputError(
            f"The models have different targets ({', '.join(sorted(names))}): name the measured column with --target."
        )
    return names.pop()


def _finding(model: Model, target: str) -> Finding:
    return model._finding(target=target)


def _row(name: str, found: Finding, numbers: Any, y: np.ndarray, value: np.ndarray, defined: np.ndarray) -> Compared:
    x = numbers[list(found.data.names)].to_numpy()[defined]
    error = (value - y)[defined]
    known = uncertain(found.formula, found.discovery.formulas, found.discovery.weights, found.data, x)
    low, high = known.interval(_LEVEL)
    spread = float(np.sum((y[defined] - y[defined].mean()) ** 2))
    r2 = 1.0 - float(np.sum(error**2)) / spread if spread > 0.0 else math.nan
    return Compared(
        name,
        str(found.formula),
        found.formula.complexity,
        r2,
        float(np.sqrt(np.mean(error**2))),
        float(np.max(np.abs(error))),
        float(np.mean((low <= y[defined]) & (y[defined] <= high))),
        int((~np.isfinite(value)).sum()),
    )


def _seen(name: str, found: Finding, numbers: Any, y: np.ndarray) -> str:
    """A note if the model was fitted to some of these rows; otherwise empty."""
    x = numbers[list(found.data.names)].to_numpy()
    known = {(*row, value) for row, value in zip(found.data.x.tolist(), found.data.y.tolist(), strict=True)}
    count = sum((*row, value) in known for row, value in zip(x.tolist(), y.tolist(), strict=True))
    return f"{name} was fitted to {count} of these {len(y)} rows, which gives it an advantage." if count else ""


def _verdict(squares: Mapping[str, np.ndarray], rows: int, all_rows: int) -> str:
    best, *others = sorted(squares, key=lambda name: float(np.mean(squares[name])))
    doubtful = [name for name in others if not _is_better(squares[best], squares[name])]
    of = f"{rows} rows" if rows == all_rows else f"{rows} of {all_rows} rows (those where all models have a value)"
    if doubtful:
        return f"On {of}, {best} is not clearly better than {', '.join(doubtful)}."
    return f"On {of}, {best} is the best: its errors are smaller by more than two standard errors of the difference."


def _is_better(first: np.ndarray, second: np.ndarray) -> bool:
    difference = second - first
    return float(np.mean(difference)) > _ERRORS * float(np.std(difference, ddof=1)) / math.sqrt(len(difference))
