"""PySR with the paper's settings. It needs Julia, so it runs only where it is installed."""

# pyright: reportMissingImports=false
from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ceql.bench.methods import Adapter, Found


@dataclass(frozen=True)
class Pysr(Adapter):
    """The paper's table of PySR settings, with the time limit on top."""

    requires: ClassVar = (("pysr", "pysr"),)
    iterations: int = 1000
    population_size: int = 27
    populations: int = 200
    max_size: int = 20
    unary: tuple[str, ...] = ("log", "sqrt", "square")
    binary: tuple[str, ...] = ("+", "-", "*", "/")
    crossover_probability: float = 0.0259
    tournament_n: int = 15
    tournament_p: float = 0.982

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from pysr import PySRRegressor

        model = PySRRegressor(
            niterations=self.iterations,
            population_size=self.population_size,
            populations=self.populations,
            maxsize=self.max_size,
            unary_operators=list(self.unary),
            binary_operators=list(self.binary),
            elementwise_loss="loss(x, y) = (x - y)^2",
            model_selection="best",
            crossover_probability=self.crossover_probability,
            tournament_selection_n=self.tournament_n,
            tournament_selection_p=self.tournament_p,
            timeout_in_seconds=time_limit,
            precision=64,
            # The same answer from the same seed needs one thread.
            deterministic=True,
            parallelism="serial",
            random_state=seed,
            progress=False,
            verbosity=0,
            temp_equation_file=True,
        )
        start = time.perf_counter()
        model.fit(X, y, variable_names=list(names))
        # SymPy's printer, not PySR's own text, which writes square(x).
        return Found(str(model.sympy()), time.perf_counter() - start)
