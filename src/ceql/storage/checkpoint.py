"""The state of a search on disk: all it needs to continue later as if nothing had happened, in one versioned file.

The file is in NumPy's npz format: a few arrays and a JSON header stored as bytes, both made from the state by
`serialise`. Nothing in it is run or unpickled. A file has a few hundred kilobytes.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ceql import __version__
from ceql.data import content
from ceql.data.content import ContentError
from ceql.errors import CeqlError
from ceql.expression import parse_formula
from ceql.expression.text.write import write_formula
from ceql.formula import Formula, make_symbols
from ceql.search.outcome import Outcome
from ceql.search.state import SearchState
from ceql.storage.files import beside
from ceql.storage.fingerprint import Fingerprint
from ceql.storage.named_laws import read_law, written_law
from ceql.storage.serialise import BITS, PLACES, VALUES, Codec, Codecs, Reader, Writer
from ceql.storage.stored_arrays import UNREADABLE, StoredArrays, opened

FORMAT, VERSION = "ceql-checkpoint", 8
_HEADER = "header"
_LONGEST_HEADER = 2**26  # bytes; names of columns and formulas are most of it
_LONGEST_FORMULAS = 2_000_000  # characters of all formulas together; reading more would take minutes


class CheckpointError(CeqlError):
    """A checkpoint cannot be read or written, or belongs to another search."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a search saves its state, and how often.

    If the file exists, the search continues from it. The file is kept after the search, so that the same fit gives the
    result at once, or continues with a higher time limit.
    """

    path: str | Path
    every: float = 5.0  # seconds between two writes; more if writing takes long
    share: float = 0.01  # of the time that may be spent on writing
    resume: bool = True  # False: start from the beginning, and replace the file once the search is further than it
    # True: the user did not ask for this file, so it is no error if it cannot be written. When the search is done, the
    # discovery names the file as its `leftover`; the caller removes it once the result is saved.
    transient: bool = False

    def of_each(self, targets: Sequence[str]) -> tuple[Checkpoint, ...]:
        """A checkpoint for each target, such as run-lift.ckpt and run-drag.ckpt for run.ckpt; itself for one target."""
        if len(targets) == 1:
            return (self,)
        return tuple(replace(self, path=beside(self.path, name)) for name in targets)


# ---- to bytes -----------------------------------------------------------------------------------------------------


def to_bytes(state: SearchState, fingerprint: Fingerprint) -> bytes:
    writer = Writer(_codecs(()))
    tree = writer.write(state)
    header = {"format": FORMAT, "version": VERSION, "ceql": __version__, "fingerprint": fingerprint, "state": tree}
    arrays = {_HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8), **writer.arrays()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # pyright: ignore[reportArgumentType] - one of its options has the type of a flag
    return buffer.getvalue()


def _codecs(names: tuple[str, ...]) -> Codecs:
    """The codecs that write formulas as text and read them over columns with these names."""
    return {Formula: Codec(_written, partial(_read_formula, names))}


def _written(formula: Formula) -> dict[str, Any]:
    text, costs = write_formula(formula.expression), {name: int(cost) for name, cost in formula.costs.items()}
    plain = {"expression": text, "loss": formula.loss, "constants": formula.constants, "costs": costs}
    return {**plain, "law": written_law(formula.law)}


def _read_formula(names: tuple[str, ...], row: dict[str, Any]) -> Formula:
    expression = parse_formula(content.text(row, "expression"), names, as_written=True)
    costs = {str(name): content.whole(row["costs"], name) for name in content.field(row, "costs")}
    loss = content.number(row, "loss", least=0.0, infinite=True)
    return Formula(expression, make_symbols(names), loss, content.pairs(row, "constants"), costs, read_law(row))


# ---- and back -----------------------------------------------------------------------------------------------------


def read_checkpoint(path: str | Path) -> tuple[SearchState, Fingerprint]:
    """The state and the fingerprint in a checkpoint; a CheckpointError for any other file. The arrays are read only if
    the header is valid.
    """
    remedy = "Delete it to start from the beginning, or name another file."
    try:
        with opened(path) as arrays:
            header = _header(arrays)
            if header is None or header.get("format") != FORMAT:
                raise CheckpointError(f"{path} is not a checkpoint of ceql. {remedy}")
            _require_own_version(path, header, remedy)
            try:
                return _state(header, arrays), dict(header["fingerprint"])
            except UNREADABLE as error:
                raise damaged(path, error) from error
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    except CheckpointError:
        raise
    except UNREADABLE:
        raise CheckpointError(f"{path} is not a checkpoint of ceql, or only part of one. {remedy}") from None


def may_go_on(path: str | Path, outcome: Outcome) -> bool:
    """Whether a search with this outcome can be continued from the file; False if it is not a checkpoint.

    An interrupted search counts even if the search itself was done, since the choice of the formula may have been cut
    off.
    """
    try:
        ending = read_checkpoint(path)[0].ending
    except CheckpointError:
        return False
    return outcome is Outcome.INTERRUPTED or ending is None or ending.stands_until < math.inf


def _header(arrays: StoredArrays) -> dict[str, Any] | None:
    text = arrays.of(_HEADER, np.uint8)
    if len(text) > _LONGEST_HEADER:
        return None
    header = json.loads(text.tobytes())
    return header if isinstance(header, dict) else None


def _require_own_version(path: str | Path, header: dict[str, Any], remedy: str) -> None:
    if header.get("version") != VERSION:
        raise CheckpointError(
            f"{path} has version {header.get('version')!r} of the format, but this ceql reads {VERSION}: use the "
            f"ceql that wrote it ({header.get('ceql')}). {remedy}"
        )
    if header.get("ceql") != __version__:
        raise CheckpointError(
            f"{path} was written by ceql {header.get('ceql')}, but this is ceql {__version__}, whose search may run "
            f"differently: continue with the same version. {remedy}"
        )


def damaged(path: str | Path, error: BaseException) -> CheckpointError:
    reason = str(error) if isinstance(error, CeqlError | ContentError) else f"{type(error).__name__}: {error}"
    return CheckpointError(
        f"{path} is damaged ({reason}). Delete it to start from the beginning, or name another file."
    )


def _state(header: dict[str, Any], arrays: StoredArrays) -> SearchState:
    tree = content.field(header, "state")
    if sum(map(len, _formula_texts(tree))) > _LONGEST_FORMULAS:
        raise ContentError("its formulas are too long")
    kinds = {BITS: np.uint8, PLACES: np.int64, VALUES: np.float64}
    stored = {name: arrays.of(name, kind) for name, kind in kinds.items()}
    reader = Reader(_codecs(content.names(header["fingerprint"], "columns")), stored)
    state = reader.read(SearchState, tree)
    reader.finish()
    return state


def _formula_texts(tree: Any) -> Iterator[str]:
    """The texts of all formulas in a state; their total length is checked, since long ones take long to read."""
    if isinstance(tree, dict) and "expression" in tree:
        yield content.text(tree, "expression")
    elif isinstance(tree, dict | list):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _formula_texts(part)
