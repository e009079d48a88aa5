"""Creates figures and axes, saves them, and makes text safe to draw."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from ceql.errors import InputError, missing_extra
from ceql.expression.text.mathml import without_control_characters
from ceql.storage.files import write_atomically

LONGEST_NAME = 32


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure of this size in inches, with constrained layout."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot", "Plotting") from None
    return Figure(figsize=(width, height), layout="constrained")


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """The given axes, or new ones that a notebook or `plt.show` displays."""
    if ax is not None:
        if not hasattr(ax, "inset_axes"):
            raise InputError(f"ax must be matplotlib Axes, not {type(ax).__name__}: use one cell of plt.subplots().")
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise missing_extra("matplotlib", "plot", "Plotting") from None
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """Writes the picture completely or not at all, in the format of the file's extension; PNG without one."""
    picture = io.BytesIO()
    try:
        figure.savefig(picture, format=path.suffix[1:] or "png", dpi=dpi)
    except ValueError as error:
        raise InputError(f"{path} cannot be drawn: {error}") from error
    write_atomically(path, picture.getvalue())


def moved_by(ax: Any, right: float, up: float) -> Any:
    """The data coordinates of these axes, shifted to the right and up by these numbers of points."""
    from matplotlib.transforms import ScaledTranslation

    return ax.transData + ScaledTranslation(right / 72.0, up / 72.0, ax.figure.dpi_scale_trans)


def plain(text: str, longest: int = LONGEST_NAME) -> str:
    """Text that matplotlib does not read as mathematics, shortened to fit into the picture."""
    text = without_control_characters(text)
    return (text if len(text) <= longest else text[: longest - 1] + "…").replace("$", r"\$")


def points_within(ax: Any, x: np.ndarray, y: np.ndarray, limits: tuple[float, float], **look: Any) -> None:
    """Draws points; those above or below the plot become hollow triangles at its edge."""
    label = look.pop("label", None)
    inside = (y >= limits[0]) & (y <= limits[1])
    ax.plot(x[inside], y[inside], ls="none", marker="o", label=label, **look)
    height = limits[1] - limits[0]
    for beyond, marker, level in ((y > limits[1], "^", limits[1]), (y < limits[0], "v", limits[0])):
        if beyond.any():
            edge = level - np.sign(level - sum(limits) / 2) * 0.02 * height
            hollow = {**look, "mfc": "none", "mew": 1.2, "mec": look.get("color")}
            words = "data outside the plot" if label == "data" and marker == "^" else None
            ax.plot(x[beyond], np.full(beyond.sum(), edge), ls="none", marker=marker, label=words, **hollow)
