"""Commands and choices that suggest the nearest word for a misspelt one; click does this only for options."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import click


def _hint(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


class SuggestingGroup(click.Group):
    """A group of commands that suggests the nearest one for a misspelt name."""

    def resolve_command(self, ctx, args):
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(error.message + _hint(args[0], self.list_commands(ctx)), ctx) from None


class SuggestingChoice(click.Choice):
    """A choice among words that suggests the nearest one for a misspelt word."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            hint = _hint(str(value), [str(choice) for choice in self.choices])
            raise click.BadParameter(error.message + hint, ctx, param) from None
