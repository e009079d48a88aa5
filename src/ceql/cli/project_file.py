"""The project file of `ceql fit`: the settings of a run as TOML, to be repeated and edited by hand."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ceql import __version__
from ceql.cli.table_options import listed
from ceql.errors import CeqlError, unknown_name, why_unreadable

HEADERS = "headers"  # in place of units: read them from the names of the columns
RECORD = "record"  # the table with the version and the digest of the data
_LISTS = ("target", "features", "exclude", "names", "guess", "missing_mark")  # a single text counts as a list of one
_TABLES = ("constraints", "template", "policy", "prices")  # which options can express only in part, or not at all
_PATHS = ("table", "save", "report", "json", "checkpoint")
_HERE_ONLY = ("config", "write_config", "resume", "no_checkpoint", "parameter", "constraint", "quiet", "struck", "help")
_SHOWN = 60  # characters of a wrong value
_SETTING = re.compile(r"\s*[A-Za-z_.]+\s*=")  # does not match a sentence such as f(x=0) = 1


class ProjectFileError(CeqlError):
    """A project file cannot be read."""


def key_of(param: click.Parameter) -> str:
    """The name of a command's parameter in the file: its first long option without dashes."""
    long = [option for option in param.opts if option.startswith("--")]
    return long[0].removeprefix("--").replace("-", "_") if long else str(param.name)


def known_keys(command: click.Command) -> dict[str, click.Parameter]:
    """The parameters that a project file may set, except those that are tables there."""
    return {key: param for param in command.params if (key := key_of(param)) not in (*_HERE_ONLY, *_TABLES)}


def read_project(path: Path, ctx: click.Context) -> dict[str, Any]:
    """The settings in a project file by the names of the command's parameters, each checked; paths are relative to the
    file.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProjectFileError(why_unreadable(path, error)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProjectFileError(f"{path} is not valid TOML: {error}.") from None
    keys = known_keys(ctx.command)
    found: dict[str, Any] = {}
    for key, value in content.items():
        if key in _TABLES or key == RECORD:
            found[key] = _table(path, key, value)
        elif key in keys:
            found[str(keys[key].name)] = _checked(path, key, value, keys[key], ctx)
        else:
            raise ProjectFileError(f"{path}: {unknown_name('setting', key, [*keys, *_TABLES])}")
    return found


def _table(path: Path, key: str, value: Any) -> dict[str, Any]:
    if key == "template" and isinstance(value, str):
        return {"formula": value}
    if not isinstance(value, dict):
        also = " or a text" if key == "template" else ""
        raise ProjectFileError(f"{path}: {key!r} is {_shown(value)}; it must be a table{also}, [{key}].")
    return value


def _checked(path: Path, key: str, value: Any, param: click.Parameter, ctx: click.Context) -> Any:
    if key == "sigma_x":
        if not isinstance(value, dict) or any(isinstance(part, bool | dict | list) for part in value.values()):
            raise ProjectFileError(f"{path}: 'sigma_x' is {_shown(value)}; it must be a table such as {{t = 0.1}}.")
        return value
    if key == "units":
        if value != HEADERS and not _is_texts(value):
            raise ProjectFileError(f"{path}: 'units' is {_shown(value)}; it must be a table such as {{t = \"s\"}}.")
        return value
    if key == "constants" and _is_texts(value):
        return value
    if key in _LISTS or (key == "operators" and not isinstance(value, str)):
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ProjectFileError(f"{path}: {key!r} is {_shown(value)}; it must be a list of strings.")
        return texts
    kind, words = _kind(param)
    is_right = isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    if not is_right:
        raise ProjectFileError(f"{path}: {key!r} is {_shown(value)}; it must be {words}.")
    try:
        value = param.type.convert(value, param, ctx)
    except click.BadParameter as error:
        raise ProjectFileError(f"{path}: {key!r} is {_shown(value)}: {error.message}") from None
    return path.parent / value if key in _PATHS and str(value) != "-" else value


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())


def units_of_columns(given: Sequence[str]) -> dict[str, str] | str:
    """The units given as NAME=UNIT, possibly several separated by commas, or 'headers'."""
    found: dict[str, str] = {}
    for text in (part for option in given for part in listed(option)):
        name, _, unit = (part.strip() for part in text.rpartition("="))
        if text == HEADERS and len(given) == 1:
            return HEADERS
        if not name or not unit:
            raise click.UsageError(f"--units takes NAME=UNIT, such as distance=mm, or 'headers', not {text!r}.")
        found[name] = unit
    return found


def _kind(param: click.Parameter) -> tuple[type | tuple[type, ...], str]:
    if isinstance(param, click.Option) and param.is_flag:
        return bool, "true or false"
    if isinstance(param.type, click.types.IntParamType):
        return int, "a whole number"
    if isinstance(param.type, click.types.FloatParamType):
        return (int, float), "a number"
    return str, "a text"


def errors_of_inputs(given: Sequence[str]) -> dict[str, str | float]:
    """The errors given as NAME=ERROR, where the error is a column or a number."""
    found: dict[str, str | float] = {}
    for text in given:
        name, _, error = (part.strip() for part in text.rpartition("="))
        if not name or not error:
            raise click.UsageError(f"--sigma-x takes NAME=ERROR, such as t=0.1 or t=error_of_t, not {text!r}.")
        try:
            found[name] = float(error)
        except ValueError:
            found[name] = error
    return found


def constraint_lines(lines: Sequence[str]) -> dict[str, Any]:
    """The constraints from --constraint: each is NAME = VALUE in TOML, or a sentence about the shape of the formula."""
    settings = [line for line in lines if _SETTING.match(line)]
    sentences = [line for line in lines if not _SETTING.match(line)]
    found = toml_lines(settings, "--constraint")
    own = found.get("shapes", [])
    return found if not sentences else {**found, "shapes": [*([own] if isinstance(own, str) else own), *sentences]}


def toml_lines(lines: Sequence[str], option: str) -> dict[str, Any]:
    """The values of an option that is given as NAME = VALUE in TOML, possibly several times."""
    found: dict[str, Any] = {}
    for line in lines:
        try:
            found |= tomllib.loads(line)
        except tomllib.TOMLDecodeError as error:
            raise click.UsageError(
                f"{option} {line!r} is not of the form NAME = VALUE in TOML, such as 'without = [\"sin\"]': {error}."
            ) from None
    return found


# ---- writing ------------------------------------------------------------------------------------------------------


def as_project(options: Mapping[str, Any], ctx: click.Context, place: Path) -> str:
    """The run as text for a project file at `place`: settings not at their default, the seed, the time limit, and the
    record.
    """
    settings: dict[str, Any] = {}
    for key, param in known_keys(ctx.command).items():
        value = options[str(param.name)]
        default: Any = param.get_default(ctx)
        if key in ("features", "exclude", "names"):
            default = listed(default)
        default = {} if key in ("sigma_x", "units") else default
        if key in ("seed", "time_limit") or (value != default and value not in (None, (), [])):
            settings[key] = _relative(value, place) if key in _PATHS else value
    tables = {key: options[key] for key in _TABLES if options.get(key)}
    record = {"ceql": __version__, "table_sha256": digest(options["table"])}
    lines = ["# A run of ceql. To repeat it: ceql fit --config " + place.name]
    lines += [f"{key} = {_written(value)}" for key, value in settings.items()]
    for name, table in {**tables, RECORD: record}.items():
        lines += ["", *_section(name, table)]
    return "\n".join(lines) + "\n"


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def changed_since(record: Mapping[str, Any], table: Path) -> Iterator[str]:
    """Sentences about what has changed since the project file was written."""
    if record.get("ceql", __version__) != __version__:
        yield f"the run was made with ceql {record['ceql']}, and this is {__version__}: the result may differ."
    if record.get("table_sha256") not in (None, digest(table)):
        yield f"{table} has changed since that run."


def _relative(path: Path, place: Path) -> str:
    if str(path) == "-":
        return "-"
    return Path(os.path.relpath(path, place.parent)).as_posix()


def _section(name: str, table: Mapping[str, Any]) -> list[str]:
    return [f"[{name}]", *(f"{_key(key)} = {_written(value)}" for key, value in table.items() if value is not None)]


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        parts = (f"{_key(key)} = {_written(part)}" for key, part in value.items() if part is not None)
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_written, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _written(name)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
