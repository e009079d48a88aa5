"""What `--json FILE` means to every command: a file, or `-` for standard output, which then holds nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ceql.storage.destinations import is_standard_output, write_text

__all__ = ["as_text", "is_standard_output", "write_json"]


def as_text(content: Any) -> str:
    return json.dumps(content, indent=2) + "\n"


def write_json(path: Path, content: Any) -> None:
    write_text(path, as_text(content))
