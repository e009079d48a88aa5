"""Models on disk: one versioned JSON file, read without running anything in it.

    {"format": "ceql-model", "version": 1, "ceql": "0.1.0",
     "parameters": {...},                     the regressor's settings
     "names": ["x1", ...], "from_frame": true, "target_names": ["y"],
     "front": [{"expression": "...", "loss": 0.1, "constants": [[value, error], ...]}, ...],
     "chosen": 2, "outcome": "EXACT", "seconds": 1.2, "starts": 1024, "imaginary_residue": 0.0, "rows_searched": 128,
     "columns_searched": 2, "shortlist": [...], "struck": [...], "weights": [...], "r2": [...], "r2_cv": [...],
     "y": [...], "x": [[...], ...], "weight": [...]}

"shortlist" holds formulas in the same form as "front", "struck" holds formulas with the reason "why", and "weights",
"r2" and "r2_cv" have a number for each formula of "front" and "shortlist". A formula that is a named law has a field
"law". Files of version 0.1.0 have none of these fields.

A model with constants of groups has a field "groups" with the labels, and the last column of "x" holds the number of
each row's group. Its formulas have a field "groups" with the "structure" over names of constants, and the names that
are "shared" and "own". Their "constants" are the shared ones, then those of each group.

With several targets the version is 2, and the fields from "front" to "y" are in a list "targets", once for each target.

Formulas are text in the grammar of ``parse_formula``, with all digits of every constant; names that are not plain words
are in backticks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ceql import __version__
from ceql.choice.evidence import scores, weights
from ceql.choice.sifting import Struck
from ceql.choice.validation import r2_of
from ceql.constraints import Constraints
from ceql.data import content as fields
from ceql.data.content import ContentError
from ceql.data.dataset import Dataset, require_squares
from ceql.data.targets import Targets
from ceql.discovery import Discovery, Outcome, poles_of
from ceql.errors import CeqlError, why_unreadable
from ceql.expression import FormulaError, parse_formula
from ceql.expression.text.write import write_formula
from ceql.formula import Formula, make_symbols, mean_square
from ceql.search.losses import SQUARED
from ceql.storage.claims import check_losses, check_outcome
from ceql.storage.files import write_atomically
from ceql.storage.grouped_formulas import read_grouped, written_groups
from ceql.storage.named_laws import read_law, words, written_law
from ceql.storage.saved_parameters import saved_parameters

FORMAT, VERSIONS = "ceql-model", (1, 2)
SYSTEM_FORMAT = "ceql-system"  # another kind of file, read by `ceql.dynamics`
LONGEST_FRONT = 200_000  # characters; reading more would take minutes
_LEAST_NOISE = 1e-300  # a variance must be above zero
_ROUNDING = 1e-6  # allowed difference between the mean of the weights and 1


class ModelFileError(CeqlError):
    """A model file cannot be read or written."""


def write_model(
    path: str | Path, parameters: dict[str, Any], discoveries: Sequence[Discovery], targets: Targets, frame: bool
) -> None:
    """Writes the model to a file, completely or not at all."""
    first = targets.datasets[0]
    searches = [_search(found, data) for found, data in zip(discoveries, targets.datasets, strict=True)]
    content = {
        "format": FORMAT,
        "version": 1 if len(searches) == 1 else 2,
        "ceql": __version__,
        "parameters": parameters,
        "names": list(first.names),
        "from_frame": frame,
        "target_names": list(targets.names),
        **({"groups": list(targets.groups)} if targets.groups else {}),
        **(searches[0] if len(searches) == 1 else {"targets": searches}),
        "x": first.x.tolist(),
        "weight": first.weight.tolist(),
        **({} if first.noise is None else {"noise": first.noise}),
        **({} if first.censored is None else {"censored": first.censored.tolist()}),
    }
    try:
        text = json.dumps(content, default=_plain)
    except TypeError as error:
        raise ModelFileError(
            f"The model cannot be saved: {error}. Name recipes and operators by text, give random_state as a number."
        ) from None
    write_atomically(path, text, ModelFileError)


def _search(discovery: Discovery, data: Dataset) -> dict[str, Any]:
    return {
        "front": [_row(formula) for formula in discovery.front],
        "chosen": discovery.chosen,
        "outcome": discovery.outcome.name,
        "seconds": discovery.seconds,
        "starts": discovery.starts,
        "imaginary_residue": discovery.imaginary_residue,
        "rows_searched": discovery.rows_searched,
        "columns_searched": discovery.columns_searched,
        "shortlist": [_row(formula) for formula in discovery.shortlist],
        "struck": [{**_row(one.formula), "why": one.why} for one in discovery.struck if _reads_back(one.formula)],
        "weights": list(discovery.weights),
        "r2": list(discovery.r2),
        "r2_cv": list(discovery.r2_cv),
        "y": data.y.tolist(),
    }


def _row(formula: Formula) -> dict[str, Any]:
    constants = [list(constant) for constant in formula.constants]
    plain = {"expression": write_formula(formula.expression), "loss": formula.loss, "constants": constants}
    plain |= written_groups(formula)
    return plain if formula.law is None else {**plain, "law": written_law(formula.law)}


def _reads_back(formula: Formula) -> bool:
    """Whether the formula can be read back; a struck one may have numbers that cannot, but the model must load."""
    if not np.isfinite(formula.loss):
        return False
    names = tuple(map(str, (*formula.symbols, *formula.expression.free_symbols - {*formula.symbols})))
    try:
        parse_formula(write_formula(formula.expression), names, as_written=True)
    except FormulaError:
        return False
    return True


def _plain(value: Any) -> Any:
    """NumPy numbers and arrays as plain Python; a TypeError for anything else."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a parameter is {type(value).__name__}, which has no form in JSON")


def read_model(path: str | Path) -> tuple[dict[str, Any], tuple[Discovery, ...], Targets, bool]:
    """The parameters, discoveries, targets and whether X was a table, as given to `write_model`; a ModelFileError if
    the file is not a valid model.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(why_unreadable(path, error)) from error
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is not a ceql model, or only part of one: it is not complete JSON.") from None
    if isinstance(content, dict) and content.get("format") == SYSTEM_FORMAT:
        raise ModelFileError(
            f"{path} holds a system of differential equations: see `ceql simulate`, or read it with ceql.load."
        )
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a ceql model.")
    if content.get("version") not in VERSIONS:
        raise ModelFileError(
            f"{path} has version {content.get('version')!r} of the format, but this ceql reads "
            f"{' and '.join(map(str, VERSIONS))}: upgrade ceql."
        )
    try:
        return _restored(content)
    except (ContentError, CeqlError) as error:
        raise ModelFileError(f"{path} is damaged: {str(error).removesuffix('.')}.") from error
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _restored(content: dict[str, Any]) -> tuple[dict[str, Any], tuple[Discovery, ...], Targets, bool]:
    parameters = saved_parameters(content)
    datasets = _datasets(content)
    constraints = parameters.get("constraints")
    costs = Constraints.from_dict(constraints).costs if constraints else {}
    loss = str(parameters.get("loss", SQUARED))
    groups = _groups(content, datasets[0]) if "groups" in content else ()
    found = tuple(
        _restored_search(search, data, costs, loss, groups)
        for search, data in zip(_searches(content), datasets, strict=True)
    )
    target_names = fields.names(content, "target_names", blank=True) if "target_names" in content else ("y",)
    if not found or len(target_names) != len(found):
        raise ContentError(f"{len(found)} targets have {len(target_names)} names")
    return parameters, found, Targets(target_names, datasets, groups), fields.flag(content, "from_frame")


def _groups(content: dict[str, Any], data: Dataset) -> tuple[str, ...]:
    """The labels of the groups; their numbers in the last column are checked."""
    labels, codes = fields.names(content, "groups"), data.x[:, -1]
    if not labels or len(set(labels)) < len(labels) or len(data.names) < 2:
        raise ContentError("'groups' has no labels, or has one of them twice, or there is no column beside them")
    if (codes != np.round(codes)).any() or codes.min() < 0 or codes.max() >= len(labels):
        raise ContentError(f"the last column of 'x' must hold whole numbers from 0 to {len(labels) - 1}, one a group")
    return labels


def _searches(content: dict[str, Any]) -> list[Any]:
    return fields.rows(content, "targets") if content["version"] == 2 else [content]


def _datasets(content: dict[str, Any]) -> tuple[Dataset, ...]:
    """The data of each target, with the same checks as in a fit."""
    names = fields.names(content, "names")
    if len(set(names)) != len(names) or not names:
        raise ContentError("'names' has none, or has one of them twice")
    weight = fields.numbers(content, "weight", (None,))
    if len(weight) < 2 or (weight < 0.0).any() or abs(weight.mean() - 1.0) > _ROUNDING:
        raise ContentError("'weight' must hold at least two numbers, none of them negative, whose mean is 1")
    x = fields.numbers(content, "x", (len(weight), len(names)))
    for column, name in zip(x.T, names, strict=True):
        require_squares(column, f"column {name!r} of 'x'")
    noise = fields.number(content, "noise", least=_LEAST_NOISE) if "noise" in content else None
    codes = _codes(content, len(x)) if "censored" in content else None
    return tuple(Dataset(x, _target(search, len(x)), weight, names, noise, codes) for search in _searches(content))


def _codes(content: dict[str, Any], rows: int) -> np.ndarray:
    codes = fields.numbers(content, "censored", (rows,))
    if not np.isin(codes, (-1.0, 0.0, 1.0)).all():
        raise ContentError("'censored' must hold -1, 0 or 1 for each row")
    return codes.astype(int)


def _target(search: Any, rows: int) -> np.ndarray:
    y = fields.numbers(search, "y", (rows,))
    require_squares(y, "'y'")
    return y


def _restored_search(
    search: dict[str, Any], data: Dataset, costs: Mapping[str, int], loss: str, groups: tuple[str, ...] = ()
) -> Discovery:
    rows = fields.rows(search, "front")
    front_rows = len(rows)
    rows = [*rows, *_optional_rows(search, "shortlist")]
    struck = _optional_rows(search, "struck")
    if sum(len(fields.text(row, "expression")) for row in (*rows, *struck)) > LONGEST_FRONT:
        raise ContentError("its formulas are too long")
    formulas = tuple(_formula(row, data.names, costs, groups) for row in rows)
    if not front_rows:
        raise ContentError("'front' has no rows")
    chosen = fields.whole(search, "chosen", len(formulas) - 1)
    outcome = fields.text(search, "outcome")
    if outcome not in Outcome.__members__:
        raise ContentError(f"'outcome' is {fields.shown(outcome)}, which is not a possible end of a search")
    check_losses(formulas, data, loss)
    check_outcome(Outcome[outcome], formulas[chosen], data, loss)
    return Discovery(
        formulas[:front_rows],
        chosen,
        poles_of(formulas[chosen], data),
        Outcome[outcome],
        fields.number(search, "seconds", least=0.0),
        fields.whole(search, "starts"),
        fields.number(search, "imaginary_residue", least=0.0),
        fields.whole(search, "rows_searched", len(data.y)),
        fields.whole(search, "columns_searched", len(data.names)) if "columns_searched" in search else 0,
        shortlist=formulas[front_rows:],
        struck=tuple(Struck(_formula(row, data.names, costs, groups), words(row, "why")) for row in struck),
        **_evidence(search, formulas, data, loss),
    )


def _optional_rows(search: dict[str, Any], name: str) -> list[Any]:
    return fields.rows(search, name) if name in search else []


def _evidence(search: dict[str, Any], formulas: tuple[Formula, ...], data: Dataset, loss: str) -> dict[str, Any]:
    """The weights, R2 and cross-validated R2 of each formula; the first two are computed if the file is too old to hold
    them.
    """
    if not search.get("weights"):
        squares = [mean_square(formula(data.x) - data.y, data.weight) for formula in formulas]
        plain = [replace(formula, loss=square) for formula, square in zip(formulas, squares, strict=True)]
        return {"weights": weights(scores(plain, data)), "r2": r2_of(plain, data)}
    shares = fields.numbers(search, "weights", (len(formulas),))
    if (shares < 0.0).any() or abs(shares.sum() - 1.0) > _ROUNDING:
        raise ContentError("'weights' must hold numbers of at least 0 whose sum is 1")
    scored = {name: _scores(search, name, len(formulas)) for name in ("r2", "r2_cv")}
    return {"weights": tuple(shares.tolist()), **scored}


def _scores(search: dict[str, Any], name: str, count: int) -> tuple[float, ...]:
    """The R2 of each formula: at most 1, minus infinity if undefined on a held-out row, NaN if not known."""
    listed = fields.rows(search, name)
    if len(listed) != count or not all(isinstance(v, int | float) and not v > 1.0 for v in listed):
        raise ContentError(f"{name!r} must hold {count} numbers, none of them above 1")
    return tuple(map(float, listed))


def _formula(row: Any, names: tuple[str, ...], costs: Mapping[str, int], groups: tuple[str, ...] = ()) -> Formula:
    if isinstance(row, Mapping) and "groups" in row:
        return read_grouped(row, names, groups, costs)
    expression = parse_formula(fields.text(row, "expression"), names, as_written=True)
    loss = fields.number(row, "loss", least=0.0)
    return Formula(expression, make_symbols(names), loss, fields.pairs(row, "constants"), costs, read_law(row))
