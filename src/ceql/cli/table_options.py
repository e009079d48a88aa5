"""The options of every command that reads a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--separator",
        default="",
        metavar="MARK",
        help="What separates the columns of a text file: , ; or tab.",
    ),
    click.option("--decimal", default=".", metavar="MARK", help="The decimal mark of a text file: . or ','."),
    click.option("--encoding", default="utf-8", show_default=True, help="Of a text file, such as latin-1."),
    click.option("--sheet", default="", metavar="NAME", help="The sheet of a workbook. [default: the first]"),
)


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
