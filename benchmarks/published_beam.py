"""The paper's measured beam as published: its model with 20 resonances and two-layer h(d), from 0 Hz, and its formula.

    python benchmarks/published_beam.py DATA [--every 8] [--seed 0] [--shorten 1] [--figures FOLDER]

DATA is the folder of the beam's measurements (docs/resonances.md says where to get them). It prints the R2 of the
formula printed in the paper, of the model trained here, and of the formula read from that model in the paper's way;
also the peaks by the paper's definition beside those of our own fit of the same form (`ceql frf --form paper`).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import beam
import numpy as np
import sympy

from ceql.bench.figures import published_beam
from ceql.bench.published_frf import PRINTED, ResonatorRecipe, peaks, train
from ceql.expression import compile_numpy, parse_formula
from ceql.output.plots.canvas import save_figure
from ceql.templates.resonance import fit_resonances

BAND = (0.0, 2000.0)


def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies in kHz from 0 Hz on, and linear magnitudes, (levels, repetitions, points)."""
    beam.BAND = BAND
    frequency, magnitude = beam.read(folder)
    return frequency / 1000.0, magnitude


def evaluated(expression: Any, frequency: np.ndarray, damage: np.ndarray) -> np.ndarray:
    """The values of a formula in w and d, (damages, frequencies)."""
    named = {symbol.name: symbol for symbol in expression.free_symbols}
    symbols = [named.get(name, sympy.Symbol(name)) for name in ("w", "d")]
    x = np.column_stack([np.tile(frequency, len(damage)), np.repeat(damage, len(frequency))])
    return compile_numpy(expression, symbols)(x).reshape(len(damage), len(frequency))


def show(name: str, mean: np.ndarray, curves: np.ndarray, truth: np.ndarray, frequency: np.ndarray) -> None:
    each = " ".join(f"{beam.r_squared(m, c):9.3g}" for m, c in zip(mean, curves, strict=True))
    error = 1000.0 * np.abs(peaks(frequency, curves) - truth)
    print(
        f"{name:34} {beam.r_squared(mean, curves):9.3g}  {each}   peaks off by {error.mean():.1f}, {error.max():.1f} Hz"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=8, help="train on every so many points of a curve")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shorten", type=int, default=1, help="divide the epochs of the schedule by this")
    parser.add_argument("--figures", type=Path, help="folder for the paper's two figures")
    options = parser.parse_args()
    frequency, magnitude = read(options.data)
    damage, mean = beam.DAMAGE[:, 0], magnitude.mean(axis=1)
    truth = np.array([peaks(frequency, level).mean(axis=0) for level in magnitude])
    print(f"{'R2 on the mean of 70 repetitions':34} {'all':>9}  " + " ".join(f"{d:8g}%" for d in damage))
    printed = parse_formula(" ".join(PRINTED.split()), ("w", "d"))
    show("formula printed in the paper", mean, evaluated(printed, frequency, damage), truth, frequency)
    begin = time.process_time()
    recipe = ResonatorRecipe().shortened(options.shorten)
    few = slice(None, None, options.every)
    model = train(frequency[few], damage, mean[:, few], recipe, options.seed)
    seconds = time.process_time() - begin
    predicted, formula = model.predict(frequency, damage), model.formula()
    alive = f"{model.edges.sum()} edges, {model.edges.any(axis=1).sum()} resonances, {seconds:.0f} s"
    show(f"published model, {alive}", mean, predicted, truth, frequency)
    show("its formula, read the paper's way", mean, evaluated(formula, frequency, damage), truth, frequency)
    ours = fit_resonances(frequency[1:], mean[:, 1:], beam.DAMAGE, form="paper", seed=options.seed, threads=1)
    show("ceql, paper's form, g > 0", mean, ours.predict(frequency, beam.DAMAGE), truth, frequency)
    print("mean peaks, kHz: measured", truth.round(4).tolist(), "published model", peaks(frequency, predicted).tolist())
    short: Any = formula.xreplace({n: sympy.Float(n, 5) for n in formula.atoms(sympy.Float)})
    print("formula read the paper's way:", *sympy.Add.make_args(short), sep="\n  ")
    if options.figures:
        titles = [f"{'Healthy beam' if d == 0 else f'{d:g} % of the mass removed'}" for d in damage[[0, 2]]]
        curves = published_beam.draw_curves(frequency, list(magnitude[[0, 2]]), predicted[[0, 2]], titles)
        save_figure(curves, options.figures / "beam-curves.png", dpi=110)
        pairs = published_beam.draw_peaks(truth, peaks(frequency, predicted), list(damage))
        save_figure(pairs, options.figures / "beam-peaks.png", dpi=110)


if __name__ == "__main__":
    main()
