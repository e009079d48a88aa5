"""The options of every command that reads a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from ceql.cli.did_you_mean import SuggestingChoice

if TYPE_CHECKING:
    from ceql.data.formats.file_layout import Layout

_OPTIONS = (
    click.option(
        "--separator",
        default="",
        metavar="MARK",
        help="What separates the columns of a text file: , ; | tab or space. [default: detected]",
    ),
    click.option("--decimal", default="", metavar="MARK", help="The decimal mark of a text file. [default: detected]"),
    click.option(
        "--encoding", default="utf-8", show_default=True, help="The encoding of a text file, such as latin-1."
    ),
    click.option(
        "--skip", type=click.IntRange(0), default=0, help="How many lines to skip above the header of a text file."
    ),
    click.option(
        "--names", default="", help="The names of the columns of a text file without a header, separated by commas."
    ),
    click.option("--sheet", default="", metavar="NAME", help="The sheet of a workbook. [default: the first]"),
    click.option(
        "--missing-mark",
        "missing_marks",
        multiple=True,
        metavar="TEXT",
        help="A cell content that marks a missing value, such as -999; may be repeated.",
    ),
)
TABLE_OPTIONS = ("separator", "decimal", "encoding", "skip", "names", "sheet", "missing_marks")

missing_option = click.option(
    "--missing",
    type=SuggestingChoice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="What to do with rows in which a value is missing.",
)


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def layout_of(options: Mapping[str, Any]) -> Layout:
    """The layout of the table as far as these options give it."""
    from ceql.data.formats.file_layout import Layout

    given = {name: options[name] for name in TABLE_OPTIONS}
    names = given["names"]
    names = listed(names) if isinstance(names, str) else names
    return Layout(**{**given, "names": tuple(names), "missing_marks": tuple(given["missing_marks"])})


def listed(text: str) -> list[str]:
    """The names in a text, separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def tell(notes: tuple[str, ...]) -> None:
    """Prints notes about what was recognised or left out to standard error, so that they do not mix with the output."""
    for note in notes:
        click.echo(f"Note: {note}", err=True)
