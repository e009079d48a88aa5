"""MATLAB files: a frequency vector and a matrix of responses, one column per curve.

Only arrays of numbers are read. Objects and functions are refused by their class, before anything of them is loaded.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ceql.errors import InputError
from ceql.frf.curve import ReadOptions, Recording, Scale, from_complex
from ceql.frf.formats.delimited import REPETITION_NAMES

ENDINGS = (".mat",)
_FREQUENCY = ("frequency", "freq", "f", "freqs", "frequencies")
_RESPONSE = ("h", "frf", "response", "frfs", "magnitude", "mag")
_NUMBERS = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def read(path: Path, options: ReadOptions) -> list[Recording]:
    arrays = _arrays(path)
    frequency_name = _chosen(path, arrays, options.columns.get("frequency"), _FREQUENCY, "frequency")
    said = options.columns.get("response") or options.columns.get("magnitude")
    response_name = _chosen(path, arrays, said, _RESPONSE, "response")
    frequency = arrays.pop(frequency_name).astype(float).ravel()
    response = _columns(path, response_name, arrays.pop(response_name), len(frequency))
    per_curve = {
        name: array.astype(float).ravel()
        for name, array in arrays.items()
        if array.size == response.shape[1] and np.isrealobj(array)
    }
    numbers = next((per_curve.pop(name) for name in list(per_curve) if name.lower() in REPETITION_NAMES), None)
    is_real = np.isrealobj(response)
    columns = (response.astype(float) if is_real else response).T
    scale = Scale.UNSAID if is_real else Scale.LINEAR  # real numbers may be decibels
    return [
        from_complex(
            f"{path}, column {k + 1}" if len(columns) > 1 else str(path),
            frequency,
            values,
            scale=scale,
            conditions={name: float(of_curves[k]) for name, of_curves in per_curve.items()},
            repetition=None if numbers is None else int(numbers[k]),
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
                f"{path} holds MATLAB objects ({', '.join(objects)}), which are not read: "
                "save the arrays alone, save('file.mat', 'f', 'H', '-v7')."
            )
        names = [name for name, kind in classes.items() if kind in _NUMBERS]
        found = io.loadmat(str(path), variable_names=names) if names else {}
    except NotImplementedError:
        raise InputError(f"{path} is in MATLAB's 7.3 format: save it again with save(..., '-v7').") from None
    except InputError:
        raise
    except Exception as error:  # what scipy raises on a damaged file has no common base
        raise InputError(f"{path} cannot be read as a MATLAB file: {error}.") from error
    return {name: found[name] for name in names}


def _chosen(path: Path, arrays: dict[str, np.ndarray], said: str | None, known: tuple[str, ...], role: str) -> str:
    name = said or next((name for name in arrays if name.lower() in known), None)
    if name is None or name not in arrays:
        raise InputError(
            f"{path} has no array for the {role} ({said or ' or '.join(known)}); its arrays of numbers are "
            f"{', '.join(arrays) or '(none)'}. Say which with --columns frequency=NAME,response=NAME."
        )
    return name


def _columns(path: Path, name: str, response: np.ndarray, points: int) -> np.ndarray:
    """The response with one column per curve, however it lies."""
    shaped = np.atleast_2d(response)
    if shaped.ndim == 2 and points in shaped.shape:
        return shaped if shaped.shape[0] == points else shaped.T
    raise InputError(
        f"{path}: {name!r} has the shape {response.shape}, and none of its two sides is as long as the "
        f"{points} frequencies."
    )
