"""Our own method, its real-valued twin and the paper's recipe, as a user would call them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ceql.bench.methods import Adapter, Found


@dataclass(frozen=True)
class Own(Adapter):
    """`CEQLRegressor` with its defaults, but for what is set here."""

    imports: ClassVar = ("ceql.estimator",)
    recipe: str = "search"
    operators: tuple[str, ...] | None = None

    def arguments(self, seed: int, time_limit: float) -> dict[str, Any]:
        """The arguments of `CEQLRegressor`; what is left at its default is not passed."""
        chosen: dict[str, Any] = {"random_state": seed, "time_limit": time_limit}
        if self.recipe != "search":
            chosen["recipe"] = self.recipe
        if self.operators is not None:
            chosen["operators"] = list(self.operators)
        return chosen

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        return fitted(X, y, names, self.arguments(seed, time_limit))


@dataclass(frozen=True)
class Paper(Adapter):
    """`CEQLRegressor(recipe="paper")`, or with the recipe changed in one of the ways an ablation asks about.

    `log` and `sqrt` are how many of them the second layer has, `identities` how many `id` the first has: without skip
    connections no linear term would reach the second layer. Without `refit` the network is read off as the schedule
    leaves it, its imaginary parts dropped: our pipeline would refit and round the constants, and so mend what a variant
    has missed. The schedule has a fixed length: a time limit does not apply to it.
    """

    imports: ClassVar = ("ceql.estimator",)
    timed: ClassVar = False
    complex_weights: bool = True
    imaginary_penalty: bool = True
    skips: bool = True
    identities: int = 0
    log: int = 2
    sqrt: int = 2
    passes_complex: bool = False
    refit: bool = True

    def recipe(self) -> Any:
        from ceql.training import recipes

        paper = recipes.paper()
        first, second = paper.layers
        counts = {"id": 1, "log": self.log, "sqrt": self.sqrt, "div": second["div"]}
        phases = paper.phases
        if not self.imaginary_penalty:
            phases = tuple(replace(phase, imaginary=0.0) for phase in phases)
        if self.identities:
            first = {**first, "id": self.identities}
        return replace(
            paper,
            layers=(first, {name: count for name, count in counts.items() if count}),
            phases=phases,
            skip=paper.skip if self.skips else "none",
            passes_complex=self.passes_complex,
            complex_weights=self.complex_weights,
        )

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        if not self.refit:
            return as_trained(X, y, names, self.recipe(), seed)
        return fitted(X, y, names, {"recipe": self.recipe(), "random_state": seed})


def as_trained(X: np.ndarray, y: np.ndarray, names: tuple[str, ...], recipe: Any, seed: int) -> Found:
    """The network as the schedule leaves it, put on the real axis and written out."""
    from ceql.bench.points import columns
    from ceql.network.extract import extract, upright
    from ceql.training import train

    start = time.perf_counter()
    trained = train(X, y, recipe, seed)
    params = upright(trained.network, trained.edges, trained.on_real_axis().params, X)
    expression = extract(trained.network, trained.edges, params, columns(names))
    extra = {"imaginary_residue": trained.imaginary_residue}
    return Found(expression, time.perf_counter() - start, extra=extra)


def fitted(X: np.ndarray, y: np.ndarray, names: tuple[str, ...], arguments: dict[str, Any]) -> Found:
    """What `CEQLRegressor` finds with these arguments."""
    import pandas as pd

    from ceql import CEQLRegressor

    # A frame, so that the formula comes back in the problem's own names.
    frame = pd.DataFrame(X, columns=list(names))
    model = CEQLRegressor(**arguments)
    start = time.perf_counter()
    model.fit(frame, y)
    expression = model.sympy()
    seconds = time.perf_counter() - start
    return Found(expression, seconds, front=tuple(formula.expression for formula in model.discovery_.front))
