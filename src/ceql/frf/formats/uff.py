"""Universal files: data sets of type 58 that hold frequency response functions, read with pyuff."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ceql.errors import InputError, missing_extra
from ceql.frf.curve import ReadOptions, Recording, from_complex
from ceql.frf.kinds import Kind

ENDINGS = (".uff", ".unv")
# The numbers that the format gives to functions and to physical quantities.
_FRF, _SPECTRA = 4, 58
_DISPLACEMENT, _VELOCITY, _ACCELERATION = 8, 11, 12
_FORCES = (9, 13)
_KINDS = {_DISPLACEMENT: Kind.RECEPTANCE, _VELOCITY: Kind.MOBILITY, _ACCELERATION: Kind.ACCELERANCE}
_DIRECTIONS = {0: "", 1: "X", 2: "Y", 3: "Z", -1: "-X", -2: "-Y", -3: "-Z"}


def read(path: Path, options: ReadOptions) -> list[Recording]:
    try:
        import pyuff
    except ImportError:
        raise missing_extra("pyuff", "frf", f"Reading {path.name}, a universal file,") from None
    try:
        # loaded one at a time: a measurement often carries geometry and other sets that are not needed
        file = pyuff.UFF(str(path))
        wanted = np.flatnonzero(np.asarray(file.get_set_types()) == _SPECTRA)
        sets: list[Any] = [file.read_sets(int(k)) for k in wanted]
    except Exception as error:
        raise InputError(f"{path} cannot be read as a universal file: {error}.") from error
    functions = {channel_name(one): one for one in sets if int(one.get("func_type", 0)) == _FRF}
    if not functions:
        raise InputError(f"{path} holds no frequency response function (data set 58, function type {_FRF}).")
    chosen = options.channel or (next(iter(functions)) if len(functions) == 1 else "")
    if chosen not in functions:
        named = f"none is called {chosen!r}" if chosen else "one has to be chosen"
        raise InputError(
            f"{path} holds {len(functions)} frequency response functions and {named}: --channel NAME, with NAME one of "
            f"{', '.join(list(functions)[:12])}{', ...' if len(functions) > 12 else ''}."
        )
    return [_recording(path, functions[chosen])]


def channel_name(one: dict[str, Any]) -> str:
    """Response over reference, such as 3Z/1Z."""
    response, reference = (
        f"{int(one.get(f'{end}_node', 0))}{_DIRECTIONS.get(int(one.get(f'{end}_dir', 0)), '')}"
        for end in ("rsp", "ref")
    )
    return f"{response}/{reference}"


def _recording(path: Path, one: dict[str, Any]) -> Recording:
    over_force = int(one.get("orddenom_spec_data_type", 0)) in _FORCES
    kind = _KINDS.get(int(one.get("ordinate_spec_data_type", 0))) if over_force else None
    above, below = (str(one.get(f"{axis}_axis_units_lab", "")).strip() for axis in ("ordinate", "orddenom"))
    unit = f"{above}/{below}" if above not in ("", "NONE") and below not in ("", "NONE") else ""
    return from_complex(str(path), np.asarray(one["x"], dtype=float), np.asarray(one["data"]), kind=kind, unit=unit)
