"""Rewords messages of the library that name parameters, so that they name a command's flags."""

from __future__ import annotations

from typing import Any

import click

from ceql.cli.did_you_mean import SuggestingGroup
from ceql.cli.project_file import key_of
from ceql.errors import CeqlError, in_terms_of, in_words

# Options that have another name in Python.
IN_PYTHON = {"choice": "model_selection", "seed": "random_state", "jobs": "n_jobs", "weights": "sample_weight"}
# How click names kinds of numbers, longer names first.
_KINDS = {
    "a valid float range": "a number",
    "a valid integer range": "a whole number",
    "a valid float": "a number",
    "a valid integer": "a whole number",
}


def flags_of(*commands: click.Command) -> dict[str, str]:
    """The flags of these commands by their parameter names in Python; later commands take precedence."""
    options = [param for command in commands for param in command.params if isinstance(param, click.Option)]
    return {
        name: f"--{key_of(option).replace('_', '-')}"
        for option in options
        for name in (str(option.name), key_of(option), IN_PYTHON.get(str(option.name), ""))
        if name
    }


class FlagSpeakingGroup(SuggestingGroup):
    """A group whose errors and warnings name flags. Those of commands in `about_a_fit` may also name flags of `fit`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fit: click.Command | None = None
        self.about_a_fit: tuple[click.Command, ...] = ()

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.BadParameter as error:
            told = error.message
            for kind, words in _KINDS.items():
                told = told.replace(f"is not {kind}.", f"is not {words}.")
            if told == error.message:
                raise
            raise click.BadParameter(told, error.ctx, error.param, error.param_hint) from None
        except CeqlError as error:
            told = self.in_flags(in_words(error), ctx.invoked_subcommand)
            if told == in_words(error):
                raise
            raise CeqlError(told) from error

    def in_flags(self, sentence: str, name: str | None) -> str:
        """The sentence with parameters replaced by the flags of the command with this name."""
        command = self.commands.get(name or "")
        if command is None:
            return sentence
        before = (self.fit,) if self.fit is not None and command in self.about_a_fit else ()
        return in_terms_of(sentence, flags_of(*before, command))
