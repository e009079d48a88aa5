"""From files to `Measurements`: finds files, reads and labels them, and brings them onto one grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ceql.errors import InputError
from ceql.frf.condition_table import read_condition_table
from ceql.frf.curve import ReadOptions, Recording
from ceql.frf.formats import delimited, matlab, touchstone, uff
from ceql.frf.formats.lab_text import holds_a_table
from ceql.frf.grouping import gathered, with_roles
from ceql.frf.joining import Grid, Labelled, assemble
from ceql.frf.labels import Label, by_name, by_pattern, natural_order, parse_words
from ceql.frf.measurements import Measurements
from ceql.frf.modal.sets import Survey

_FORMATS: dict[str, Callable[[Path, ReadOptions], list[Recording]]] = {
    ending: module.read for module in (delimited, uff, touchstone, matlab) for ending in module.ENDINGS
}

_REMEDIES = {
    ".xlsx": "Save the sheet with the curve as CSV",
    ".xls": "Save the sheet with the curve as CSV",
    ".npz": "Write it with scipy.io.savemat(NAME, {'f': f, 'H': H}), one column of H per point",
    ".npy": "Write it with scipy.io.savemat(NAME, {'f': f, 'H': H}), one column of H per point",
    ".h5": "Write it as MATLAB's -v7: scipy.io.savemat(NAME, {'f': f, 'H': H})",
    ".svd": "Export it from the scanning software as a universal file (58) or as text",
}


@dataclass(frozen=True)
class Source:
    """Where conditions come from (names, a pattern or a table), and how grids and bands are treated."""

    pattern: str = ""
    words: Mapping[str, float] = field(default_factory=lambda: parse_words(()))
    table: Path | None = None
    grid: Grid = Grid.REFUSE
    band: tuple[float, float] | None = None
    numbers: str = "auto"  # whether files of one condition are points or repetitions; auto: as their headers state


@dataclass(frozen=True, eq=False)
class Reading:
    """The measurements, and sentences about what was assumed to obtain them."""

    measurements: Measurements
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SurveyReading:
    """The sets of points, and sentences about what was assumed to obtain them."""

    survey: Survey
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Recordings:
    """All curves of the files with their labels, before they are combined."""

    labelled: tuple[Labelled, ...]
    notes: tuple[str, ...]
    source: Source
    options: ReadOptions

    @property
    def have_phases(self) -> bool:
        return all(recording.phase is not None for recording, _ in self.labelled)

    def one_point(self) -> Reading:
        """The curves as measurements of one point on one grid."""
        labelled = with_roles(self.labelled, self.source.numbers)
        measurements, more = assemble(labelled, self.options, self.source.grid, self.source.band)
        return Reading(measurements, (*self.notes, *more))

    def survey(self) -> SurveyReading:
        """The curves as sets of points measured together."""
        source = self.source
        found, more = gathered(self.labelled, self.options, source.numbers, source.grid, source.band)
        return SurveyReading(found, (*self.notes, *more))


def read(paths: Sequence[Path], source: Source | None = None, options: ReadOptions | None = None) -> Reading:
    """Reads files, or all known files in folders and their subfolders, as curves of one point."""
    return read_recordings(paths, source, options).one_point()


def read_survey(
    paths: Sequence[Path], source: Source | None = None, options: ReadOptions | None = None
) -> SurveyReading:
    """Reads files, or all known files in folders and their subfolders, as sets of points for a modal analysis."""
    return read_recordings(paths, source, options).survey()


def read_recordings(
    paths: Sequence[Path], source: Source | None = None, options: ReadOptions | None = None
) -> Recordings:
    source, options = source or Source(), options or ReadOptions()
    files = find_files(paths, source.table)
    top = _common_folder(paths, files)
    names = [path.relative_to(top).as_posix() for path in files]
    found = [read_file(path, options) for path in files]
    labels, notes = _labels(names, top, source, found)
    labelled = [(recording, label) for part, label in zip(found, labels, strict=True) for recording in part]
    told = dict.fromkeys(recording.note for recording, _ in labelled if recording.note)
    return Recordings(tuple(labelled), (*notes, *told), source, options)


def read_file(path: Path, options: ReadOptions) -> list[Recording]:
    """All curves of one file; a file with an unknown extension is read if it is a text table."""
    reader = _FORMATS.get(path.suffix.lower())
    if reader is not None:
        return reader(path, options)
    if holds_a_table(path, options.encoding):
        return delimited.read(path, options)
    remedy = _REMEDIES.get(path.suffix.lower(), "Export it as a universal file (58), as text or as MATLAB's -v7")
    raise InputError(f"{path} has the ending {path.suffix!r}; known are {', '.join(_FORMATS)}. {remedy}.")


def find_files(paths: Sequence[Path], table: Path | None = None) -> list[Path]:
    """The files to read, in natural order, without the table of conditions."""
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


def _are_points(names: Sequence[str], source: Source, found: Sequence[Sequence[Recording]]) -> bool:
    """Whether files in one folder are points of a structure, so that their numbers are not conditions."""
    if any("/" in name for name in names) or len(names) < 2:
        return False
    if source.numbers == "points":
        return True
    headers = [recording.point for part in found for recording in part]
    return source.numbers == "auto" and all(headers) and len(set(headers)) == len(headers)


def _labels(
    names: Sequence[str], top: Path, source: Source, found: Sequence[Sequence[Recording]]
) -> tuple[list[Label], list[str]]:
    if source.pattern:
        labels, notes = by_pattern(names, source.pattern, source.words), []
    elif all(recording.conditions for part in found for recording in part):
        labels, notes = [Label()] * len(names), []  # the files contain the conditions
    elif source.table is None and _are_points(names, source, found):
        labels, notes = [Label(repetition=None, point=PurePosixPath(name).stem) for name in names], []
    else:
        try:
            labels, notes = by_name(names, top.name, source.words)
        except InputError:
            if source.table is None:  # with a table, names need not contain the condition
                raise
            labels, notes = [Label()] * len(names), []
    if source.table is not None:
        table = read_condition_table(source.table)
        labels = [table.label(name, label) for name, label in zip(names, labels, strict=True)]
        notes = notes if table.keys == ("repetition",) else []
    return labels, notes
