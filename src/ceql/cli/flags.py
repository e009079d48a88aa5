"""What the library says of its parameters, said of a command's flags: in errors, warnings and endings alike."""

from __future__ import annotations

from typing import Any

import click

from ceql.cli.did_you_mean import SuggestingGroup
from ceql.cli.project_file import key_of
from ceql.errors import CeqlError, in_terms_of, in_words

# Options that are called something else in Python.
IN_PYTHON = {"choice": "model_selection", "seed": "random_state", "jobs": "n_jobs", "weights": "sample_weight"}
# What click calls the kinds of numbers, the longer ones first.
_KINDS = {
    "a valid float range": "a number",
    "a valid integer range": "a whole number",
    "a valid float": "a number",
    "a valid integer": "a whole number",
}


def flags_of(*commands: click.Command) -> dict[str, str]:
    """The flags of these commands by the names of the parameters in Python; those of a later command prevail."""
    options = [param for command in commands for param in command.params if isinstance(param, click.Option)]
    return {
        name: f"--{key_of(option).replace('_', '-')}"
        for option in options
        for name in (str(option.name), key_of(option), IN_PYTHON.get(str(option.name), ""))
        if name
    }


class FlagSpeakingGroup(SuggestingGroup):
    """A group whose commands name their flags in errors and warnings. Those that are `about_a_fit` may name its too."""

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
        """The sentence as the command of this name says it."""
        command = self.commands.get(name or "")
        if command is None:
            return sentence
        before = (self.fit,) if self.fit is not None and command in self.about_a_fit else ()
        return in_terms_of(sentence, flags_of(*before, command))
