"""Frequency responses from time data: H1 or H2 and the coherence, from SciPy's spectral estimates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage, signal

from ceql.errors import InputError
from ceql.frf.curve import ReadOptions, Recording, from_complex
from ceql.frf.kinds import Kind

_LEAST = 64  # fewest samples of a record
_AVERAGES = 8  # default number of half-overlapping segments of a record
_IMPACT = 0.02  # a force with nearly all its energy in this share of the samples is a hammer blow
_ENERGY = 0.95
_LEAST_FORCE = 1e-3  # share of its largest power; frequencies above the first one with less show only noise
_NEARBY = 0.02  # width of the envelope, as a share of all frequencies
_BLOW = 0.3  # share of the highest force above which samples belong to a blow
_APART = 0.05  # share of the record by which separate blows are apart
_WEAK = "Above {:.4g} Hz the hammer blow has less than 0.1 % of its largest power: left out."
ESTIMATORS = ("h1", "h2")
_RATE = re.compile(
    r"(?:sampl(?:ing|e)[\s_]*(?:rate|freq\w*)|abtast(?:rate|frequenz)|\bfs\b)\D*(?P<value>\d+(?:[.,]\d+)?(?:e[-+]?\d+)?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Channel:
    """One record: its name, samples, sampling interval in seconds (0 if unknown), and whether it is the force."""

    name: str
    samples: np.ndarray
    step: float
    is_force: bool = False
    kind: Kind | None = None


def said_rate(remarks: Sequence[str]) -> float | None:
    """The sampling rate in Hz stated in a line such as `Sampling rate: 2048 Hz`; None if there is none."""
    for line in remarks:
        match = _RATE.search(line)
        if match:
            return float(match["value"].replace(",", ".")) * (1000.0 if "khz" in line.lower() else 1.0)
    return None


def responses(source: str, channels: Sequence[Channel], options: ReadOptions) -> list[Recording]:
    """The response of every channel to the force.

    A hammer blow is transformed as a whole, since a window would add damping, and several blows are averaged. A steady
    excitation is averaged over segments with a Hann window.
    """
    force = _force(source, channels, options)
    step = 1.0 / options.sampling_rate if options.sampling_rate else force.step
    if step <= 0:
        raise InputError(f"{source} holds time data without a sampling rate: use --sampling-rate 2048 (Hz).")
    others = [channel for channel in channels if channel is not force]
    if options.channel:
        others = [channel for channel in others if channel.name == options.channel]
    if not others:
        names = ", ".join(channel.name for channel in channels)
        raise InputError(f"{source} holds time data and no response beside the force; its channels are {names}.")
    return [_response(source, force, channel, 1.0 / step, options) for channel in others]


def _force(source: str, channels: Sequence[Channel], options: ReadOptions) -> Channel:
    said = options.columns.get("force")
    named = [channel for channel in channels if (channel.name == said if said else channel.is_force)]
    if len(named) != 1:
        names = ", ".join(channel.name for channel in channels)
        problem = "no channel is marked as the force" if not named else f"{len(named)} channels are forces"
        raise InputError(
            f"{source} holds time data, and {problem}; its channels are {names}. Name the force with --columns "
            f"force=NAME, such as --columns force={channels[0].name}."
        )
    if len(named[0].samples) < _LEAST:
        raise InputError(f"{source}: {len(named[0].samples)} samples are too few for a frequency response.")
    return named[0]


def _response(source: str, force: Channel, channel: Channel, rate: float, options: ReadOptions) -> Recording:
    n = min(len(force.samples), len(channel.samples))
    x, y = (own.samples[:n] - np.mean(own.samples[:n]) for own in (force, channel))
    impact = options.segment is None and is_impact(x)
    if impact:
        x, y, segment = _blow_by_blow(x, y)
    else:
        segment = min(options.segment or _default_segment(n), n)
    settings = {
        "fs": rate,
        "nperseg": segment,
        "noverlap": 0 if impact else segment // 2,
        "window": "boxcar" if impact else "hann",
        "detrend": False if impact else "constant",
    }
    frequency, across = signal.csd(x, y, **settings)
    _, of_force = signal.welch(x, **settings)
    _, of_response = signal.welch(y, **settings)
    tiny = np.finfo(float).tiny
    if options.estimator == "h2":
        values = of_response / np.where(np.abs(across) > tiny, np.conj(across), tiny)
    else:
        values = across / np.maximum(of_force, tiny)
    coherence = np.abs(across) ** 2 / np.maximum(of_force * of_response, tiny)
    inside = (frequency > 0) & (frequency < rate / 2.0)
    highest = _highest(frequency[inside], of_force[inside]) if impact else np.inf
    inside &= frequency < highest
    averaged = segment < len(x)  # a single segment always has a coherence of 1
    return from_complex(
        f"{source}, {channel.name}",
        frequency[inside],
        values[inside],
        kind=channel.kind,
        point=channel.name,
        coherence=coherence[inside] if averaged else None,
        note=_WEAK.format(highest) if np.isfinite(highest) else "",
    )


def _blow_by_blow(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Force and response cut into pieces of equal length that begin with each blow, and that length.

    Rebounds of the hammer count as the same blow; a record with a single blow stays in one piece.
    """
    high = np.flatnonzero(np.abs(x) > _BLOW * np.abs(x).max())
    blows = high[np.concatenate([[True], np.diff(high) > _APART * len(x)])]
    length = int(np.min(np.diff([*blows, len(x)])))
    if len(blows) == 1 or length < _APART * len(x):
        return x, y, len(x)
    first = np.maximum(blows - min(int(blows[0]), length // 100), 0)
    pieces = (first[:, None] + np.arange(length)).ravel()
    return x[pieces], y[pieces], length


def _highest(frequency: np.ndarray, power: np.ndarray) -> float:
    """The frequency where the force becomes too weak; infinite if it does not, or if hardly anything would be left."""
    weak = np.flatnonzero(_envelope(power) < _LEAST_FORCE * power.max())
    return float(frequency[weak[0]]) if len(weak) and weak[0] >= _LEAST else np.inf


def _envelope(power: np.ndarray) -> np.ndarray:
    """The local maximum of the power, since the spectrum of a blow has zeros."""
    return ndimage.maximum_filter1d(power, max(3, int(_NEARBY * len(power))))


def is_impact(force: np.ndarray) -> bool:
    """Whether a short blow contains nearly all of the energy."""
    energy = np.sort(force**2)[::-1]
    few = max(1, int(_IMPACT * len(energy)))
    return bool(energy[:few].sum() > _ENERGY * energy.sum())


def _default_segment(n: int) -> int:
    return max(_LEAST, 2 * n // (_AVERAGES + 1))
