"""Models on disk: one JSON file, versioned, read without running anything that is in it.

    {"format": "ceql-model", "version": 1, "ceql": "0.1.0",
     "parameters": {...},                     the regressor's settings
     "names": ["x1", ...], "from_frame": true, "target_names": ["y"],
     "front": [{"expression": "...", "loss": 0.1, "constants": [[value, error], ...]}, ...],
     "chosen": 2, "outcome": "EXACT", "seconds": 1.2, "starts": 1024, "imaginary_residue": 0.0, "rows_searched": 128,
     "columns_searched": 2, "y": [...], "x": [[...], ...], "weight": [...]}

With several targets the version is 2, and what begins with "front" and ends with "y" stands in a list "targets", once
for each.

Formulas are text in the grammar of ``parse_formula``, every constant with all its digits; names that are no plain words
stand in backticks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ceql import __version__
from ceql.constraints import Constraints
from ceql.data import Dataset
from ceql.discovery import Discovery, Outcome, poles_of
from ceql.errors import CeqlError
from ceql.expression import parse_formula
from ceql.expression.write import write_formula
from ceql.files import write_atomically
from ceql.formula import Formula, make_symbols
from ceql.targets import Targets

FORMAT, VERSIONS = "ceql-model", (1, 2)
LONGEST_FRONT = 200_000  # characters; to read more would take minutes


class ModelFileError(CeqlError):
    """A model file that cannot be read or written."""


def write_model(
    path: str | Path, parameters: dict[str, Any], discoveries: Sequence[Discovery], targets: Targets, frame: bool
) -> None:
    """Writes the whole file or nothing."""
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
        **(searches[0] if len(searches) == 1 else {"targets": searches}),
        "x": first.x.tolist(),
        "weight": first.weight.tolist(),
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
        "front": [
            {"expression": write_formula(f.expression), "loss": f.loss, "constants": [list(c) for c in f.constants]}
            for f in discovery.front
        ],
        "chosen": discovery.chosen,
        "outcome": discovery.outcome.name,
        "seconds": discovery.seconds,
        "starts": discovery.starts,
        "imaginary_residue": discovery.imaginary_residue,
        "rows_searched": discovery.rows_searched,
        "columns_searched": discovery.columns_searched,
        "y": data.y.tolist(),
    }


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays, which a grid of parameters is made of."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a parameter is {type(value).__name__}, which has no form in JSON")


def read_model(path: str | Path) -> tuple[dict[str, Any], tuple[Discovery, ...], Targets, bool]:
    """What `write_model` was given; an error in plain words for anything else."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is no ceql model, or only part of one: it is not complete JSON.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{path} is no ceql model.")
    if content.get("version") not in VERSIONS:
        raise ModelFileError(
            f"{path} has version {content.get('version')!r} of the format, this ceql reads "
            f"{' and '.join(map(str, VERSIONS))}: upgrade ceql."
        )
    try:
        return _restored(content)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _restored(content: dict[str, Any]) -> tuple[dict[str, Any], tuple[Discovery, ...], Targets, bool]:
    names = tuple(str(name) for name in content["names"])
    weight = np.array(content["weight"], float)
    x = np.array(content["x"], float).reshape(len(weight), len(names))
    searches = content["targets"] if content["version"] == 2 else [content]
    datasets = tuple(Dataset(x, np.array(search["y"], float).reshape(len(x)), weight, names) for search in searches)
    parameters = dict(content["parameters"])
    constraints = parameters.get("constraints")
    costs = Constraints.from_dict(constraints).costs if constraints else {}
    found = tuple(_restored_search(search, data, costs) for search, data in zip(searches, datasets, strict=True))
    target_names = tuple(str(name) for name in content.get("target_names", ["y"]))
    if not found or len(target_names) != len(found):
        raise ValueError(f"{len(found)} targets have {len(target_names)} names")
    return parameters, found, Targets(target_names, datasets), bool(content["from_frame"])


def _restored_search(search: dict[str, Any], data: Dataset, costs: Mapping[str, int]) -> Discovery:
    symbols = make_symbols(data.names)
    if sum(len(row["expression"]) for row in search["front"]) > LONGEST_FRONT:
        raise ValueError("its formulas are too long")
    front = tuple(
        Formula(
            parse_formula(row["expression"], data.names, as_written=True),
            symbols,
            float(row["loss"]),
            tuple((float(value), float(error)) for value, error in row["constants"]),
            costs,
        )
        for row in search["front"]
    )
    chosen = int(search["chosen"])
    if not 0 <= chosen < len(front):
        raise ValueError(f"there is no row {chosen} to be chosen")
    best = front[chosen]
    for formula in front:
        if not 0 <= formula.loss < np.inf:
            raise ValueError(f"{formula.loss} is no loss")
        formula(data.x[:1])  # compiles, or says why not
    return Discovery(
        front,
        chosen,
        poles_of(best, data),
        Outcome[search["outcome"]],
        float(search["seconds"]),
        int(search["starts"]),
        float(search["imaginary_residue"]),
        int(search["rows_searched"]),
        int(search.get("columns_searched", 0)),  # the first files lack it
    )
