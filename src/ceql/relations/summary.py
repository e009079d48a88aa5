"""Relations in words, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ceql.expression.text.write import write_formula
from ceql.relations.finding import Number, Relation, RelationsFinding

_NOTHING = (
    "No relation was found that holds on the rows held out. There may be none between these columns, or it may need "
    "other functions, fewer columns (--columns), more rows, or a level for each group (--groups)."
)
_COPIES = "All other columns are copies, so there is nothing to relate: give more columns."
_LEGEND = (
    "off: root mean square distance of the rows, in standard deviations of the columns; held out: the same for the "
    "rows held out.\nexplained: how much of each column the relation and the other columns predict, on the rows "
    "held out (R2)."
)
_HEADER = ("relation", "off", "held out", "explained")


def relations_table(finding: RelationsFinding) -> pd.DataFrame:
    """A data frame with one row for each relation."""
    rows = [
        {
            "relation": relation.text,
            "columns": ", ".join(relation.columns),
            "distance": relation.distance,
            "distance_held_out": relation.held_out,
            "share": relation.share,
            "exact": relation.is_exact,
            "constants": len(relation.constants) + sum(level.error > 0.0 for level in relation.levels),
            "criterion": relation.criterion,
        }
        for relation in finding.relations
    ]
    names = ["relation", "columns", "distance", "distance_held_out", "share", "exact", "constants", "criterion"]
    return pd.DataFrame(rows, columns=pd.Index(names))


def as_json(finding: RelationsFinding) -> dict[str, Any]:
    return {
        "columns": list(finding.names),
        "groups": finding.groups or None,
        "rows": finding.rows,
        "rows_held_out": finding.rows_held_out,
        "seconds": round(finding.seconds, 3),
        "notes": list(finding.notes),
        "relations": [_relation_as_json(relation, finding) for relation in finding.relations],
    }


def _relation_as_json(relation: Relation, finding: RelationsFinding) -> dict[str, Any]:
    levels = [{"value": level.value, "error": level.error} for level in relation.levels]
    return {
        "relation": relation.text,
        "left": write_formula(relation.left),
        "level": dict(zip(finding.labels, levels, strict=True)) if relation.is_grouped else levels[0],
        "constants": [{"value": constant.value, "error": constant.error} for constant in relation.constants],
        "columns": list(relation.columns),
        "distance": relation.distance,
        "distance_held_out": relation.held_out,
        "share": relation.share,
        "shares": dict(relation.shares),
        "exact": relation.is_exact,
        "leaves_a_pattern": relation.has_pattern,
    }


def in_words(finding: RelationsFinding) -> str:
    """The summary for people: a table of the relations, then details of each."""
    if not finding.relations:
        return _NOTHING if len(finding.names) > 1 else _COPIES
    blocks = [_table(finding.relations), *(_more(relation, finding) for relation in finding.relations)]
    rows = f"{finding.rows - finding.rows_held_out} rows looked at, {finding.rows_held_out} held out for the check"
    return "\n\n".join([*(block for block in blocks if block), f"{rows}, {finding.seconds:.1f} s.\n{_LEGEND}"])


def _table(relations: Sequence[Relation]) -> str:
    rows = [_HEADER, *map(_cells, relations)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADER))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cells(relation: Relation) -> tuple[str, str, str, str]:
    explained = ", ".join(f"{name} {_share(share)}" for name, share in relation.shares)
    if relation.is_exact:
        return relation.text, "rounding", "rounding", explained
    return relation.text, f"{relation.distance:.2g}", f"{relation.held_out:.2g}", explained


def _share(share: float) -> str:
    """Four decimals, with 1 only for a share that is exactly one."""
    return "1" if share > 1.0 - 1e-12 else f"{min(share, 0.9999):.4f}"


def _more(relation: Relation, finding: RelationsFinding) -> str:
    lines = []
    sizes = [Number(abs(number.value), number.error) for number in relation.constants]  # signs change sides
    fitted = [number for number in (*sizes, *_lone_level(relation)) if number.error > 0.0]
    if fitted and not relation.is_exact:
        lines.append("numbers: " + ", ".join(map(_with_error, fitted)))
    if relation.is_grouped:
        each = zip(finding.labels, relation.levels, strict=True)
        lines.append(f"level of each {finding.groups}: " + ", ".join(f"{k}: {_with_error(v)}" for k, v in each))
    if relation.has_pattern:
        lines.append(
            "Its residuals are not noise: neighbouring rows deviate to the same side, so the relation lacks something."
        )
    return "\n".join([relation.text, *(f"  {line}" for line in lines)]) if lines else ""


def _lone_level(relation: Relation) -> tuple[Number, ...]:
    return () if relation.is_grouped else relation.levels


def _with_error(number: Number) -> str:
    return f"{number.value:.10g} ± {number.error:.2g}" if number.error > 0.0 else f"{number.value:.10g}"
