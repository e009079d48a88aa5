"""Writes docs/options.md: every command with all its options, as `--help` prints them.

python tools/options_page.py docs/options.md
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ceql.__main__ import cli

_WIDTH = 110  # width of the help text of a command
_HEAD = """# All options

What `ceql COMMAND --help` prints, for every command; [the command line](command-line.md) has examples and explanations.
`python tools/options_page.py docs/options.md` makes this page.
"""


def help_of(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"ceql {name}", max_content_width=_WIDTH, terminal_width=_WIDTH)
    return command.get_help(context)


def page() -> str:
    sections = [
        f"## {name}\n\n```text\n{help_of(name, command)}\n```\n" for name, command in sorted(cli.commands.items())
    ]
    return "\n".join([_HEAD, *sections])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
