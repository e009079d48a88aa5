from typing import Any

import numpy as np
from numpy.typing import NDArray

OPCODES: dict[str, int]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]

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
    def __init__(self, x: Floats, y: Floats, weight: Floats, single_precision: bool) -> None: ...

class StopFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    def is_set(self) -> bool: ...

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
def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> None: ...
