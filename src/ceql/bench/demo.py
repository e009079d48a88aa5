"""Runs `ceql demo`: finds a formula with a pole and a logarithm, and shows how complex weights get there."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ceql.bench.pole_paths import Paths, follow
from ceql.bench.problems import load_problem, sample
from ceql.errors import CeqlError, InputError
from ceql.estimator.regressor import CEQLRegressor
from ceql.formula import mean_square
from ceql.storage.files import require_writable

PROBLEM = "logpole-1"
STARTS = 256  # random starts of the same small network, with complex and with real weights


def run_demo(seed: int, out: Path, verbose: bool | None, say: Callable[[str], None]) -> CEQLRegressor:
    if not out.absolute().parent.is_dir():
        raise InputError(f"There is no folder {out.absolute().parent} to save the plot in.")
    require_writable(out)
    problem = load_problem(PROBLEM)
    samples = sample(problem, seed)
    say(f"Data: {len(samples.y_train)} points of an unknown function of x1, drawn from [-2, 2].")
    largest, last = np.abs(samples.y_train).max(), samples.X_train.max()
    say(f"Its values reach {largest:.0f}: a pole. Above x1 = {last:.2f} it has none: a logarithm or a root.\n")
    begin = time.perf_counter()
    model = CEQLRegressor(random_state=seed, verbose=None if verbose else False).fit(samples.X_train, samples.y_train)
    seconds = time.perf_counter() - begin
    best = model.discovery_.best
    say(f"Found in {seconds:.1f} s after {model.discovery_.starts:,} starts of small networks with complex weights:\n")
    say(f"  y = {model.sympy(form='readable')}")
    say(f"  y = {best}   (smallest form, {best.complexity} nodes)")
    say(f"  LaTeX: {model.latex(form='readable')}\n")
    for pole in model.poles_:
        say(f"  {pole.kind}: {pole}")
    for where, x, y in (
        ("inside the training range", samples.X_interp, samples.y_interp),
        ("outside of it           ", samples.X_extrap, samples.y_extrap),
    ):
        say(f"  mean squared error {where}: {mean_square(model.predict(x) - y, np.ones(len(y))):.1e} ({len(y)} points)")
    say(f"  the truth was {problem.expression}\n")
    free, real = (follow(samples.X_train, samples.y_train, seed, STARTS, kind) for kind in (True, False))
    say(f"One network with a log and a quotient, {STARTS} random starts, the same ones twice:")
    say(f"  complex weights, pushed onto the real axis at the end: {free.arrived.sum()} reach the formula")
    say(f"  real weights:                                          {real.arrived.sum()} reach it\n")
    _save_picture(model, samples.X_train, samples.y_train, (free, real), out, say)
    return model


def _save_picture(
    model: CEQLRegressor,
    X: np.ndarray,
    y: np.ndarray,
    paths: tuple[Paths, Paths],
    out: Path,
    say: Callable[[str], None],
) -> None:
    try:
        from ceql.bench.figures.sliding_poles import draw
        from ceql.output.plots.canvas import save_figure

        save_figure(draw(model, X, y, *paths), out, dpi=110)
        say(f"Plot saved to {out}")
    except CeqlError as error:
        say(f"No plot: {error}")
