"""MATLAB files: a frequency vector and an array of responses, or time data of a force and responses.

Arrays inside structures and cells are found as well, under names such as `Test.FRF.H`. Objects and functions are
refused by their class before anything in them is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ceql.errors import InputError
from ceql.frf.curve import ReadOptions, Recording, Scale, from_complex
from ceql.frf.formats.channels import role_and_channel
from ceql.frf.formats.delimited import REPETITION_NAMES
from ceql.frf.formats.time_data import Channel, responses

ENDINGS = (".mat",)
_FREQUENCY = ("frequency", "freq", "f", "freqs", "frequencies", "freq_hz", "f_hz", "fhz", "freqvec", "frequency_hz")
_ANGULAR = ("omega", "w", "om")
_RESPONSE = ("h", "frf", "response", "frfs", "magnitude", "mag", "hv", "ha", "h1", "h2", "fr", "tf")
_COHERENCE = ("coherence", "coh", "gamma2", "cxy")
_TIME = ("time", "t")
_FORCE = ("force", "input", "u", "excitation", "hammer")
_RATE = ("fs", "sampling_rate", "samplerate", "fsamp")
_NUMBERS = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
_NESTED = {"struct", "cell"}
_DEEPEST = 6
# Names that exporters use in place of a frequency vector.
_FIRST = ("start_value", "x0", "xstart", "fmin", "f0", "start")
_STEP = ("increment", "df", "delta_f", "deltaf", "dx", "delta_x")
_AXIS = "(frequency)"
_ELEMENT = re.compile(r"\w+(?:\.\w+)*(?:\(\d+\)|\{\d+\})")


def read(path: Path, options: ReadOptions) -> list[Recording]:
    arrays = _arrays(path)
    elements = _elements(arrays, options)
    if elements:
        return [recording for key, own in elements.items() for recording in _of_element(path, key, own, options)]
    return _curves(path, arrays, options)


def _elements(arrays: dict[str, np.ndarray], options: ReadOptions) -> dict[str, dict[str, np.ndarray]]:
    """The arrays of each element of a structure array, if its elements each have a frequency and a response."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        place = _ELEMENT.match(name)
        if place:
            found.setdefault(place[0], {})[name] = array
    columns = options.columns
    said = columns.get("response") or columns.get("magnitude")
    whole = {
        key: own
        for key, own in found.items()
        if _found(own, columns.get("frequency"), (*_FREQUENCY, *_ANGULAR)) and _found(own, said, _RESPONSE)
    }
    return whole if len(whole) > 1 else {}


def _of_element(path: Path, key: str, arrays: dict[str, np.ndarray], options: ReadOptions) -> list[Recording]:
    curves = _curves(path, arrays, options)
    number = key[key.rindex("(") + 1 : -1] if key.endswith(")") else key
    several = len(curves) > 1
    return [
        replace(one, source=f"{path}, {key}", point=f"{number}.{one.point}" if several else number) for one in curves
    ]


def _curves(path: Path, arrays: dict[str, np.ndarray], options: ReadOptions) -> list[Recording]:
    """The curves of arrays that share one frequency vector."""
    said = options.columns.get("response") or options.columns.get("magnitude")
    arrays = _with_parts_joined(path, arrays, options)
    frequency_name = _found(arrays, options.columns.get("frequency"), (*_FREQUENCY, *_ANGULAR))
    if frequency_name is None and "frequency" not in options.columns:
        force = _found(arrays, options.columns.get("force"), _FORCE)
        if force is not None:
            return _from_time_data(path, arrays, force, options)
        arrays = _with_axis(arrays)
        frequency_name = _AXIS if _AXIS in arrays else None
    if frequency_name is None:
        raise _missing(path, arrays, options.columns.get("frequency"), _FREQUENCY, "frequency")
    response_name = _found(arrays, said, _RESPONSE) or (None if said else _only_complex(arrays, frequency_name))
    if response_name is None:
        raise _missing(path, arrays, said, _RESPONSE, "response")
    frequency = np.real(arrays.pop(frequency_name)).astype(float).ravel()
    if _last(frequency_name) in _ANGULAR and "frequency" not in options.columns:
        frequency = frequency / (2.0 * np.pi)
    response = _columns(path, response_name, arrays.pop(response_name), len(frequency))
    coherence = _coherence(arrays, response.shape)
    per_curve = {
        _last(name, keep_case=True): array.astype(float).ravel()
        for name, array in arrays.items()
        if array.size == response.shape[1] and np.isrealobj(array) and response.shape[1] > 1
    }
    numbers = next((per_curve.pop(name) for name in list(per_curve) if name.lower() in REPETITION_NAMES), None)
    return _recordings(path, frequency, response, coherence, per_curve, numbers)


def _with_parts_joined(path: Path, arrays: dict[str, np.ndarray], options: ReadOptions) -> dict[str, np.ndarray]:
    """The arrays with H_real and H_imag, or H_mag and H_phase, joined into one complex array H."""
    if "response" in options.columns or _found(arrays, None, _RESPONSE):
        return arrays
    parts = {name: known for name in arrays if (known := role_and_channel(_last(name, keep_case=True)))}
    joined = dict(arrays)
    for real, (role, channel) in parts.items():
        other = {"real": "imag", "magnitude": "phase"}.get(role)
        twin = next((name for name, known in parts.items() if known == (other, channel)), None)
        if twin is None or arrays[twin].shape != arrays[real].shape:
            continue
        if role == "magnitude" and options.phase not in ("deg", "rad"):
            raise InputError(
                f"{path}: {real} and {twin} are a magnitude and a phase. Give the unit of the phase: --phase deg "
                "or --phase rad."
            )
        first, second = joined.pop(real).astype(float), joined.pop(twin).astype(float)
        turn = np.exp(1j * (np.deg2rad(second) if options.phase == "deg" else second))
        linear = 10.0 ** (first / 20.0) if options.scale == Scale.DECIBEL or (first < 0).any() else first
        joined[channel or "H"] = first + 1j * second if role == "real" else linear * turn
    return joined


def _with_axis(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Adds a frequency vector from its first value, its step and the length of the only complex array, if possible."""
    first, step = _found(arrays, None, _FIRST), _found(arrays, None, _STEP)
    values = _only_complex(arrays)
    if step is None or values is None or arrays[step].size != 1 or (first and arrays[first].size != 1):
        return arrays
    begin = float(np.real(arrays[first].ravel()[0])) if first else 0.0
    n = max(arrays[values].shape)
    return {_AXIS: begin + float(np.real(arrays[step].ravel()[0])) * np.arange(n), **arrays}


def _only_complex(arrays: dict[str, np.ndarray], frequency: str = "") -> str | None:
    """The name of the only complex array, which must match the frequency vector if there is one; otherwise None."""
    n = arrays[frequency].size if frequency else 0
    found = [name for name, own in arrays.items() if np.iscomplexobj(own) and (not n or n in own.shape)]
    return found[0] if len(found) == 1 else None


def _recordings(
    path: Path,
    frequency: np.ndarray,
    response: np.ndarray,
    coherence: np.ndarray | None,
    per_curve: dict[str, np.ndarray],
    numbers: np.ndarray | None,
) -> list[Recording]:
    """One recording per column. Columns without conditions or repetition numbers are points."""
    is_real = np.isrealobj(response)
    columns = (response.astype(float) if is_real else response).T
    scale = Scale.UNSAID if is_real else Scale.LINEAR  # real values may be in decibels
    are_points = len(columns) > 1 and not per_curve and numbers is None
    return [
        from_complex(
            f"{path}, column {k + 1}" if len(columns) > 1 else str(path),
            frequency,
            values,
            scale=scale,
            conditions={name: float(of_curves[k]) for name, of_curves in per_curve.items()},
            repetition=None if numbers is None else int(numbers[k]),
            point=str(k + 1) if are_points else "",
            coherence=None if coherence is None else coherence[:, k],
        )
        for k, values in enumerate(columns)
    ]


def _arrays(path: Path) -> dict[str, np.ndarray]:
    from scipy import io

    try:
        classes = {name: kind for name, _, kind in io.whosmat(str(path))}
        objects = [name for name, kind in classes.items() if kind in ("object", "opaque", "function", "unknown")]
        if objects:
            raise InputError(
                f"{path} holds MATLAB objects ({', '.join(objects)}), which cannot be read: save only the arrays, "
                "save('file.mat', 'f', 'H', '-v7')."
            )
        names = [name for name, kind in classes.items() if kind in _NUMBERS | _NESTED]
        found = io.loadmat(str(path), variable_names=names) if names else {}
    except NotImplementedError:
        raise InputError(f"{path} is in MATLAB's 7.3 format: save it again with save(..., '-v7').") from None
    except InputError:
        raise
    except Exception as error:  # scipy's exceptions for damaged files have no common base class
        raise InputError(f"{path} cannot be read as a MATLAB file: {error}.") from error
    return {key: array for name in names for key, array in _numbers_in(name, found[name], 0)}


def _numbers_in(name: str, value: Any, depth: int) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of numbers below a name; elements of structure arrays are numbered from 1."""
    value = np.asarray(value)
    if depth > _DEEPEST or not value.size:
        return
    if value.dtype.names is not None:
        several = value.size > 1
        for k, record in enumerate(value.ravel()):
            for field in value.dtype.names:
                prefix = f"{name}({k + 1}).{field}" if several else f"{name}.{field}"
                yield from _numbers_in(prefix, record[field], depth + 1)
    elif value.dtype == object:
        several = value.size > 1
        for k, cell in enumerate(value.ravel()):
            yield from _numbers_in(f"{name}{{{k + 1}}}" if several else name, cell, depth + 1)
    elif value.dtype.kind in "biufc":
        yield name, value


def _last(name: str, keep_case: bool = False) -> str:
    part = name.rsplit(".", 1)[-1]
    return part if keep_case else part.lower()


def _found(arrays: dict[str, np.ndarray], said: str | None, known: tuple[str, ...]) -> str | None:
    """The name of the requested array, given in full or by its last part, or of the first one with a known name."""
    if said is not None:
        whole = [name for name in arrays if name == said]
        return next(iter(whole or [name for name in arrays if _last(name, keep_case=True) == said]), None)
    return next((name for word in known for name in arrays if _last(name) == word), None)


def _missing(
    path: Path, arrays: dict[str, np.ndarray], said: str | None, known: tuple[str, ...], role: str
) -> InputError:
    held = [f"{name} {'x'.join(map(str, array.shape))}" if "." in name else name for name, array in arrays.items()]
    return InputError(
        f"{path} has no array for the {role} ({said or ' or '.join(known[:6])}); its arrays of numbers are "
        f"{', '.join(held) or '(none)'}. Choose one with --columns frequency=NAME,response=NAME."
    )


def _columns(path: Path, name: str, response: np.ndarray, points: int) -> np.ndarray:
    """The response with one column per curve, whatever its orientation; further dimensions are points as well."""
    shaped = np.squeeze(np.asarray(response))
    shaped = shaped[:, None] if shaped.ndim == 1 else shaped
    if points in shaped.shape:
        side = shaped.shape.index(points)
        return np.moveaxis(shaped, side, 0).reshape(points, -1)
    raise InputError(
        f"{path}: {name!r} has the shape {response.shape}, and neither of its sides is as long as the {points} "
        "frequencies."
    )


def _coherence(arrays: dict[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray | None:
    name = _found(arrays, None, _COHERENCE)
    if name is None:
        return None
    values = np.squeeze(np.real(arrays.pop(name)).astype(float))
    values = values[:, None] if values.ndim == 1 else values
    if shape[0] not in values.shape:
        return None
    values = np.moveaxis(values, values.shape.index(shape[0]), 0).reshape(shape[0], -1)
    return values if values.shape == shape else None


def _from_time_data(path: Path, arrays: dict[str, np.ndarray], force: str, options: ReadOptions) -> list[Recording]:
    samples = arrays[force].astype(float).ravel()
    time, rate = _found(arrays, None, _TIME), _found(arrays, None, _RATE)
    step = 0.0
    if time is not None and arrays[time].size == len(samples):
        step = float(np.median(np.diff(arrays[time].astype(float).ravel())))
    elif rate is not None and arrays[rate].size == 1:
        step = 1.0 / float(arrays[rate].ravel()[0])
    channels = [Channel(force, samples, step, is_force=True)]
    for name, array in arrays.items():
        if name in (force, time, rate) or len(samples) not in array.shape or not np.isrealobj(array):
            continue
        columns = np.moveaxis(array, array.shape.index(len(samples)), 0).reshape(len(samples), -1)
        several = columns.shape[1] > 1
        channels += [
            Channel(f"{name}{k + 1}" if several else name, column.astype(float), step)
            for k, column in enumerate(columns.T)
        ]
    said = ReadOptions(**{**vars(options), "columns": {"force": force}})
    return responses(str(path), channels, said)
