"""Touchstone files of scattering parameters, read with scikit-rf."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ceql.errors import InputError, missing_extra
from ceql.frf.curve import ReadOptions, Recording, from_complex
from ceql.frf.kinds import Kind

ENDINGS = tuple(f".s{ports}p" for ports in range(1, 10))
_CHANNEL = re.compile(r"[sS]?(\d)(\d)")


def read(path: Path, options: ReadOptions) -> list[Recording]:
    """Reads the requested channel, by default the transmission S21, or S11 for a single port."""
    try:
        import skrf
    except ImportError:
        raise missing_extra("scikit-rf", "frf", f"Reading {path.name}, a touchstone file,") from None
    try:
        network = skrf.Network(str(path))
    except Exception as error:
        raise InputError(f"{path} cannot be read as a touchstone file: {error}.") from error
    ports = network.nports
    channel = options.channel or ("S21" if ports > 1 else "S11")
    match = _CHANNEL.fullmatch(channel)
    to, start = (int(digit) for digit in match.groups()) if match else (0, 0)
    if not (1 <= to <= ports and 1 <= start <= ports):
        raise InputError(f"{path} has {ports} ports and no channel {channel!r}: write S21 for port 1 to port 2.")
    values = np.asarray(network.s[:, to - 1, start - 1])
    return [from_complex(str(path), np.asarray(network.f, dtype=float), values, kind=Kind.RATIO)]
