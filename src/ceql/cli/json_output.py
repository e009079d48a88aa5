"""Output for the option `--json FILE`: to a file, or to standard output for `-`, which then holds nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ceql.storage.destinations import is_standard_output, write_text

if TYPE_CHECKING:
    from ceql.estimator.results import Finding

__all__ = ["as_text", "is_standard_output", "write_findings", "write_json"]


def as_text(content: Any) -> str:
    return json.dumps(content, indent=2) + "\n"


def write_json(path: Path, content: Any) -> None:
    write_text(path, as_text(content))


def write_findings(path: Path, findings: Iterable[Finding]) -> None:
    """Writes the finding of one target as an object, those of several as a list."""
    from ceql.cli.summary import as_json
    from ceql.estimator.results import one_or_all

    write_json(path, one_or_all([as_json(found) for found in findings]))
