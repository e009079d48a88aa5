"""Draws the path of a under Adam on the real axis and in the complex plane, when 1/x is fitted by 1/(x + a)."""

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
    """The experiment of the paper's appendix; start, rate and stopping rule are those of the authors' notebook."""

    points: int = 100
    reach: float = 3.0
    rate: float = 1e-3
    start: complex = 1.5 + 0.05j  # real descent starts at the real part
    most_steps: int = 20_000
    patience: int = 200  # steps without an improvement of `tolerance` end it
    tolerance: float = 1e-6


def model() -> Tape:
    """Re(1/(x + a)) with the real and the imaginary part of a as parameters."""
    tape = TapeBuilder(1)
    real, imaginary = tape.parameter(), tape.parameter()
    below = tape.linear([(0, -1, 1.0), (tape.one, real, 1.0)])
    beside = tape.linear([(tape.one, imaginary, 1.0)])
    return tape.finish(tape.operator("div", tape.one, below, beside))


def samples(descent: Descent) -> fit.Samples:
    x = np.linspace(-descent.reach, descent.reach, descent.points)
    return fit.Samples.of(x[:, None], 1.0 / x)


def path(descent: Descent, stay_real: bool) -> np.ndarray:
    """The values of a from the start until the loss has not improved for `patience` steps."""
    tape, data = model(), samples(descent)
    params = np.array([[descent.start.real, 0.0 if stay_real else descent.start.imag]])
    mask = np.array([[True, not stay_real]])
    trail, state, best, waited = [params[0]], None, np.inf, 0
    while len(trail) <= descent.most_steps and waited < descent.patience:
        loss = float(fit.objective(tape, data, trail[-1]).misfit[0])
        best, waited = (loss, 0) if loss < best - descent.tolerance else (best, waited + 1)
        state = fit.adam(tape, data, trail[-1], mask, fit.Adam(1, descent.rate), resume=state)
        trail.append(state.params[0])
    steps = np.array(trail)
    return steps[:, 0] + 1j * steps[:, 1]


def surface(descent: Descent, real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    """The mean squared error over the complex plane of a, (imaginary, real)."""
    grid = np.stack(np.meshgrid(real, imaginary), axis=-1).reshape(-1, 2)
    loss = fit.objective(model(), samples(descent), grid).misfit
    return loss.reshape(len(imaginary), len(real))


def draw(descent: Descent) -> Any:
    straight, free = path(descent, stay_real=True), path(descent, stay_real=False)
    figure = new_figure(10.5, 4.4)
    plane, course = figure.subplots(1, 2, width_ratios=(1.5, 1))
    _draw_plane(figure, plane, descent, straight, free)
    data, tape = samples(descent), model()
    for trail, colour, style in ((free, BLUE, "-"), (straight, RED, (0, (3, 1.5)))):
        params = np.column_stack([np.real(trail), np.imag(trail)])
        course.plot(fit.objective(tape, data, params).misfit, color=colour, lw=1.8, ls=style)
    course.set(xlabel="step of Adam", ylabel="mean squared error", title="Loss along the path", yscale="log")
    course.grid(alpha=0.3)
    figure.legend(*plane.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_plane(figure: Any, plane: Any, descent: Descent, straight: np.ndarray, free: np.ndarray) -> None:
    """Draws the paths over the loss in bands of equal area, since its values differ little away from zero."""
    high = 1.15 * max(0.4, float(np.imag(free).max()))
    real, imaginary = np.linspace(-2.0, 2.0, 321), np.linspace(-0.25 * high, high, 201)
    loss = np.nan_to_num(surface(descent, real, imaginary), nan=np.inf)  # infinite where -a is a sample
    ordered = np.sort(loss, axis=None)
    share = np.searchsorted(ordered, loss) / loss.size
    mesh = plane.contourf(real, imaginary, share, levels=np.linspace(0.0, 1.0, 17), cmap="viridis")
    mesh.set_rasterized(True)
    bar = figure.colorbar(mesh, ax=plane, label="mean squared error (bands of equal area)")
    ticks = np.array([0.0, 0.125, 0.25, 0.5, 0.75, 0.9])
    bar.set_ticks(ticks, labels=[f"{ordered[int(t * (loss.size - 1))]:.3g}" for t in ticks])
    plane.axhline(0.0, color="white", lw=0.8)
    plane.plot(np.real(free), np.imag(free), color="white", lw=4.2)
    plane.plot(np.real(free), np.imag(free), color=BLUE, lw=2.4, label="a complex")
    plane.plot(
        np.real(straight), np.imag(straight), color=RED, lw=2.4, marker="X", markevery=[-1], ms=10, mec="white",
        label=f"a real: ends at {straight[-1].real:.3f}",
    )  # fmt: skip
    plane.plot(free[0].real, free[0].imag, "o", color="white", mec="black", ms=7, label=f"start, {free[0]:.3g}")
    plane.plot(0, 0, "*", color="white", mec="black", ms=16, label="solution, a = 0")
    plane.set(xlabel="Re a", ylabel="Im a", title="Fit of 1/x by Re 1/(x + a): the path of a")
