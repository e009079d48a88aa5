"""Models on disk: one JSON file, versioned, read without running anything that is in it.

    {"format": "ceql-model", "version": 1, "ceql": "0.1.0",
     "parameters": {...},                     the regressor's settings
     "names": ["x1", ...], "from_frame": true,
     "front": [{"expression": "...", "loss": 0.1, "constants": [[value, error], ...]}, ...],
     "chosen": 2, "outcome": "EXACT", "seconds": 1.2, "starts": 1024, "imaginary_residue": 0.0, "rows_searched": 128,
     "x": [[...], ...], "y": [...], "weight": [...]}

Formulas are text in the grammar of ``parse_formula``, every constant with all its digits; names that are no plain words
stand in backticks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ceql.data import Dataset
from ceql.errors import CeqlError
from ceql.expression import parse_formula
from ceql.expression.write import write_formula
from ceql.files import write_atomically
from ceql.formula import Formula, make_symbols
from ceql.pipeline import Discovery, Outcome, poles_of

FORMAT, VERSION = "ceql-model", 1


class ModelFileError(CeqlError):
    """A model file that cannot be read or written."""


def write_model(path: str | Path, parameters: dict[str, Any], discovery: Discovery, data: Dataset, frame: bool) -> None:
    """Writes the whole file or nothing."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": parameters,
        "names": list(data.names),
        "from_frame": frame,
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
        "x": data.x.tolist(),
        "y": data.y.tolist(),
        "weight": data.weight.tolist(),
    }
    path = Path(path)
    try:
        text = json.dumps(content)
    except TypeError as error:
        raise ModelFileError(f"The model cannot be saved: {error}. Name recipes and operators by text.") from None
    try:
        write_atomically(path, text)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be written: {error.strerror or error}.") from error


def read_model(path: str | Path) -> tuple[dict[str, Any], Discovery, Dataset, bool]:
    """What `write_model` was given; an error in plain words for anything else."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is no ceql model, or only part of one: it is not complete JSON.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{path} is no ceql model.")
    if content.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has version {content.get('version')!r} of the format, this ceql reads {VERSION}: upgrade ceql."
        )
    try:
        return _restored(content)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _restored(content: dict[str, Any]) -> tuple[dict[str, Any], Discovery, Dataset, bool]:
    names = tuple(str(name) for name in content["names"])
    x = np.array(content["x"], float).reshape(len(content["y"]), len(names))
    data = Dataset(x, np.array(content["y"], float), np.array(content["weight"], float), names)
    symbols = make_symbols(names)
    front = tuple(
        Formula(
            parse_formula(row["expression"], names),
            symbols,
            float(row["loss"]),
            tuple((float(value), float(error)) for value, error in row["constants"]),
        )
        for row in content["front"]
    )
    chosen = int(content["chosen"])
    best = front[chosen]
    for formula in front:
        formula(data.x[:1])  # compiles, or says why not
    discovery = Discovery(
        front,
        chosen,
        poles_of(best, data),
        Outcome[content["outcome"]],
        float(content["seconds"]),
        int(content["starts"]),
        float(content["imaginary_residue"]),
        int(content["rows_searched"]),
    )
    return dict(content["parameters"]), discovery, data, bool(content["from_frame"])
