"""Adapters for other systems: AAA, SINDy, PySR, gplearn and Operon."""

# pyright: reportMissingImports=false
from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from ceql.bench.baselines.front import Data, Rough, Row, best_row, pareto, refitted, rounding, without_neutral
from ceql.bench.errors import MethodError
from ceql.bench.methods import Adapter, Found
from ceql.expression import FormulaError

_GPLEARN = {"add": "({} + {})", "sub": "({} - {})", "mul": "({}*{})", "div": "({}/{})", "neg": "(-{})", "inv": "(1/{})"}
# gplearn computes log and sqrt of the absolute value, which the formula must show.
_GPLEARN |= {"log": "log(Abs({}))", "sqrt": "sqrt(Abs({}))"}
_BINARY = {"+": "({} + {})", "-": "({} - {})", "*": "({}*{})", "/": "({}/{})", "pow": "({}**{})"}
_LARGEST_EXPONENT = 700.0  # of exponentials in double precision; larger ones square to infinity and are never the best
_UNARY = {"square": "({}**2)"}


@dataclass(frozen=True)
class Aaa(Adapter):
    """The AAA algorithm of SciPy, with its barycentric form written as a quotient of polynomials."""

    requires: ClassVar = (("scipy", "scipy"),)
    relative_tolerance: float = 1e-13
    max_terms: int = 20
    # Coefficients that contribute less than this to their polynomial are the rounding of a lower degree.
    negligible: float = 1e-11

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        if X.shape[1] != 1:
            raise MethodError(f"AAA is made for one variable; this problem has {X.shape[1]} columns.")
        from scipy.interpolate import AAA

        x = X[:, 0]
        with warnings.catch_warnings():
            # It warns if the target is not rational, which the scores show anyway.
            warnings.simplefilter("ignore", RuntimeWarning)
            fit = AAA(x, y, rtol=self.relative_tolerance, max_terms=self.max_terms)
        numerator, denominator = quotient(fit.support_points, fit.support_values, fit.weights)
        scale = float(np.abs(x).max())
        top, bottom = (trimmed(c, scale, self.negligible) for c in (numerator, denominator))
        text = f"({polynomial(top / bottom[-1], names[0])})/({polynomial(bottom / bottom[-1], names[0])})"
        return Found(text, extra={"support_points": len(fit.support_points)})


def quotient(points: np.ndarray, values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numerator and denominator of a barycentric rational, as coefficients from the constant up."""
    bases = [np.polynomial.polynomial.polyfromroots(np.delete(points, j)) for j in range(len(points))]
    terms = np.real(bases) * np.real(weights)[:, None]
    return np.real(values) @ terms, terms.sum(axis=0)


def trimmed(coefficients: np.ndarray, scale: float, negligible: float) -> np.ndarray:
    """The polynomial without leading coefficients that are negligible up to |x| = scale."""
    sizes = np.abs(coefficients) * scale ** np.arange(len(coefficients))
    keep = np.flatnonzero(sizes > negligible * sizes.max())
    return coefficients[: keep[-1] + 1] if len(keep) else np.zeros(1)


def polynomial(coefficients: np.ndarray, name: str) -> str:
    """A polynomial as text."""
    return " + ".join(f"({float(c)!r})*{name}**{k}" if k else f"({float(c)!r})" for k, c in enumerate(coefficients))


@dataclass(frozen=True)
class Sindy(Adapter):
    """SINDy (pysindy) as a static regression: a fixed library of terms, thresholded least squares.

    The library (1, x, x^2, x_i x_j, log|x|, sqrt|x|, x_i/x_j for i < j) and the STLSQ settings are the paper's. The
    paper's stabilisers (1e-12 inside log, 1e-6 in denominators) are left out: no sample is that close to zero, and this
    way the judged formula is the fitted one. Large features are clipped during the fit, as in the paper.
    """

    requires: ClassVar = (("pysindy", "pysindy"),)
    threshold: float = 1e-2
    alpha: float = 1e-6
    max_iterations: int = 1000
    clip: float = 1e6
    zero: float = 1e-12

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from pysindy import STLSQ

        texts, values = zip(*library(X, names), strict=True)
        features = np.clip(np.column_stack(values), -self.clip, self.clip)
        optimizer = STLSQ(
            threshold=self.threshold, alpha=self.alpha, max_iter=self.max_iterations, normalize_columns=True
        )
        optimizer.fit(features, y[:, None])
        weights = np.ravel(optimizer.coef_)
        terms = [f"({float(w)!r})*{text}" for w, text in zip(weights, texts, strict=True) if abs(w) > self.zero]
        return Found(" + ".join(terms) or "0")


def library(X: np.ndarray, names: tuple[str, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the terms of the library, each as text and as values."""
    yield "1", np.ones(len(X))
    columns = list(zip(names, X.T, strict=True))
    for name, x in columns:
        yield name, x
        yield f"{name}**2", x**2
        yield f"log(Abs({name}))", np.log(np.abs(x))
        yield f"sqrt(Abs({name}))", np.sqrt(np.abs(x))
    for (a, x), (b, z) in combinations(columns, 2):
        yield f"{a}*{b}", x * z
        yield f"{a}/{b}", x / z


@dataclass(frozen=True)
class Pysr(Adapter):
    """PySR with the paper's settings and the time limit in addition. It needs Julia."""

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
            # Only one thread gives the same answer from the same seed.
            deterministic=True,
            parallelism="serial",
            random_state=seed,
            progress=False,
            verbosity=0,
            temp_equation_file=True,
        )
        model.fit(X, y, variable_names=list(names))
        # Printed by SymPy, since PySR's own text contains square(x).
        return Found(str(model.sympy()))


@dataclass(frozen=True)
class Gplearn(Adapter):
    """Classical genetic programming; generations are run until the time is up. Constants are drawn, never fitted."""

    requires: ClassVar = (("gplearn", "gplearn"),)
    operators: tuple[str, ...] = ("add", "sub", "mul", "div", "log", "sqrt")
    population: int = 1000
    generations_per_step: int = 1
    parsimony: float = 0.001
    constants: tuple[float, float] = (-3.0, 3.0)
    stop_below: float = 1e-20

    @np.errstate(over="ignore", invalid="ignore")  # bad programs may overflow
    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from gplearn.genetic import SymbolicRegressor

        start = time.perf_counter()
        model = SymbolicRegressor(
            population_size=self.population,
            generations=self.generations_per_step,
            function_set=[_exponential() if name == "exp" else name for name in self.operators],
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
        # It has no front: take the programs of the last generation that are better than every smaller one.
        last = pareto((p.length_, p.raw_fitness_, p) for p in model._programs[-1] if np.isfinite(p.raw_fitness_))
        front = tuple(from_prefix(program.program, names) for _, _, program in last)
        return Found(from_prefix(best.program, names), extra={"generations": model.generations}, front=front)


def _exponential() -> Any:
    """An exponential function for gplearn, which has none."""
    from gplearn.functions import make_function

    return make_function(function=lambda x: np.exp(np.minimum(x, _LARGEST_EXPONENT)), name="exp", arity=1, wrap=False)


def from_prefix(program: Sequence[Any], names: Sequence[str]) -> str:
    """The formula of a gplearn program, which is given in prefix order."""
    stack: list[str] = []
    for item in reversed(program):
        if isinstance(item, int | np.integer):
            stack.append(names[int(item)])
        elif isinstance(item, float | np.floating):
            stack.append(f"({float(item)!r})")
        else:
            operands = [stack.pop() for _ in range(item.arity)]
            stack.append(_GPLEARN.get(item.name, f"{item.name}({{}})").format(*operands))
    return stack[-1]


@dataclass(frozen=True)
class Operon(Adapter):
    """Operon (pyoperon): genetic programming with local optimisation of the constants.

    It has two objectives (error and length) and uses the whole time limit; PySR's rule chooses from the front. Operon
    computes in float32, so every formula of its front is refitted in float64 before one is chosen.
    """

    requires: ClassVar = (("pyoperon", "pyoperon"),)
    operators: tuple[str, ...] = ("add", "sub", "mul", "div", "log", "sqrt", "square")
    population: int = 1000
    local_iterations: int = 10
    max_length: int = 30
    threads: int = 1

    def run(self, X: np.ndarray, y: np.ndarray, names: tuple[str, ...], seed: int, time_limit: float) -> Found:
        from pyoperon.sklearn import SymbolicRegressor

        model = SymbolicRegressor(
            allowed_symbols=",".join((*self.operators, "constant", "variable")),
            objectives=["mse", "length"],
            optimizer_iterations=self.local_iterations,
            population_size=self.population,
            max_length=self.max_length,
            n_threads=self.threads,
            max_time=max(1, round(time_limit)),
            # Only the time limit ends the run.
            generations=10**6,
            max_evaluations=10**9,
            random_state=seed,
        )
        model.fit(X, y)
        labels = dict(zip(model.variables_, names, strict=True))
        data = Data(X, y, names)
        sizes = [entry["length"] for entry in model.pareto_front_]
        trees = [entry["tree"].Nodes for entry in model.pareto_front_]
        roughs = [Rough(partial(from_postfix, nodes, labels), leaves(nodes)) for nodes in trees]
        rows = list(readable_rows(zip(sizes, roughs, strict=True), data))
        floor = rounding(y)
        best = best_row(rows, floor)
        expression = without_neutral(best.source, data, best.loss, best.expression, floor)
        extra = {"generations": model.stats_["generations"], "unreadable": len(roughs) - len(rows)}
        return Found(expression, extra=extra, front=tuple(row.expression for row in rows))


def readable_rows(front: Iterable[tuple[int, Rough]], data: Data) -> Iterator[Row]:
    """Yields the refitted formulas, except those that cannot be parsed, such as a power of a thousand."""
    for size, rough in front:
        try:
            yield Row(size, *refitted(rough, data), rough)
        except FormulaError:
            continue


def leaves(nodes: Sequence[Any]) -> list[float]:
    """The constants of an Operon tree; a leaf is a number or a weighted variable."""
    return [float(node.Value) for node in nodes if node.Arity == 0]


def from_postfix(nodes: Sequence[Any], labels: Mapping[int, str], constants: Sequence[str]) -> str:
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
