"""Universal files: type 58 data sets of frequency response functions or time data, read with pyuff."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ceql.errors import InputError, missing_extra
from ceql.frf.curve import ReadOptions, Recording, from_complex
from ceql.frf.formats.time_data import Channel, responses
from ceql.frf.kinds import Kind

ENDINGS = (".uff", ".unv")
# Codes of the format for functions and physical quantities.
_TIME, _FRF, _COHERENCE, _FUNCTIONS = 1, 4, 6, 58
_NAMES = {0: "general data", 1: "time data", 2: "auto spectra", 3: "cross spectra", 5: "transmissibilities",
          6: "coherences", 9: "power spectral densities", 12: "spectra"}  # fmt: skip
_DISPLACEMENT, _VELOCITY, _ACCELERATION = 8, 11, 12
_FORCES = (9, 13)
_KINDS = {_DISPLACEMENT: Kind.RECEPTANCE, _VELOCITY: Kind.MOBILITY, _ACCELERATION: Kind.ACCELERANCE}
_DIRECTIONS = {0: "", 1: "X", 2: "Y", 3: "Z", -1: "-X", -2: "-Y", -3: "-Z"}


def read(path: Path, options: ReadOptions) -> list[Recording]:
    """Reads all frequency response functions, or the requested channel; computes them if there are only time data."""
    sets = _sets(path)
    functions = [one for one in sets if int(one.get("func_type", 0)) == _FRF]
    if not functions:
        return _from_time_data(path, sets, options)
    coherences = {channel_name(one): one for one in sets if int(one.get("func_type", 0)) == _COHERENCE}
    names = [channel_name(one) for one in functions]
    if options.channel:
        if options.channel not in names:
            raise InputError(
                f"{path} holds {len(functions)} frequency response functions and none is called {options.channel!r}: "
                f"--channel NAME, with NAME one of {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}."
            )
        functions = [one for one, name in zip(functions, names, strict=True) if name == options.channel]
    return [_recording(path, one, coherences.get(channel_name(one))) for one in functions]


def channel_name(one: dict[str, Any]) -> str:
    """The name of a channel: response over reference, such as 3Z/1Z."""
    response, reference = (
        f"{int(one.get(f'{end}_node', 0))}{_DIRECTIONS.get(int(one.get(f'{end}_dir', 0)), '')}"
        for end in ("rsp", "ref")
    )
    return f"{response}/{reference}"


def _sets(path: Path) -> list[dict[str, Any]]:
    try:
        import pyuff
    except ImportError:
        raise missing_extra("pyuff", "frf", f"Reading {path.name}, a universal file,") from None
    try:
        # load only the needed sets: files often contain geometry and other data
        file = pyuff.UFF(str(path))
        wanted = np.flatnonzero(np.asarray(file.get_set_types()) == _FUNCTIONS)
        return [dict(_one(file.read_sets(int(k)))) for k in wanted]
    except Exception as error:
        raise InputError(f"{path} cannot be read as a universal file: {error}.") from error


def _one(found: Any) -> dict[str, Any]:
    """The data set itself, which pyuff may return inside a list."""
    return found[0] if isinstance(found, list) else found


def _recording(path: Path, one: dict[str, Any], coherence: dict[str, Any] | None) -> Recording:
    over_force = int(one.get("orddenom_spec_data_type", 0)) in _FORCES
    kind = _KINDS.get(int(one.get("ordinate_spec_data_type", 0))) if over_force else None
    above, below = (str(one.get(f"{axis}_axis_units_lab", "")).strip() for axis in ("ordinate", "orddenom"))
    unit = f"{above}/{below}" if above not in ("", "NONE") and below not in ("", "NONE") else ""
    frequency, values = np.asarray(one["x"], dtype=float), np.asarray(one["data"])
    known = None if coherence is None else np.real(np.asarray(coherence["data"])).astype(float)
    if known is not None and len(known) != len(values):
        known = None
    return from_complex(str(path), frequency, values, kind=kind, unit=unit, point=channel_name(one), coherence=known)


def _from_time_data(path: Path, sets: list[dict[str, Any]], options: ReadOptions) -> list[Recording]:
    own = [one for one in sets if int(one.get("func_type", 0)) == _TIME]
    if not own:
        held = sorted({_NAMES.get(int(one.get("func_type", 0)), "other functions") for one in sets})
        raise InputError(
            f"{path} holds no frequency response function (data set 58, function type {_FRF})"
            + (f", but {', '.join(held)}." if held else ".")
            + " Export the FRFs, or the time data of force and responses."
        )
    channels = []
    for one in own:
        x = np.asarray(one["x"], dtype=float)
        quantity = int(one.get("ordinate_spec_data_type", 0))
        step = float(np.median(np.diff(x))) if len(x) > 1 else 0.0
        name = channel_name(one).split("/")[0]
        channels.append(
            Channel(
                name, np.real(np.asarray(one["data"])).astype(float), step, quantity in _FORCES, _KINDS.get(quantity)
            )
        )
    return responses(str(path), channels, options)
