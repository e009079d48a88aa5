"""`ceql demo`: finds a formula with a pole in two variables and shows the steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ceql.bench.problems import load_problem, sample
from ceql.errors import CeqlError, InputError
from ceql.estimator.regressor import CEQLRegressor
from ceql.formula import mean_square
from ceql.storage.files import require_writable


def run_demo(seed: int, out: Path, verbose: bool | None, say: Callable[[str], None]) -> CEQLRegressor:
    if not out.absolute().parent.is_dir():
        raise InputError(f"There is no folder {out.absolute().parent} to save the plot in.")
    require_writable(out)
    problem = load_problem("E-8")
    samples = sample(problem, seed)
    say(f"Data: {len(samples.y_train)} points of an unknown function of x1 and x2 in [-2, 2] x [-2, 2].")
    say(f"Its values reach {np.abs(samples.y_train).max():.0f}: somewhere there is a pole.\n")
    begin = time.perf_counter()
    model = CEQLRegressor(random_state=seed, verbose=None if verbose else False).fit(samples.X_train, samples.y_train)
    seconds = time.perf_counter() - begin
    best = model.discovery_.best
    say(f"Found in {seconds:.1f} s after {model.discovery_.starts:,} starts:\n")
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
    try:
        from ceql.output.plots.canvas import save_figure
        from ceql.output.plots.surface_plot import plot_surface

        save_figure(plot_surface(model, samples.X_train, samples.y_train), out, dpi=150)
        say(f"Plot saved to {out}")
    except CeqlError as error:
        say(f"No plot: {error}")
    return model
