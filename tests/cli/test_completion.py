"""What a shell offers when the tab key is pressed, by click's own completion."""

import os
import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete, get_completion_class

from ceql.__main__ import cli

COMMANDS = sorted(cli.commands)


def offered(arguments: list[str], begun: str) -> list[str]:
    return [item.value for item in ShellComplete(cli, {}, "ceql", "_CEQL_COMPLETE").get_completions(arguments, begun)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_each_of_its_options_is_offered(name: str) -> None:
    assert name in offered([], name[:2])
    command = cli.commands[name]
    if isinstance(command, click.Group):
        return
    options = [word for option in command.params for word in option.opts if word.startswith("--")]
    assert set(options) <= set(offered([name], "--"))


def test_values_of_a_choice_are_offered() -> None:
    assert {"best", "cv"} <= set(offered(["fit", "data.csv", "--select"], ""))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_click_knows_the_shells_of_the_documents(shell: str) -> None:
    assert get_completion_class(shell) is not None


def test_the_command_answers_a_shell() -> None:
    asked = {"_CEQL_COMPLETE": "zsh_complete", "COMP_WORDS": "ceql expo", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", "from ceql.__main__ import main; main()"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert "export" in done.stdout.splitlines()
    assert done.stderr == ""
