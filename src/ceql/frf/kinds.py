"""The kinds of frequency responses, and conversions between the mechanical ones."""

from __future__ import annotations

import re
from enum import StrEnum

import numpy as np

from ceql.errors import InputError


class Kind(StrEnum):
    """The response that is divided by the force; RATIO stands for everything else, such as scattering parameters."""

    RECEPTANCE = "receptance"
    MOBILITY = "mobility"
    ACCELERANCE = "accelerance"
    RATIO = "ratio"


# How often the displacement is differentiated; each time contributes a factor of j times the angular frequency.
_DERIVATIVES = {Kind.RECEPTANCE: 0, Kind.MOBILITY: 1, Kind.ACCELERANCE: 2}
_OVER_FORCE = re.compile(
    r"(?:(?P<accelerance>(?:[nµum]?m|in|ft)/s2|g)|(?P<mobility>(?:[nµum]?m|in|ft)/s|ips)|(?P<receptance>[nµum]?m|in|ft))"
    r"/(?:[mk]?n|lbf)"
)
UNITS = {Kind.RECEPTANCE: "m/N", Kind.MOBILITY: "m/s/N", Kind.ACCELERANCE: "m/s²/N", Kind.RATIO: ""}


def kind_of_unit(unit: str) -> Kind | None:
    """The kind that a unit such as m/s²/N, (m/s)/N or mm/N implies; None for other units."""
    plain = re.sub(r"[\s()\[\]^*·]", "", unit.lower().replace("²", "2").replace("μ", "µ").replace("m/s/s", "m/s2"))
    match = _OVER_FORCE.fullmatch(plain)
    return None if match is None else next(Kind(name) for name, part in match.groupdict().items() if part)


def converted(curves: np.ndarray, frequency: np.ndarray, old: Kind, new: Kind) -> np.ndarray:
    """The curves as another kind; magnitudes remain magnitudes. `frequency` is in Hz."""
    if old == new:
        return curves
    if Kind.RATIO in (old, new):
        raise InputError(f"A {old.value} cannot be converted to a {new.value}: only mechanical kinds can be converted.")
    power = _DERIVATIVES[new] - _DERIVATIVES[old]
    if power < 0 and np.any(frequency <= 0):
        raise InputError(
            f"Converting {old.value} to {new.value} divides by the frequency, but the data begin at 0 Hz: leave that "
            "point out with a band such as 1:2000."
        )
    angular = 2.0 * np.pi * frequency
    factor = (1j * angular) ** power if np.iscomplexobj(curves) else angular**power
    return curves * factor
