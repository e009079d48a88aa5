"""What `--json FILE` means to every command: a file, or `-` for standard output, which then holds nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


def is_standard_output(path: Path) -> bool:
    return str(path) == "-"


def as_text(content: Any) -> str:
    return json.dumps(content, indent=2) + "\n"


def write_json(path: Path, content: Any) -> None:
    if is_standard_output(path):
        click.echo(as_text(content), nl=False)
    else:
        path.write_text(as_text(content), encoding="utf-8")
