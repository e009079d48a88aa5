"""The exceptions and warnings of ceql. Each message names the problem and what to do about it."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

# A word of a sentence, perhaps a setting with its value. Text in quotes or after "Known:" was written by users, and
# calls are Python: these are matched as a whole and left unchanged.
_WORD = re.compile(
    r"""(?<!\w)'[^']*'(?!\w) | "[^"]*" | \b\w+\([^()]*\) | \bKnown:.*
    | (?<![\w./',-]) (?P<name>[a-z]\w*) (?![\w/]|\.\w)
      (?: \[(?P<key>'[^']*')\] | (?P<sign>=) (?:(?P<value>'[^']*'|"[^"]*"|\{[^{}]*\}|\d+|\.\.\.)|(?!\w)) )?""",
    re.VERBOSE,
)
_PAIR = re.compile(r"'([^']*)': '([^']*)'")


class CeqlError(ValueError):
    """Base class of every error that ceql raises on purpose."""


class InputError(CeqlError):
    """The data or a setting cannot be used as given."""


class NotNumericError(InputError, TypeError):
    """A value that cannot be turned into a number."""


class UnknownNameError(CeqlError):
    """A name (operator, recipe, problem, option) that does not exist."""


class MissingExtraError(CeqlError, ImportError):
    """An optional dependency is not installed."""


class WorkersLostError(CeqlError):
    """The processes or machines that should do the work are missing or keep dying."""


class CeqlWarning(UserWarning):
    """Something the user should know about a result that was still produced."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Return an error that suggests the nearest known name and lists them all."""
    names = sorted(known)
    return UnknownNameError(f"There is no {kind} {name!r}.{nearest(name, names)} Known: {', '.join(names)}.")


def nearest(name: object, known: Iterable[str]) -> str:
    """Return a question that suggests the nearest known name; an empty text if none is near."""
    folded = {known_name.casefold(): known_name for known_name in known}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def no_file(path: Path) -> str:
    """Return a sentence saying that the file does not exist, with a file of similar name in its folder, if any."""
    folder = path.parent
    beside = [one.name for one in folder.iterdir() if one.is_file()] if folder.is_dir() else []
    return f"There is no file {path}.{nearest(path.name, beside)}"


def why_unreadable(path: str | Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return no_file(Path(path))
    return f"{path} cannot be read: {error.strerror or error}."


def in_terms_of(sentence: str, called: Mapping[str, str]) -> str:
    """Return a sentence about parameters with the names they have elsewhere, such as command-line options.

    A parameter is recognised by an underscore in its name or an equals sign after it: time_limit, loss='huber', sigma=.
    """

    def renamed(word: re.Match[str]) -> str:
        name, value = word["name"], word["value"] or word["key"]
        if name not in called or not ("_" in name or word["sign"]):
            return word[0]
        return called[name] + (f" {_unquoted(value)}" if value and value != "..." else "")

    told = _WORD.sub(renamed, sentence)
    begins_anew = (first := _WORD.match(sentence)) is not None and renamed(first) != first[0]
    return told[:1].upper() + told[1:] if begins_anew else told  # a column name at the beginning stays as it is


def _unquoted(value: str) -> str:
    pairs = _PAIR.findall(value)
    return shlex.quote(",".join(f"{name}={part}" for name, part in pairs) if pairs else value.strip("'\""))


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """Return an error that names the command to install what is missing."""
    return MissingExtraError(f"{purpose} needs {package}, which is not installed: pip install 'ceql[{extra}]'")


def in_words(error: Exception) -> str:
    """Return the message of an error for the user; those of the system without their error number."""
    if not isinstance(error, OSError) or isinstance(error, CeqlError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
