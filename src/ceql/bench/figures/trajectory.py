"""1/x fitted by 1/(x + a): the path of a under Adam on the real axis and in the complex plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.engine import fit
from ceql.operators.tape import Tape, TapeBuilder
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import BLUE, RED


@dataclass(frozen=True)
class Descent:
    """The experiment of the paper's appendix, with what it leaves open."""

    points: int = 100
    reach: float = 3.0
    rate: float = 1e-2
    steps: int = 2000
    starts: tuple[complex, ...] = (-2.0 + 1.0j, 1.2 + 1.0j, 2.4 + 1.0j)


def model() -> Tape:
    """Re(1/(x + a)) with the real and the imaginary part of a as parameters."""
    tape = TapeBuilder(1)
    real, imaginary = tape.parameter(), tape.parameter()
    below = tape.linear([(0, -1, 1.0), (tape.one, real, 1.0)])
    beside = tape.linear([(tape.one, imaginary, 1.0)])
    return tape.finish(tape.operator("div", tape.one, below, beside))


def samples(descent: Descent) -> fit.Samples:
    # Evenly spaced: a random draw may hold a point so close to the pole that it alone is the loss.
    x = np.linspace(-descent.reach, descent.reach, descent.points)
    return fit.Samples.of(x[:, None], 1.0 / x)


def paths(descent: Descent, stay_real: bool) -> np.ndarray:
    """The values of a after every step, (starts, steps + 1)."""
    tape, data = model(), samples(descent)
    params = np.array([(start.real, 0.0 if stay_real else start.imag) for start in descent.starts])
    masks = np.tile([True, not stay_real], (len(params), 1))
    trail, state = [params], None
    for _ in range(descent.steps):
        state = fit.adam(tape, data, trail[-1], masks, fit.Adam(1, descent.rate), resume=state)
        trail.append(state.params)
    steps = np.array(trail)
    return (steps[..., 0] + 1j * steps[..., 1]).T


def surface(descent: Descent, real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    """The mean squared error over the plane of a, (imaginary, real)."""
    grid = np.stack(np.meshgrid(real, imaginary), axis=-1).reshape(-1, 2)
    loss = fit.objective(model(), samples(descent), grid).misfit
    return loss.reshape(len(imaginary), len(real))


def draw(descent: Descent) -> Any:
    real, imaginary = np.linspace(-3.1, 3.1, 241), np.linspace(-0.4, 2.0, 161)
    loss = np.log10(surface(descent, real, imaginary))
    straight, free = paths(descent, stay_real=True), paths(descent, stay_real=False)

    figure = new_figure(10.5, 4.3)
    plane, distance = figure.subplots(1, 2, width_ratios=(1.5, 1))
    low, high = np.percentile(loss, [0.1, 99])
    levels = np.linspace(low, high, 15)
    mesh = plane.contourf(real, imaginary, np.clip(loss, low, high), levels=levels, cmap="Greys_r", alpha=0.75)
    mesh.set_rasterized(True)
    figure.colorbar(mesh, ax=plane, label="log10 of the mean squared error", format="{x:.2f}")
    for k, (on_axis, off_axis) in enumerate(zip(straight, free, strict=True)):
        plane.plot(off_axis.real, off_axis.imag, color=BLUE, lw=2, label="a complex" if k == 0 else None)
        plane.plot(
            on_axis.real, on_axis.imag, color=RED, lw=2, ls=(0, (3, 1.5)),
            marker="X", markevery=[-1], ms=10, mec="white", label="a real, hardly moves" if k == 0 else None,
        )  # fmt: skip
        plane.plot(off_axis[0].real, off_axis[0].imag, "o", color=BLUE, ms=7, mec="white")
        distance.plot(np.abs(off_axis), color=BLUE, lw=1.8)
        distance.plot(np.abs(on_axis), color=RED, lw=1.8, ls=(0, (3, 1.5)))
    plane.plot(0, 0, "*", color="white", mec="black", ms=17, label="solution, a = 0")
    plane.set(xlabel="Re a", ylabel="Im a", title="Fit of 1/x by Re 1/(x + a): the way of a")
    distance.set(
        xlabel="step of Adam", ylabel="|a|, the distance from the solution", title="Distance from the solution"
    )
    distance.set_yscale("log")
    distance.grid(alpha=0.3)
    figure.legend(*plane.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure
