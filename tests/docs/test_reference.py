"""The reference is complete: every public name, every member of the regressor, every command and every option."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ceql
from ceql.__main__ import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PYTHON = (DOCS / "api.md").read_text(encoding="utf-8")
TERMINAL = (DOCS / "command-line.md").read_text(encoding="utf-8")
REMEDY = "run: python tools/options_page.py docs/options.md"
# What scikit-learn adds to every estimator and explains itself.
INHERITED = {"get_metadata_routing", "get_params", "set_params", "score"}


def shown() -> set[str]:
    """The last part of every name that has an entry, and modules by the names of their functions."""
    names = re.findall(r"^::: ([\w.]+)", PYTHON, re.MULTILINE)
    return {name.rpartition(".")[2] for name in names} | {part for name in names for part in name.split(".")[1:-1]}


@pytest.mark.parametrize("name", sorted(set(ceql.__all__) - {"__version__"}))
def test_a_public_name_has_an_entry(name):
    assert name in shown()


@pytest.mark.parametrize("name", [name for name in ceql.__all__ if hasattr(getattr(ceql, name), "fit")])
def test_every_member_of_a_regressor_has_an_entry(name):
    entry = re.search(rf"^::: [\w.]+\.{name}\n(?:    .*\n)*?      members: \[(.+)\]$", PYTHON, re.MULTILINE)
    assert entry is not None
    public = {member for member in dir(getattr(ceql, name)) if not member.startswith("_")}
    own = {member for member in public - INHERITED if not re.fullmatch(r"set_\w+_request", member)}
    assert own - set(entry[1].split(", ")) == set()


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_a_command_is_explained(name):
    table = TERMINAL.split("\n## ")[0]
    assert re.search(rf"`ceql {re.escape(name)}[ `]", table)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_option_of_a_command_is_on_the_page(name):
    page = (DOCS / "options.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    named = {
        option
        for parameter in cli.commands[name].params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }
    assert {option for option in named if option not in section} == set(), REMEDY


def test_the_page_of_options_is_what_help_prints(tmp_path):
    made = tmp_path / "options.md"  # in a process of its own: click remembers how a command was asked for help first
    subprocess.run([sys.executable, str(ROOT / "tools" / "options_page.py"), str(made)], check=True)
    assert (DOCS / "options.md").read_text(encoding="utf-8") == made.read_text(encoding="utf-8"), REMEDY
