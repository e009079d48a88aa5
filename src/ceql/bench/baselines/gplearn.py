"""gplearn: classical genetic programming."""

# pyright: reportMissingImports=false
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ceql.bench.methods import Adapter, Found

_TEXT = {"add": "({} + {})", "sub": "({} - {})", "mul": "({}*{})", "div": "({}/{})", "neg": "(-{})", "inv": "(1/{})"}
# gplearn guards log and sqrt with an absolute value, which the formula must show.
_TEXT |= {"log": "log(Abs({}))", "sqrt": "sqrt(Abs({}))"}


@dataclass(frozen=True)
class Gplearn(Adapter):
    """Generations until the time is up. Its constants are drawn, never fitted."""

    requires: ClassVar = (("gplearn", "gplearn"),)
    operators: tuple[str, ...] = ("add", "sub", "mul", "div", "log", "sqrt")
    population: int = 1000
    generations_per_step: int = 1
    parsimony: float = 0.001
    constants: tuple[float, float] = (-3.0, 3.0)
    stop_below: float = 1e-20

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from gplearn.genetic import SymbolicRegressor

        start = time.perf_counter()
        model = SymbolicRegressor(
            population_size=self.population,
            generations=self.generations_per_step,
            function_set=self.operators,
            const_range=self.constants,
            metric="mse",
            parsimony_coefficient=self.parsimony,
            stopping_criteria=self.stop_below,
            n_jobs=1,
            warm_start=True,
            low_memory=True,
            random_state=seed,
        )
        while True:
            model.fit(X, y)
            best = model._program
            if best.raw_fitness_ < self.stop_below or time.perf_counter() - start > time_limit:
                break
            model.set_params(generations=model.generations + self.generations_per_step)
        extra = {"generations": model.generations}
        return Found(infix(best.program, names), time.perf_counter() - start, extra=extra)


def infix(program: Sequence[Any], names: Sequence[str]) -> str:
    """The formula of a gplearn program, given in prefix order."""
    stack: list[str] = []
    for item in reversed(program):
        if isinstance(item, int | np.integer):
            stack.append(names[int(item)])
        elif isinstance(item, float | np.floating):
            stack.append(f"({float(item)!r})")
        else:
            operands = [stack.pop() for _ in range(item.arity)]
            stack.append(_TEXT.get(item.name, f"{item.name}({{}})").format(*operands))
    return stack[-1]
