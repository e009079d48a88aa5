"""Shows why descent on the real axis has no direction: the gradients of single samples cancel in the sum.

The two examples are those of the paper's first section: 1/x fitted by 1/(x + a), and sin(x) fitted by sin(b x).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import BLUE, ORANGE, RED


@dataclass(frozen=True)
class Example:
    """A target, a model with one parameter, and the range to draw; `imaginary` is used in the complex comparison."""

    title: str
    name: str
    x: np.ndarray
    target: Callable[[np.ndarray], np.ndarray]
    value: Callable[[np.ndarray, np.ndarray, float], np.ndarray]  # of x, parameter and imaginary part
    slope: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
    grid: np.ndarray  # values of the parameter
    shown: float  # the value at which single samples are shown
    solution: float
    imaginary: float
    limit: float  # of the vertical axis for single samples
    gap: float = 0.0  # distance between two values at which the gradient is infinite; the grid lies midway

    def contributions(self, parameter: np.ndarray, imaginary: float = 0.0) -> np.ndarray:
        """The contribution of each sample to half the derivative of the squared error, (parameters, samples)."""
        at = np.atleast_1d(parameter)[:, None]
        return (self.value(self.x, at, imaginary) - self.target(self.x)) * self.slope(self.x, at, imaginary)

    def left_over(self, parameter: np.ndarray, imaginary: float = 0.0) -> np.ndarray:
        """The summed gradient divided by the sum of absolute contributions; negative values pull towards larger
        parameters.
        """
        parts = self.contributions(parameter, imaginary)
        sizes = np.abs(parts).sum(axis=1)
        return parts.sum(axis=1) / np.where(sizes > 0, sizes, np.nan)  # NaN at the solution, where all parts are zero


def quotient() -> Example:
    """The example Re 1/(x + a) with a = parameter + i imaginary, sampled as in the paper."""

    def value(x: np.ndarray, a: np.ndarray, b: float) -> np.ndarray:
        return np.real(1.0 / (x + a + 1j * b))

    def slope(x: np.ndarray, a: np.ndarray, b: float) -> np.ndarray:
        return -np.real(1.0 / (x + a + 1j * b) ** 2)

    x = np.linspace(-3.0, 3.0, 100)
    midway = 0.5 * (x[1:] + x[:-1])
    grid = midway[np.abs(midway) < 2.5]
    shown = float(grid[np.argmin(np.abs(grid - 1.0))])
    gap = float(x[1] - x[0])
    return Example("1/x by 1/(x + a)", "a", x, lambda x: 1.0 / x, value, slope, grid, shown, 0.0, 0.5, 12.0, gap)


def sine() -> Example:
    """The example sin(b x), and with it the damped sin(Re) exp(-Im^2/2) of the search, over several periods."""

    def damping(x: np.ndarray, b: float) -> np.ndarray:
        return np.exp(-0.5 * (b * x) ** 2)

    def value(x: np.ndarray, w: np.ndarray, b: float) -> np.ndarray:
        return np.sin(w * x) * damping(x, b)

    def slope(x: np.ndarray, w: np.ndarray, b: float) -> np.ndarray:
        return x * np.cos(w * x) * damping(x, b)

    x = np.linspace(-10.0, 10.0, 200)
    grid = np.linspace(0.1, 4.0, 1501)
    return Example("sin(x) by sin(b x)", "b", x, np.sin, value, slope, grid, 2.0, 1.0, 0.3, 15.0)


def draw() -> Any:
    figure = new_figure(12.5, 6.4)
    axes = figure.subplots(2, 3)
    for row, example in zip(axes, (quotient(), sine()), strict=True):
        _draw_contributions(row[0], example)
        _draw_gradient(row[1], example)
        _draw_left_over(row[2], example)
    return figure


def _draw_contributions(place: Any, example: Example) -> None:
    """Draws the contribution of every sample at one value of the parameter, coloured by sign."""
    parts = example.contributions(np.array([example.shown]))[0]
    up = parts > 0
    shown = np.clip(parts, -example.limit, example.limit)
    width = 0.8 * float(np.diff(example.x).mean())
    place.bar(example.x[up], shown[up], width, color=RED, label=f"pulls towards smaller {example.name}")
    place.bar(example.x[~up], shown[~up], width, color=BLUE, label=f"pulls towards larger {example.name}")
    place.axhline(0.0, color="black", lw=0.8)
    share = abs(float(example.left_over(np.array([example.shown]))[0]))
    place.set(
        title=f"{example.title}: samples at {example.name} = {example.shown:.2g}",
        xlabel="x",
        ylabel="contribution to the gradient",
        ylim=(-example.limit * 1.05, example.limit * 1.35),
    )
    place.text(0.5, 0.93, f"{share:.0%} remains in the sum", transform=place.transAxes, ha="center", va="top")
    place.legend(loc="lower right", fontsize=8)


def _draw_gradient(place: Any, example: Example) -> None:
    def gradient(at: np.ndarray, imaginary: float) -> np.ndarray:
        return 2.0 * example.contributions(at, imaginary).mean(axis=1)

    _draw_both(place, example, gradient)
    place.set(title="The gradient of the loss", xlabel=f"Re {example.name}", ylabel="derivative")
    place.set_yscale("symlog", linthresh=1.0 if example.gap else 0.1)
    if example.gap:
        place.set_ylim(-1e5, 1e5)
    place.legend(loc="lower left" if example.gap else "lower right", fontsize=8)


def _draw_left_over(place: Any, example: Example) -> None:
    low, high = example.grid.min(), example.grid.max()
    place.fill_between([low, example.solution], -1, 0, color=ORANGE, alpha=0.15, lw=0)
    aim = place.fill_between([example.solution, high], 0, 1, color=ORANGE, alpha=0.15, lw=0)
    _draw_both(place, example, example.left_over)
    place.legend([aim], ["towards the solution"], loc="lower right", fontsize=8)
    place.set(
        title="What remains after cancellation", xlabel=f"Re {example.name}", ylabel="sum / sum of absolute values"
    )
    place.set(ylim=(-1, 1), xlim=(low, high))


def _draw_both(place: Any, example: Example, curve: Callable[[np.ndarray, float], np.ndarray]) -> None:
    """Draws the curve for the real and the complex parameter; with poles, also the range of the real curve between
    them.
    """
    at = example.grid
    if example.gap:
        within = at[:, None] + example.gap * np.linspace(-0.4, 0.4, 33)
        swings = curve(within.ravel(), 0.0).reshape(within.shape)
        place.fill_between(
            at,
            swings.min(axis=1),
            swings.max(axis=1),
            color=RED,
            alpha=0.2,
            lw=0,
            label="real: range between two samples",
        )
    kind = "real: midway between samples" if example.gap else f"{example.name} real"
    place.plot(at, curve(at, 0.0), color=RED, lw=1.4, label=kind)
    place.plot(at, curve(at, example.imaginary), color=BLUE, lw=1.6, label=f"Im {example.name} = {example.imaginary:g}")
    place.axhline(0.0, color="black", lw=0.8)
    place.axvline(example.solution, color="black", lw=0.8, ls=":")
    place.grid(alpha=0.25)
