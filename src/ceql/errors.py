"""The exceptions and warnings of ceql. Each message names the problem and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CeqlError(ValueError):
    """Base of every error that ceql raises on purpose."""


class InputError(CeqlError):
    """The data or a setting cannot be used as given."""


class NotNumericError(InputError, TypeError):
    """A value that cannot be turned into a number."""


class UnknownNameError(CeqlError):
    """A name (operator, recipe, problem, option) that does not exist."""


class MissingExtraError(CeqlError, ImportError):
    """An optional dependency is not installed."""


class WorkersLostError(CeqlError):
    """The processes or machines that were to do the work are not there or keep dying."""


class CeqlWarning(UserWarning):
    """Something the user should know about a result that was still produced."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """An error that offers the nearest known name and lists them all."""
    names = sorted(known)
    return UnknownNameError(f"There is no {kind} {name!r}.{nearest(name, names)} Known: {', '.join(names)}.")


def nearest(name: object, known: Iterable[str]) -> str:
    """A question that offers the nearest known name; nothing where none is near."""
    folded = {known_name.casefold(): known_name for known_name in known}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """An error that says which command installs what is missing."""
    return MissingExtraError(f"{purpose} needs {package}, which is not installed: pip install 'ceql[{extra}]'")


def in_words(error: Exception) -> str:
    """The sentence for the user: what the system says of a file, without its number."""
    if not isinstance(error, OSError) or isinstance(error, CeqlError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
