"""A search on disk: all it needs to go on later as if nothing had happened, in one versioned file.

The file is NumPy's npz: arrays, and a header of JSON beside them as bytes. Nothing in it is run or unpickled. Masks are
packed into bits, and of the parameters only those are kept that are not zero: a file has a few hundred kilobytes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ceql import __version__
from ceql.data import content
from ceql.data.content import ContentError
from ceql.engine.stages import Chunk
from ceql.errors import CeqlError
from ceql.expression import parse_formula
from ceql.expression.text.write import write_formula
from ceql.formula import Formula, make_symbols
from ceql.search.proposals import Archive
from ceql.search.reduction import Contenders, Reduced
from ceql.search.scheduler import TurnsState
from ceql.search.state import Ending, SearchState
from ceql.search.target_search import HuntState
from ceql.storage.files import beside
from ceql.storage.fingerprint import Fingerprint
from ceql.storage.stored_arrays import UNREADABLE, StoredArrays, opened

FORMAT, VERSION = "ceql-checkpoint", 2
_HEADER = "header"
_LONGEST_HEADER = 2**26  # bytes; names of columns and formulas are most of it
_LONGEST_FORMULAS = 2_000_000  # characters of all together; to read more would take minutes
_MOST_EXTRA = 1000  # parameters of a template that belong to no edge; an edge has two at most


class CheckpointError(CeqlError):
    """A checkpoint that cannot be read or written or belongs to another search."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a search keeps its state, and how often.

    If the file is there, the search goes on from it. It stays after the search, so that asking again gives the
    result at once, or goes on with more time.
    """

    path: str | Path
    every: float = 5.0  # seconds; more where writing takes long
    resume: bool = True  # False: the search starts anew and replaces the file once it has come further
    # True: nobody asked for it, so it says nothing beforehand. Of a search that is done the discovery names it as its
    # `leftover`, for whoever has the result in safety to remove.
    transient: bool = False

    def of_each(self, targets: Sequence[str]) -> tuple[Checkpoint, ...]:
        """A file of its own for each of several targets: run-lift.ckpt and run-drag.ckpt for run.ckpt."""
        if len(targets) == 1:
            return (self,)
        return tuple(replace(self, path=beside(self.path, name)) for name in targets)


# ---- to bytes -----------------------------------------------------------------------------------------------------


def to_bytes(state: SearchState, fingerprint: Fingerprint) -> bytes:
    arrays: dict[str, np.ndarray] = {}
    for index, hunt in enumerate(state.turns.hunts):
        arrays.update({f"{index}.{name}": array for name, array in _hunt_arrays(hunt).items()})
    header = {
        "format": FORMAT,
        "version": VERSION,
        "ceql": __version__,
        "fingerprint": fingerprint,
        "seconds": state.seconds,
        "started_before": state.started_before,
        "rounds_beyond_limit": state.rounds_beyond_limit,
        "rounds_with_spare": state.rounds_with_spare,
        "rounds_explained": state.rounds_explained,
        "turns": {"rounds": state.turns.rounds, "direct": state.turns.direct, "aside": state.turns.aside},
        "hunts": [_hunt_header(hunt) for hunt in state.turns.hunts],
        "ending": None if state.ending is None else _ending_header(state.ending),
    }
    buffer = io.BytesIO()
    np.savez(buffer, **{_HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8)}, **arrays)  # pyright: ignore
    return buffer.getvalue()


def _hunt_header(hunt: HuntState) -> dict[str, Any]:
    chunk = hunt.archive.chunk
    return {
        "edges": chunk.edges.shape[1],
        "params": chunk.params.shape[1],
        "starts": hunt.archive.starts,
        "rounds": hunt.archive.rounds,
        "tried_closed_form": hunt.tried_closed_form,
        "quiet": hunt.contenders.quiet,
        "edges_too_many": hunt.edges_too_many,
        "spare": None if hunt.spare is None else _formula_header(hunt.spare),
    }


def _formula_header(formula: Formula) -> dict[str, Any]:
    text, costs = write_formula(formula.expression), {name: int(cost) for name, cost in formula.costs.items()}
    return {"expression": text, "loss": formula.loss, "constants": formula.constants, "costs": costs}


def _ending_header(ending: Ending) -> dict[str, Any]:
    return {**vars(ending), "formulas": [_formula_header(formula) for formula in ending.formulas]}


def _hunt_arrays(hunt: HuntState) -> dict[str, np.ndarray]:
    chunk, founders, known = hunt.archive.chunk, hunt.archive.founders, hunt.contenders.known
    n_edges, n_params = chunk.edges.shape[1], chunk.params.shape[1]
    return {
        "edges": _packed(chunk.edges),
        **_sparse("params", chunk.params),
        "misfit": chunk.misfit,
        "founder_edges": _packed(np.array([edges for edges, _ in founders], bool).reshape(-1, n_edges)),
        **_sparse("founder_params", np.array([params for _, params in founders], float).reshape(-1, n_params)),
        "in_domain": chunk.in_domain,
        "tried": _packed(_masks(hunt.tried, n_edges)),
        "known_edges": _packed(np.array([state.edges for state in known], bool).reshape(-1, n_edges)),
        **_sparse("known_params", np.array([state.params for state in known], float).reshape(-1, n_params)),
        "known_misfit": np.array([state.misfit for state in known], float),
        "reduced": _packed(_masks(hunt.contenders.tried, n_edges)),
    }


def _packed(masks: np.ndarray) -> np.ndarray:
    return np.packbits(masks, axis=1)


def _masks(keys: frozenset[bytes], n_edges: int) -> np.ndarray:
    return np.frombuffer(b"".join(keys), bool).reshape(-1, n_edges)


def _sparse(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """Every bit of them: a negative zero is no zero here."""
    flat = np.ascontiguousarray(values).ravel()
    places = np.flatnonzero(flat.view(np.int64))
    return {f"{name}.places": places, f"{name}.values": flat[places]}


# ---- and back -----------------------------------------------------------------------------------------------------


def read_checkpoint(path: str | Path) -> tuple[SearchState, Fingerprint]:
    """What was written; an error in plain words for anything else. The arrays are read only if the header is ours."""
    remedy = "Delete it to start from the beginning, or name another file."
    try:
        with opened(path) as arrays:
            header = _header(arrays)
            if header is None or header.get("format") != FORMAT:
                raise CheckpointError(f"{path} is no checkpoint of ceql. {remedy}")
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
        raise CheckpointError(f"{path} is no checkpoint of ceql, or only part of one. {remedy}") from None


def _header(arrays: StoredArrays) -> dict[str, Any] | None:
    text = arrays.of(_HEADER, np.uint8)
    if len(text) > _LONGEST_HEADER:
        return None
    header = json.loads(text.tobytes())
    return header if isinstance(header, dict) else None


def _require_own_version(path: str | Path, header: dict[str, Any], remedy: str) -> None:
    if header.get("version") != VERSION:
        raise CheckpointError(
            f"{path} has version {header.get('version')!r} of the format, this ceql reads {VERSION}: use the ceql that "
            f"wrote it ({header.get('ceql')}). {remedy}"
        )
    if header.get("ceql") != __version__:
        raise CheckpointError(
            f"{path} was written by ceql {header.get('ceql')} and this is {__version__}, whose search may take another "
            f"course: go on with the same version. {remedy}"
        )


def damaged(path: str | Path, error: BaseException) -> CheckpointError:
    reason = str(error) if isinstance(error, CeqlError | ContentError) else f"{type(error).__name__}: {error}"
    return CheckpointError(
        f"{path} is damaged ({reason}). Delete it to start from the beginning, or name another file."
    )


def _state(header: dict[str, Any], arrays: StoredArrays) -> SearchState:
    names = content.names(header["fingerprint"], "columns")
    _require_short(header)
    turns = {name: content.whole(content.field(header, "turns"), name) for name in ("rounds", "direct", "aside")}
    hunts = tuple(_hunt(hunt, arrays, f"{k}.", names) for k, hunt in enumerate(content.rows(header, "hunts")))
    ending = content.field(header, "ending")
    return SearchState(
        TurnsState(hunts=hunts, **turns),
        content.whole(header, "started_before"),
        content.whole(header, "rounds_beyond_limit"),
        content.whole(header, "rounds_with_spare"),
        content.whole(header, "rounds_explained"),
        content.number(header, "seconds", least=0.0),
        None if ending is None else _ending(ending, names),
    )


def _require_short(header: dict[str, Any]) -> None:
    """All formulas together: to read long ones takes long."""
    ending = header.get("ending") or {"formulas": []}
    formulas = [*content.rows(ending, "formulas"), *(hunt["spare"] for hunt in header["hunts"] if hunt["spare"])]
    if sum(len(content.text(formula, "expression")) for formula in formulas) > _LONGEST_FORMULAS:
        raise ContentError("its formulas are too long")


def _formula(row: dict[str, Any], names: tuple[str, ...]) -> Formula:
    expression = parse_formula(content.text(row, "expression"), names, as_written=True)
    costs = {str(name): content.whole(row["costs"], name) for name in content.field(row, "costs")}
    loss = content.number(row, "loss", least=0.0, infinite=True)
    return Formula(expression, make_symbols(names), loss, content.pairs(row, "constants"), costs)


def _ending(ending: dict[str, Any], names: tuple[str, ...]) -> Ending:
    return Ending(
        content.text(ending, "outcome"),
        tuple(_formula(row, names) for row in content.rows(ending, "formulas")),
        content.whole(ending, "starts"),
        content.whole(ending, "rows_searched"),
        content.number(ending, "seconds", least=0.0),
        content.number(ending, "stands_until", least=0.0, infinite=True),
    )


def _hunt(hunt: dict[str, Any], arrays: StoredArrays, prefix: str, names: tuple[str, ...]) -> HuntState:
    n_edges, n_params = content.whole(hunt, "edges"), content.whole(hunt, "params")
    if n_params > 2 * n_edges + _MOST_EXTRA:
        raise ContentError(f"'params' is {n_params} beside {n_edges} edges, which no network has")

    def masks(name: str) -> np.ndarray:
        packed = arrays.of(prefix + name, np.uint8, 2)
        if packed.shape[1] != -(-n_edges // 8):
            raise ContentError(f"the array {prefix + name!r} has not {n_edges} edges")
        return np.unpackbits(packed, axis=1, count=n_edges).astype(bool)

    def dense(name: str, rows: int) -> np.ndarray:
        places, values = arrays.of(f"{prefix}{name}.places", np.int64), arrays.of(f"{prefix}{name}.values", np.float64)
        if len(places) and not 0 <= places.min() <= places.max() < rows * n_params:
            raise ContentError(f"the array {prefix + name!r} has values outside its {rows} rows")
        flat = np.zeros(rows * n_params)
        flat[places] = values
        return flat.reshape(rows, n_params)

    def misfits(name: str, rows: int) -> np.ndarray:
        values = arrays.of(prefix + name, np.float64)
        if len(values) != rows or not (values >= 0.0).all():
            raise ContentError(f"the array {prefix + name!r} must hold {rows} numbers of at least 0")
        return values

    def keys(name: str) -> frozenset[bytes]:
        return frozenset(row.tobytes() for row in masks(name))

    edges, founder_edges, known_edges = masks("edges"), masks("founder_edges"), masks("known_edges")
    in_domain = arrays.of(prefix + "in_domain", np.bool_)
    if len(in_domain) != len(edges):
        raise ContentError(f"the array {prefix + 'in_domain'!r} must hold {len(edges)} values")
    chunk = Chunk(edges, dense("params", len(edges)), misfits("misfit", len(edges)), in_domain)
    founders = tuple(zip(founder_edges, dense("founder_params", len(founder_edges)), strict=True))
    known_misfit = misfits("known_misfit", len(known_edges)).tolist()
    known = zip(known_edges, dense("known_params", len(known_edges)), known_misfit, strict=True)
    spare = content.field(hunt, "spare")
    return HuntState(
        Archive(chunk, content.whole(hunt, "starts"), content.whole(hunt, "rounds"), founders),
        keys("tried"),
        content.flag(hunt, "tried_closed_form"),
        Contenders(tuple(Reduced(*row) for row in known), keys("reduced"), content.whole(hunt, "quiet")),
        None if spare is None else _formula(spare, names),
        content.number(hunt, "edges_too_many", least=0.0, infinite=True),
    )
