"""A search on disk: all it needs to go on later as if nothing had happened, in one versioned file.

The file is NumPy's npz: arrays, and a header of JSON beside them as bytes. Nothing in it is run or unpickled. Masks are
packed into bits, and of the parameters only those are kept that are not zero: a file has a few hundred kilobytes.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ceql import __version__
from ceql.contenders import ContendersState
from ceql.errors import CeqlError
from ceql.expression import parse_formula
from ceql.expression.write import write_formula
from ceql.files import beside
from ceql.fingerprint import Fingerprint
from ceql.formula import Formula, make_symbols
from ceql.hunt import HuntState
from ceql.pruning import Reduced
from ceql.schedule import Chunk
from ceql.search import Archive
from ceql.turns import TurnsState

FORMAT, VERSION = "ceql-checkpoint", 2
_HEADER = "header"
_UNREADABLE = (ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, OverflowError, MemoryError)
_UNREADABLE += (RecursionError, NotImplementedError, zipfile.BadZipFile, zlib.error)


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
    transient: bool = False  # True: nobody asked for it, so it says nothing beforehand and goes when all is done

    def of_each(self, targets: Sequence[str]) -> tuple[Checkpoint, ...]:
        """A file of its own for each of several targets: run-lift.ckpt and run-drag.ckpt for run.ckpt."""
        if len(targets) == 1:
            return (self,)
        return tuple(replace(self, path=beside(self.path, name)) for name in targets)


@dataclass(frozen=True, eq=False)
class Ending:
    """How a search ended and what it had found, before a formula is chosen."""

    outcome: str
    formulas: tuple[Formula, ...]
    starts: int
    rows_searched: int
    seconds: float
    stands_until: float  # the time limit up to which the search would end so again


@dataclass(frozen=True, eq=False)
class SearchState:
    """A search between two rounds."""

    turns: TurnsState
    started_before: int = 0  # starts of a search on few rows that gave way to this one; 0: nothing did
    rounds_beyond_limit: int = 0
    rounds_with_spare: int = 0
    rounds_explained: int = 0
    seconds: float = 0.0
    ending: Ending | None = None

    @property
    def progress(self) -> tuple[int, int]:
        """The larger, the further."""
        return self.started_before, self.turns.rounds


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
    """What was written; an error in plain words for anything else."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    remedy = "Delete it to start from the beginning, or name another file."
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays[_HEADER].tobytes())
        is_ours = header["format"] == FORMAT
    except _UNREADABLE:
        raise CheckpointError(f"{path} is no checkpoint of ceql, or only part of one. {remedy}") from None
    if not is_ours:
        raise CheckpointError(f"{path} is no checkpoint of ceql. {remedy}")
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
    try:
        return _state(header, arrays), dict(header["fingerprint"])
    except _UNREADABLE as error:
        raise damaged(path, error) from error


def damaged(path: str | Path, error: BaseException) -> CheckpointError:
    return CheckpointError(
        f"{path} is damaged ({type(error).__name__}: {error}). Delete it to start from the beginning, or name another."
    )


def _state(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> SearchState:
    names = tuple(str(name) for name in header["fingerprint"]["columns"])
    turns = {name: int(header["turns"][name]) for name in ("rounds", "direct", "aside")}
    hunts = tuple(_hunt(content, arrays, f"{k}.", names) for k, content in enumerate(header["hunts"]))
    return SearchState(
        TurnsState(hunts=hunts, **turns),
        int(header["started_before"]),
        int(header["rounds_beyond_limit"]),
        int(header["rounds_with_spare"]),
        int(header["rounds_explained"]),
        float(header["seconds"]),
        None if header["ending"] is None else _ending(header["ending"], names),
    )


def _formula(content: dict[str, Any], names: tuple[str, ...]) -> Formula:
    symbols = make_symbols(names)
    constants = tuple((float(value), float(error)) for value, error in content["constants"])
    expression = parse_formula(content["expression"], names, as_written=True)
    costs = {str(name): int(cost) for name, cost in content["costs"].items()}
    return Formula(expression, symbols, float(content["loss"]), constants, costs)


def _ending(content: dict[str, Any], names: tuple[str, ...]) -> Ending:
    return Ending(
        str(content["outcome"]),
        tuple(_formula(row, names) for row in content["formulas"]),
        int(content["starts"]),
        int(content["rows_searched"]),
        float(content["seconds"]),
        float(content["stands_until"]),
    )


def _hunt(content: dict[str, Any], arrays: dict[str, np.ndarray], prefix: str, names: tuple[str, ...]) -> HuntState:
    n_edges, n_params = int(content["edges"]), int(content["params"])

    def masks(name: str) -> np.ndarray:
        return np.unpackbits(arrays[prefix + name], axis=1, count=n_edges).astype(bool)

    def dense(name: str, rows: int) -> np.ndarray:
        flat = np.zeros(rows * n_params)
        flat[arrays[f"{prefix}{name}.places"]] = arrays[f"{prefix}{name}.values"]
        return flat.reshape(rows, n_params)

    def keys(name: str) -> frozenset[bytes]:
        return frozenset(row.tobytes() for row in masks(name))

    misfit = np.asarray(arrays[prefix + "misfit"], float)
    known_misfit = np.asarray(arrays[prefix + "known_misfit"], float)
    in_domain = np.asarray(arrays[prefix + "in_domain"], bool)
    chunk = Chunk(masks("edges"), dense("params", len(misfit)), misfit, in_domain)
    founder_edges = masks("founder_edges")
    founders = tuple(zip(founder_edges, dense("founder_params", len(founder_edges)), strict=True))
    known = zip(masks("known_edges"), dense("known_params", len(known_misfit)), known_misfit.tolist(), strict=True)
    if not len(chunk.edges) == len(misfit) == len(in_domain):
        raise ValueError("arrays differ in length")
    return HuntState(
        Archive(chunk, int(content["starts"]), int(content["rounds"]), founders),
        keys("tried"),
        bool(content["tried_closed_form"]),
        ContendersState(tuple(Reduced(*row) for row in known), keys("reduced"), int(content["quiet"])),
        None if content["spare"] is None else _formula(content["spare"], names),
        float(content["edges_too_many"]),
    )
