"""Relations in a file: versioned JSON, read without executing anything in it.

    {"format": "ceql-relations", "version": 1, "ceql": "0.1.0",
     "names": ["p", "V"], "groups": "", "labels": [""], "rows": 200, "rows_held_out": 50, "seconds": 1.2, "notes": [],
     "relations": [{"left": "V*p", "levels": [[value, error]], "constants": [[value, error], ...],
                    "distance": 0.01, "held_out": 0.01, "share": 0.99, "shares": [["p", 0.99], ["V", 0.99]],
                    "criterion": -1000.0, "exact": false, "pattern": false}]}

`left` is text in the grammar of ``parse_formula`` with all digits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ceql import __version__
from ceql.data import content as fields
from ceql.data.content import ContentError
from ceql.errors import CeqlError, why_unreadable
from ceql.expression import FormulaError, parse_formula
from ceql.expression.text.write import write_formula
from ceql.relations.finding import Number, Relation, RelationsFinding
from ceql.storage.files import write_atomically
from ceql.storage.model_file import ModelFileError

FORMAT, VERSION = "ceql-relations", 1


def write_relations(path: str | Path, finding: RelationsFinding) -> None:
    """Writes the finding to a file, atomically."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "ceql": __version__,
        "names": list(finding.names),
        "groups": finding.groups,
        "labels": list(finding.labels),
        "rows": finding.rows,
        "rows_held_out": finding.rows_held_out,
        "seconds": finding.seconds,
        "notes": list(finding.notes),
        "relations": [_written(relation) for relation in finding.relations],
    }
    write_atomically(path, json.dumps(content), ModelFileError)


def _written(relation: Relation) -> dict[str, Any]:
    return {
        "left": write_formula(relation.left),
        "levels": [[level.value, level.error] for level in relation.levels],
        "constants": [[constant.value, constant.error] for constant in relation.constants],
        "distance": relation.distance,
        "held_out": relation.held_out,
        "share": relation.share,
        "shares": [[name, share] for name, share in relation.shares],
        "criterion": relation.criterion,
        "exact": relation.is_exact,
        "pattern": relation.has_pattern,
    }


def read_relations(path: str | Path) -> RelationsFinding:
    """Reads a file written by `write_relations`; raises `ModelFileError` for anything else."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(why_unreadable(path, error)) from error
    except (ValueError, RecursionError):
        raise ModelFileError(
            f"{path} is not a file of relations, or only part of one: it is not complete JSON."
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a file of relations; `ceql relate --save` writes one.")
    if content.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has version {content.get('version')!r}, but this ceql reads {VERSION}: upgrade ceql."
        )
    try:
        return _restored(content)
    except (ContentError, CeqlError, FormulaError) as error:
        raise ModelFileError(f"{path} is damaged: {str(error).removesuffix('.')}.") from error


def _restored(content: dict[str, Any]) -> RelationsFinding:
    names = fields.names(content, "names")
    if not names or len(set(names)) != len(names):
        raise ContentError("'names' has none, or has one of them twice")
    labels = fields.names(content, "labels", blank=True)
    relations = tuple(_relation(row, names, len(labels)) for row in fields.rows(content, "relations"))
    return RelationsFinding(
        relations,
        names,
        fields.text(content, "groups"),
        labels,
        fields.whole(content, "rows"),
        fields.whole(content, "rows_held_out"),
        fields.number(content, "seconds", least=0.0),
        fields.names(content, "notes"),
    )


def _relation(row: Any, names: tuple[str, ...], groups: int) -> Relation:
    levels = _numbers(row, "levels")
    if len(levels) not in (1, groups):
        raise ContentError(f"'levels' has {len(levels)} entries and not one, or one for each of {groups} groups")
    left = parse_formula(fields.text(row, "left"), names, as_written=True)
    shares = tuple(_share(pair, names) for pair in fields.rows(row, "shares"))
    taking_part = {symbol.name for symbol in left.free_symbols}
    if {name for name, _ in shares} != taking_part:
        raise ContentError("'shares' must name the columns of 'left'")
    return Relation(
        left,
        names,
        levels,
        _numbers(row, "constants"),
        fields.number(row, "distance", least=0.0),
        fields.number(row, "held_out", least=0.0),
        fields.number(row, "share"),
        shares,
        fields.number(row, "criterion"),
        fields.flag(row, "exact"),
        fields.flag(row, "pattern"),
    )


def _numbers(row: Any, name: str) -> tuple[Number, ...]:
    return tuple(Number(value, error) for value, error in fields.pairs(row, name))


def _share(pair: Any, names: tuple[str, ...]) -> tuple[str, float]:
    if not isinstance(pair, list) or len(pair) != 2 or pair[0] not in names:
        raise ContentError(f"'shares' holds {fields.shown(pair)} and no column with its share")
    return str(pair[0]), fields.number({"share": pair[1]}, "share")
