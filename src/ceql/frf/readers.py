"""From files to `Measurements`: finds the files, reads them, labels them and brings them onto one grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ceql.errors import InputError
from ceql.frf.condition_table import read_condition_table
from ceql.frf.curve import ReadOptions, Recording
from ceql.frf.formats import delimited, matlab, touchstone, uff
from ceql.frf.joining import Grid, assemble
from ceql.frf.labels import Label, by_name, by_pattern, natural_order, parse_words
from ceql.frf.measurements import Measurements

_FORMATS: dict[str, Callable[[Path, ReadOptions], list[Recording]]] = {
    ending: module.read for module in (delimited, uff, touchstone, matlab) for ending in module.ENDINGS
}


@dataclass(frozen=True)
class Source:
    """Where the conditions come from (names, a pattern or a table) and how grids and bands are treated."""

    pattern: str = ""
    words: Mapping[str, float] = field(default_factory=lambda: parse_words(()))
    table: Path | None = None
    grid: Grid = Grid.REFUSE
    band: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Reading:
    """The measurements and, in sentences, what had to be assumed to get them."""

    measurements: Measurements
    notes: tuple[str, ...]


def read(paths: Sequence[Path], source: Source | None = None, options: ReadOptions | None = None) -> Reading:
    """Reads files, or all known files in folders and their subfolders."""
    source, options = source or Source(), options or ReadOptions()
    files = find_files(paths, source.table)
    top = _common_folder(paths, files)
    names = [path.relative_to(top).as_posix() for path in files]
    found = [read_file(path, options) for path in files]
    labels, notes = _labels(names, top, source, found)
    labelled = [(recording, label) for part, label in zip(found, labels, strict=True) for recording in part]
    measurements, more = assemble(labelled, options, source.grid, source.band)
    return Reading(measurements, (*notes, *more))


def read_file(path: Path, options: ReadOptions) -> list[Recording]:
    """All curves of one file."""
    reader = _FORMATS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path} has the ending {path.suffix!r}; known are {', '.join(_FORMATS)}.")
    return reader(path, options)


def find_files(paths: Sequence[Path], table: Path | None = None) -> list[Path]:
    """The files to read, in their natural order; a table of conditions among them is no measurement."""
    if not paths:
        raise InputError("Give a folder or files to read.")
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [p for p in path.rglob("*") if p.suffix.lower() in _FORMATS and p.is_file()]
            if not inside:
                raise InputError(f"In {path} there is no file with one of the endings {', '.join(_FORMATS)}.")
            found.extend(inside)
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"There is no file or folder {path}.")
    resolved = {path.absolute() for path in found} - ({table.absolute()} if table else set())
    return sorted(resolved, key=lambda path: natural_order(path.as_posix()))


def _common_folder(paths: Sequence[Path], files: Sequence[Path]) -> Path:
    if len(paths) == 1 and paths[0].is_dir():
        return paths[0].absolute()
    folders = [path.parent for path in files]
    return next(top for top in (folders[0], *folders[0].parents) if all(f.is_relative_to(top) for f in folders))


def _labels(
    names: Sequence[str], top: Path, source: Source, found: Sequence[Sequence[Recording]]
) -> tuple[list[Label], list[str]]:
    if source.pattern:
        labels, notes = by_pattern(names, source.pattern, source.words), []
    elif all(recording.conditions for part in found for recording in part):
        labels, notes = [Label()] * len(names), []  # the files say it themselves
    else:
        try:
            labels, notes = by_name(names, top.name, source.words)
        except InputError:
            if source.table is None:  # with a table, names need not say the condition
                raise
            labels, notes = [Label()] * len(names), []
    if source.table is not None:
        table = read_condition_table(source.table)
        labels = [table.label(name, label) for name, label in zip(names, labels, strict=True)]
        notes = notes if table.keys == ("repetition",) else []
    return labels, notes
