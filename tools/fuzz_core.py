"""Calls the compiled core with random tapes, shapes, types and layouts; no input may crash the process.

    python tools/fuzz_core.py path/to/_core.so --calls 1000

The extension is loaded from its file, so that a build with sanitisers can be tested without being installed. A call is
generated from its number alone: if one fails, `--first N --calls 1` repeats it. `tools/sanitised_fuzz.py` does all of
this.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

MOST_ROWS, MOST_STARTS, MOST_NODES = 300, 6, 8
ARGUMENTS = {"mul": 2, "div": 3, "log": 2, "sqrt": 2, "sqrt_im": 2, "sin": 2, "cos": 2, "pow": 3, "angle": 2}
INT32 = np.iinfo(np.int32)
ODD_NUMBERS = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 5e-324, 1e39]
ODD_COUNTS = [-(2**40), -1, 0, 1, 3, 2**62]
REFUSALS = (TypeError, ValueError)


def loaded(path: Path) -> ModuleType:
    spec = spec_from_file_location("ceql._core", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no extension module: give the file that the build made.")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- arrays ---------------------------------------------------------------------------------------------------------


def misaligned(array: np.ndarray) -> np.ndarray:
    """The same numbers at an address that is one byte past an aligned one."""
    moved = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "fortran": np.asfortranarray,
    "read-only": read_only,
    "misaligned": misaligned,
    "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
}
OTHERS: dict[str, Callable[[np.ndarray], Any]] = {
    "other type": lambda a: a.astype(np.int16 if a.dtype.kind == "f" else np.float32),
    "complex": lambda a: a.astype(complex),
    "objects": lambda a: a.astype(object),
    "list": lambda a: a.tolist(),
    "no array": lambda _: None,
    "a dimension more": lambda a: a[None],
    "a dimension less": lambda a: a[0] if len(a) else a.ravel(),
    "a row less": lambda a: a[:-1],
    "empty": lambda a: a[:0],
    "no columns": lambda a: a[..., :0],
}


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    plain = rng.normal(size=shape) * rng.choice([1.0, 1.0, 1e-3, 1e6])
    if rng.random() < 0.2:
        return np.where(rng.random(shape) < 0.3, rng.choice(ODD_NUMBERS, shape), plain)
    return plain


class Handed:
    """Arguments for the core: mostly valid, occasionally in another layout or simply wrong."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._changes = LAYOUTS if rng.random() < 0.5 else LAYOUTS | OTHERS
        self._share = rng.choice([0.0, 0.0, 0.05, 0.3])  # share of the arguments that are changed

    def array(self, plain: np.ndarray) -> Any:
        if self._rng.random() >= self._share:
            return plain
        with np.errstate(all="ignore"):
            return self._changes[str(self._rng.choice(list(self._changes)))](plain)

    def count(self, sound: int) -> int:
        return int(self._rng.choice(ODD_COUNTS)) if self._rng.random() < 0.1 * self._share else sound

    def number(self, sound: float) -> float:
        return float(self._rng.choice(ODD_NUMBERS)) if self._rng.random() < 0.2 * self._share else sound


# ---- tapes ----------------------------------------------------------------------------------------------------------


def sound_node(rng: np.random.Generator, opcodes: dict[str, int], slot: int, free: int) -> list[int]:
    """A random valid node; the terms of a sum are the edges from the first free one on."""
    name = str(rng.choice(sorted(opcodes)))
    if name == "linear" or rng.random() < 0.3:
        return [opcodes["linear"], free, int(rng.integers(0, 5)), -1]
    arguments = [int(rng.integers(0, slot)) for _ in range(ARGUMENTS.get(name, 1))]
    return [opcodes[name], *arguments, *[-1] * (3 - len(arguments))]


def spoilt(rng: np.random.Generator, whole: np.ndarray) -> np.ndarray:
    """The array with one entry replaced by an arbitrary value."""
    if whole.size:
        whole.flat[rng.integers(whole.size)] = rng.choice([INT32.min, INT32.max, -2, -1, 0, 9, int(rng.integers(99))])
    return whole


def tape_of(core: ModuleType, rng: np.random.Generator, n_inputs: int, n_params: int) -> Any:
    handed = Handed(rng)
    n_nodes, n_edges = int(rng.integers(0, MOST_NODES)), 0
    first = n_inputs + 1
    nodes: list[list[int]] = []
    for k in range(n_nodes):
        nodes.append(sound_node(rng, core.OPCODES, first + k, n_edges))
        n_edges += nodes[-1][2] if nodes[-1][0] == core.OPCODES["linear"] else 0
    # the first node may read every edge, so their sources must precede it
    edges = np.column_stack([rng.integers(0, first, n_edges), rng.integers(-1, n_params, n_edges)])
    whole = {
        "nodes": np.array(nodes, np.int32).reshape(-1, 4),
        "edges": edges.astype(np.int32),
        "aux": rng.integers(first, first + max(n_nodes, 1), rng.integers(0, 3) if n_nodes else 0).astype(np.int32),
        "partner": np.full(n_params, -1, np.int32),
    }
    if n_params > 1:
        whole["partner"][0] = 1
    if rng.random() < 0.3:
        name = str(rng.choice(list(whole)))
        whole[name] = spoilt(rng, whole[name])
    real = {"coefficients": numbers(rng, n_edges), "lower": np.full(n_params, -9.0), "upper": np.full(n_params, 9.0)}
    return core.Tape(
        n_inputs=handed.count(n_inputs),
        n_params=handed.count(n_params),
        output=handed.count(int(rng.integers(0, first + n_nodes))),
        **{name: handed.array(array) for name, array in (whole | real).items()},
    )


# ---- calls ----------------------------------------------------------------------------------------------------------


def adam_options(rng: np.random.Generator, handed: Handed, core: ModuleType, starts: int, n_params: int) -> dict:
    resumed = rng.random() < 0.3
    resumable = bool(resumed or rng.integers(2)) if rng.random() < 0.9 else False
    return {
        "rate": handed.number(1e-2),
        "beta1": handed.number(0.9),
        "beta2": handed.number(0.999),
        "epsilon": handed.number(1e-8),
        "patience": handed.count(2),
        "factor": handed.number(0.1),
        "minimum_rate": handed.number(0.0),
        "threshold": handed.number(0.0),
        "keep_best": bool(rng.integers(2)),
        "resumable": resumable,
        "moments": handed.array(numbers(rng, starts, 2 * n_params)) if resumed else None,
        "state": handed.array(numbers(rng, starts, 4)) if resumed else None,
        **stopping(rng, core, handed, "steps"),
    }


def levenberg_options(rng: np.random.Generator, handed: Handed, core: ModuleType) -> dict:
    names = {"damping": 1e-3, "target": 0.0, "least_reduction": 1e-7}
    options = {name: handed.number(value) for name, value in names.items()}
    return options | {"separable": bool(rng.integers(2))} | stopping(rng, core, handed, "iterations")


def stopping(rng: np.random.Generator, core: ModuleType, handed: Handed, name: str) -> dict:
    """A number of steps, and if that would never end, a stop flag that is already set."""
    steps = handed.count(int(rng.integers(0, 6)))
    flag = core.StopFlag()
    if steps > 100 or rng.random() < 0.1:
        flag.set()
    return {name: steps, "stop": flag if flag.is_set() else None, "time_limit": handed.number(0.0)}


def call(core: ModuleType, number: int) -> bool:
    """Calls one function with one tape and one table; whether the core accepted them. Unexpected errors are passed
    on."""
    rng = np.random.default_rng(number)
    handed = Handed(rng)
    n_inputs, n_params = int(rng.integers(0, 4)), int(rng.integers(0, 5))
    rows, starts = int(rng.integers(1, MOST_ROWS)), int(rng.integers(0, MOST_STARTS))
    x, y, weight = numbers(rng, rows, n_inputs), numbers(rng, rows), rng.random(rows)
    masks, params = (rng.random((starts, n_params)) < 0.8).astype(np.uint8), numbers(rng, starts, n_params)
    single = bool(rng.integers(2))
    name = str(rng.choice(["values", "jacobian", "gradient", "objective", "adam", "levenberg"]))
    if name == "jacobian":
        masks, params = masks[:1], params[:1]
    try:
        tape = tape_of(core, rng, n_inputs, n_params)
        given = [handed.array(x), handed.array(masks), handed.array(params)]
        data = core.Data(given[0], handed.array(y), handed.array(weight), single)
        batch = tape, data, *given[1:]
        options: dict[str, Any] = {}
        if name not in ("values", "jacobian"):
            options = {"ridge": handed.array(np.full(n_params, 0.1)), "aux": handed.number(0.1)}
        if name in ("gradient", "objective", "adam"):
            options["lasso"] = handed.number(0.1)
        if name == "adam":
            options |= adam_options(rng, handed, core, starts, n_params)
        if name == "levenberg":
            options |= levenberg_options(rng, handed, core)
        if name != "jacobian":
            options["threads"] = int(np.clip(handed.count(int(rng.integers(1, 4))), INT32.min, INT32.max))
        result = getattr(core, name)(*batch, **options)
    except REFUSALS:
        return False
    if name == "values" and all(map(holds, given, (x, masks, params))):
        clean = core.values(tape, core.Data(x, y, weight, single), masks, params, 1)
        if not np.array_equal(result, clean, equal_nan=True):
            raise SystemExit(f"call {number}: the values depend on the layout of the arrays.")
    return True


# ---- sampling -------------------------------------------------------------------------------------------------------


def wiring_of(core: ModuleType, rng: np.random.Generator, handed: Handed) -> tuple[Any, np.ndarray, int, int, int]:
    """A wiring, the source nodes of its edges, and its numbers of inputs, units and layers."""
    n_inputs, n_units = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    layers = np.sort(rng.integers(0, min(n_units, 3), n_units))
    sums, source = [], []
    for unit in [*(k for k in range(n_units) for _ in range(rng.integers(0, 3))), n_units]:
        earlier = np.flatnonzero(layers < layers[unit]) if unit < n_units else np.arange(n_units)
        drawn = [*range(n_inputs + 1), *(n_inputs + 1 + earlier)]
        sums.append([n_inputs + 1 + unit, len(source), len(source) + len(drawn), int(rng.integers(2))])
        source += drawn
    imaginary = np.full(len(source), -1)
    imaginary[rng.random(len(source)) < 0.3] = 0
    imaginary = np.where(imaginary == 0, len(source) + np.cumsum(imaginary == 0) - 1, -1)
    whole = {"source": source, "sums": sums, "imaginary": imaginary, "layer_of": layers}
    arrays = {name: np.array(part, np.int32) for name, part in whole.items()}
    if rng.random() < 0.3:
        name = str(rng.choice(list(arrays)))
        arrays[name] = spoilt(rng, arrays[name])
    wiring = core.Wiring(handed.count(n_inputs), **{name: handed.array(array) for name, array in arrays.items()})
    return wiring, np.array(source, np.int32), n_inputs, n_units, int(layers.max()) + 1


def prior_of(core: ModuleType, rng: np.random.Generator, handed: Handed, wiring: tuple) -> Any:
    whole, _, n_inputs, n_units, n_layers = wiring
    shares = ("all_inputs", "low_fan_in", "full_fan_in", "bare_readout", "low_density", "bare_density")
    bits = rng.integers(0, 8, (2, n_units)) if rng.random() < 0.2 else np.zeros((2, n_units), np.int64)
    arrays = {
        "depths": np.linspace(0.5, 1.0, n_layers),
        "units": np.cumsum(np.full((n_layers, n_layers, 4), 0.25), axis=2),
        "weights": rng.random(n_units),
        "inputs_used": np.array([0.5, 1.0][: max(1, n_inputs - 1)]),
        "density": np.array([0.3, 0.9]),
        "readout_density": np.array([0.2, 1.0]),
        "mutations": np.array([0.25, 0.5, 0.75, 1.0]),
        "operators": bits[0],
        "banned": bits[1],
        "needed": (rng.random((int(rng.integers(0, 2)), n_inputs)) < 0.5).astype(np.uint8),
    }
    numbers_ = {name: handed.number(0.4) for name in (*shares, "more_mutations", "more_sources")}
    given = {name: handed.array(array) for name, array in arrays.items()}
    return core.Prior(whole, **given, **numbers_, maximum_edges=int(rng.integers(1, 30)))


def sampling_call(core: ModuleType, number: int) -> bool:
    """Calls one function with a wiring and masks, or a rule and start values; whether the core accepted them."""
    rng = np.random.default_rng(number)
    handed, rows = Handed(rng), int(rng.integers(0, 200))
    name = str(rng.choice(["clean", "smooth", "permitted", "draw", "breed", "start_values", "inherit", "packed"]))
    how = {"key": int(rng.integers(2**63)), "first": abs(handed.count(3))}
    threads = {"threads": int(rng.integers(1, 4))}
    try:
        wiring = wiring_of(core, rng, handed)
        masks = handed.array(rng.integers(0, 3, (rows, len(wiring[1]))).astype(np.uint8))
        if name in ("clean", "smooth"):
            getattr(core, name)(wiring[0], masks, **threads)
        elif name in ("permitted", "draw", "breed"):
            prior = prior_of(core, rng, handed, wiring)
            given: dict[str, Any] = {
                "permitted": {"edges": masks},
                "draw": {"count": handed.count(rows % 20), **how},
                "breed": {"parents": masks, "graft": bool(rng.integers(2)), **how},
            }[name]
            getattr(core, name)(wiring[0], prior, **given, **threads)
        else:
            first = handed.array(np.array([0, 2, 2], np.int32))
            shares = {n: handed.number(0.5) for n in ("scale", "oscillating", "fastest", "in_rhythm", "rhythm_error")}
            shrunk = {"shrunk_real": 0.3, "shrunk_imaginary": 0.5, "first_imaginary": handed.count(5) % 2**31}
            source = handed.array(wiring[1] - 1)
            rule = core.StartRule(**shares, **shrunk, source=source, first=first, rhythms=handed.array(numbers(rng, 2)))
            values = core.start_values(rule, masks, **how, **threads)
            if name == "inherit":
                parents = handed.array(rng.integers(-1, 3, rows))
                core.inherit(rule, handed.array(values), masks, numbers(rng, 3, len(wiring[1])), parents, **threads)
            if name == "packed":
                core.packed(masks, handed.array(values), **threads)
    except (*REFUSALS, RuntimeError):  # there may be no sub-network that keeps to the limits
        return False
    return True


def holds(given: Any, plain: np.ndarray) -> bool:
    """Whether an array has the same numbers, in any layout."""
    return isinstance(given, np.ndarray) and given.dtype.kind != "O" and np.array_equal(given, plain, equal_nan=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extension", type=Path, help="the compiled core")
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--note", type=Path, help="file that holds the number of the call under way")
    arguments = parser.parse_args()
    np.seterr(all="ignore")  # NaN turned into integers is part of the game
    core = loaded(arguments.extension)
    taken = 0
    for number in range(arguments.first, arguments.first + arguments.calls):
        if arguments.note:
            arguments.note.write_text(f"{number}\n")
        taken += (sampling_call if number % 4 == 0 else call)(core, number)
    print(f"{arguments.calls} calls, {taken} of them taken and the others refused.")


if __name__ == "__main__":
    main()
