"""Commands and choices that answer a misspelt word with the nearest one; click does so for options by itself."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import click


def _hint(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


class SuggestingGroup(click.Group):
    """A group that answers a misspelt command with the nearest one."""

    def resolve_command(self, ctx, args):
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(error.message + _hint(args[0], self.list_commands(ctx)), ctx) from None


class SuggestingChoice(click.Choice):
    """One of several words; a misspelt one is answered with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            hint = _hint(str(value), [str(choice) for choice in self.choices])
            raise click.BadParameter(error.message + hint, ctx, param) from None
