from typing import Any

import numpy as np
from numpy.typing import NDArray

OPCODES: dict[str, int]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Singles = NDArray[np.float32]

class Tape:
    def __init__(
        self,
        n_inputs: int,
        nodes: Ints,
        edges: Ints,
        coefficients: Floats,
        n_params: int,
        output: int,
        aux: Ints,
        partner: Ints,
        lower: Floats,
        upper: Floats,
    ) -> None: ...

class Data:
    def __init__(self, x: Floats, y: Floats, weight: Floats, single_precision: bool, mixing: Floats) -> None: ...

class StopFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    def is_set(self) -> bool: ...

class Wiring:
    def __init__(self, n_inputs: int, source: Ints, sums: Ints, imaginary: Ints, layer_of: Ints) -> None: ...

class Prior:
    def __init__(
        self,
        wiring: Wiring,
        depths: Floats,
        units: Floats,
        weights: Floats,
        inputs_used: Floats,
        all_inputs: float,
        low_fan_in: float,
        full_fan_in: float,
        bare_readout: float,
        low_density: float,
        density: Floats,
        bare_density: float,
        readout_density: Floats,
        mutations: Floats,
        more_mutations: float,
        more_sources: float,
        maximum_edges: int,
        operators: NDArray[np.int64],
        banned: NDArray[np.int64],
        needed: Bytes,
    ) -> None: ...

class StartRule:
    def __init__(
        self,
        scale: float,
        oscillating: float,
        fastest: float,
        in_rhythm: float,
        rhythm_error: float,
        source: Ints,
        first: Ints,
        rhythms: Floats,
        shrunk_real: float,
        shrunk_imaginary: float,
        first_imaginary: int,
    ) -> None: ...

def clean(wiring: Wiring, edges: Bytes, threads: int) -> Bytes: ...
def smooth(wiring: Wiring, edges: Bytes, threads: int) -> Bytes: ...
def permitted(wiring: Wiring, prior: Prior, edges: Bytes, threads: int) -> Bytes: ...
def draw(wiring: Wiring, prior: Prior, key: int, first: int, count: int, threads: int) -> Bytes: ...
def breed(wiring: Wiring, prior: Prior, parents: Bytes, graft: bool, key: int, first: int, threads: int) -> Bytes: ...
def start_values(rule: StartRule, masks: Bytes, key: int, first: int, threads: int) -> Floats: ...
def inherit(
    rule: StartRule, params: Floats, masks: Bytes, known: Floats, parents: NDArray[np.int64], threads: int
) -> None: ...
def packed(masks: Bytes, params: Floats, threads: int) -> tuple[Floats, NDArray[np.int64]]: ...
def values(tape: Tape, data: Data, masks: Bytes, params: Floats, threads: int) -> Floats: ...
def jacobian(tape: Tape, data: Data, mask: Bytes, params: Floats) -> tuple[Floats, Floats]: ...
def gradient(
    tape: Tape,
    data: Data,
    masks: Bytes,
    params: Floats,
    ridge: Floats,
    lasso: float,
    aux: float,
    threads: int,
) -> dict[str, Any]: ...
def objective(
    tape: Tape,
    data: Data,
    masks: Bytes,
    params: Floats,
    ridge: Floats,
    lasso: float,
    aux: float,
    threads: int,
) -> dict[str, Any]: ...
def adam(
    tape: Tape,
    data: Data,
    masks: Bytes,
    params: Floats,
    ridge: Floats,
    lasso: float,
    aux: float,
    steps: int,
    rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    patience: int,
    factor: float,
    minimum_rate: float,
    threshold: float,
    keep_best: bool,
    resumable: bool,
    moments: Floats | None,
    state: Floats | None,
    threads: int,
    stop: StopFlag | None,
    time_limit: float,
) -> dict[str, Any]: ...
def levenberg(
    tape: Tape,
    data: Data,
    masks: Bytes,
    params: Floats,
    ridge: Floats,
    aux: float,
    iterations: int,
    damping: float,
    target: float,
    least_reduction: float,
    separable: bool,
    threads: int,
    stop: StopFlag | None,
    time_limit: float,
) -> dict[str, Any]: ...
def best_pairs(
    first: Singles,
    second: Singles,
    along: Singles,
    rest: Singles,
    present: Singles,
    prices: Singles,
    other_prices: Singles,
    most: int,
    weight: float,
    least_left: float,
    too_much: float,
    rounding: float,
    ordered: bool,
    threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> None: ...
