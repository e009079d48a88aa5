"""Which columns of a wide table a search looks at: memory and time of its steps grow with their number, some with its
square."""

from __future__ import annotations

from dataclasses import replace

from ceql.data.dataset import Dataset
from ceql.search.guesses import read_guess
from ceql.search.settings import Settings
from ceql.transforms import promising


def narrowed(data: Dataset, settings: Settings) -> Dataset:
    """The table with the columns that promise most, and those that the user has named; all of them, if not too many."""
    policy = settings.search.narrowing
    if len(data.names) <= policy.widest or data.is_constant or settings.template is not None:
        return data
    few = data.thinned(policy.rows)
    named = _named_columns(data, settings)
    most = max(policy.kept - len(named), 1)
    chosen = named | {data.names[k] for k in promising(few.x, few.y, most, settings.search.transforms)}
    columns = [k for k, name in enumerate(data.names) if name in chosen] or [0]  # where none varies, any will do
    return replace(data, x=data.x[:, columns], names=tuple(data.names[k] for k in columns))


def _named_columns(data: Dataset, settings: Settings) -> set[str]:
    """Those that constraints ask for and those of the guesses."""
    guesses = (read_guess(text, data.names)[0] for text in settings.guesses)
    in_guesses = {symbol.name for guess in guesses for symbol in guess.free_symbols}
    shaped = (name for shape in settings.constraints.asked for name in shape.names)
    return {*settings.constraints.required, *shaped, *in_guesses.intersection(data.names)}
