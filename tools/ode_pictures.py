"""Draws the picture of docs/dynamics.md into a folder: python tools/ode_pictures.py docs/images"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

from ceql import ODERegressor
from ceql.output.plots.canvas import new_figure, save_figure

_STARTS = {"first": (30.0, 4.0), "second": (60.0, 25.0)}


def prey_and_predator() -> pd.DataFrame:
    """Two trajectories at 80 uneven times each, with noise of 2 % of the motion."""
    rng = np.random.default_rng(0)
    runs = []
    for label, start in _STARTS.items():
        time = np.sort(rng.uniform(0.0, 20.0, 80))
        solved = solve_ivp(
            lambda _, y: [0.5 * y[0] - 0.025 * y[0] * y[1], 0.01 * y[0] * y[1] - 0.8 * y[1]],
            (0.0, 20.0),
            start,
            t_eval=time,
            rtol=1e-9,
        ).y.T
        noisy = solved + 0.02 * solved.std(axis=0) * rng.standard_normal(solved.shape)
        runs.append(pd.DataFrame({"run": label, "t": time, "prey": noisy[:, 0], "predator": noisy[:, 1]}))
    return pd.concat(runs, ignore_index=True)


def main(folder: Path) -> None:
    model = ODERegressor().fit(prey_and_predator(), states=["prey", "predator"], trajectory="run")
    figure = new_figure(6.6, 5.6)
    model.plot_phase(figure.subplots())
    save_figure(figure, folder / "ode-portrait.png", dpi=80)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
