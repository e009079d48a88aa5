"""Operon (pyoperon): genetic programming with local optimisation of the constants."""

# pyright: reportMissingImports=false
from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np

from ceql.bench.baselines.front import Data, Rough, Row, best_row, refitted, rounding, without_neutral
from ceql.bench.methods import Adapter, Found

_BINARY = {"+": "({} + {})", "-": "({} - {})", "*": "({}*{})", "/": "({}/{})"}
_UNARY = {"square": "({}**2)"}


@dataclass(frozen=True)
class Operon(Adapter):
    """Two objectives (error and length), all the time there is, PySR's rule on the front.

    Operon computes in float32. Every formula of its front is refitted in float64 before one is chosen.
    """

    requires: ClassVar = (("pyoperon", "pyoperon"),)
    operators: tuple[str, ...] = ("add", "sub", "mul", "div", "log", "sqrt", "square")
    population: int = 1000
    local_iterations: int = 10
    max_length: int = 30
    threads: int = 1

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from pyoperon.sklearn import SymbolicRegressor

        start = time.perf_counter()
        model = SymbolicRegressor(
            allowed_symbols=",".join((*self.operators, "constant", "variable")),
            objectives=["mse", "length"],
            optimizer_iterations=self.local_iterations,
            population_size=self.population,
            max_length=self.max_length,
            n_threads=self.threads,
            max_time=max(1, round(time_limit)),
            # Time alone ends the run.
            generations=10**6,
            max_evaluations=10**9,
            random_state=seed,
        )
        model.fit(X, y)
        labels = dict(zip(model.variables_, names, strict=True))
        data = Data(X, y, names)
        sizes = [entry["length"] for entry in model.pareto_front_]
        trees = [entry["tree"].Nodes for entry in model.pareto_front_]
        roughs = [Rough(partial(infix, nodes, labels), leaves(nodes)) for nodes in trees]
        rows = [Row(size, *refitted(rough, data), rough) for size, rough in zip(sizes, roughs, strict=True)]
        floor = rounding(y)
        best = best_row(rows, floor)
        expression = without_neutral(best.source, data, best.loss, best.expression, floor)
        extra = {"generations": model.stats_["generations"]}
        return Found(expression, time.perf_counter() - start, extra=extra)


def leaves(nodes: Sequence[Any]) -> list[float]:
    """The constants of an Operon tree: a leaf is a number or a weighted variable."""
    return [float(node.Value) for node in nodes if node.Arity == 0]


def infix(nodes: Sequence[Any], labels: Mapping[int, str], constants: Sequence[str]) -> str:
    """The formula of an Operon tree, given as its nodes in postfix order, the first operand last."""
    stack: list[str] = []
    values = iter(constants)
    for node in nodes:
        if node.Arity == 0:
            value = next(values)
            stack.append(f"({value}*{labels[node.HashValue]})" if node.IsVariable else f"({value})")
        else:
            operands = [stack.pop() for _ in range(node.Arity)]
            if node.Name in _BINARY:  # sums and products of Operon may have any number of operands
                stack.append(reduce(_BINARY[node.Name].format, operands))
            else:
                stack.append(_UNARY.get(node.Name, f"{node.Name}({{}})").format(*operands))
    return stack[-1]
