"""How a fitted model shows itself: plots, a report, a card in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ceql.data import Dataset
    from ceql.formula import Formula
    from ceql.pipeline import Discovery


class Presented:
    """What CEQLRegressor inherits: its picture methods. `row` is a row of ``equations_``, by default the chosen one."""

    if TYPE_CHECKING:
        discovery_: Discovery
        _data: Dataset

        def _formula(self, row: int | None = None) -> Formula: ...

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def plot_fit(self, ax: Any = None, *, row: int | None = None, against: str | None = None, target: str = "y") -> Any:
        """The formula beside the data; returns matplotlib Axes.

        With one input: data and curve, dashed beyond the data, with its poles. With several: predicted against
        measured, or both against the column named by `against`, over the residuals. `target` names the y axis.
        """
        from ceql.plots.fit import plot_fit

        return plot_fit(self._formula(row), self._data, target, against, ax)

    def plot_pareto(self, ax: Any = None, *, row: int | None = None) -> Any:
        """Complexity against loss with the chosen row (or `row`) marked; returns matplotlib Axes."""
        from ceql.plots.pareto import plot_pareto

        marked = self._formula(row)
        return plot_pareto(self.discovery_.front, self.discovery_.front.index(marked), ax)

    def plot_poles(self, ax: Any = None, *, row: int | None = None) -> Any:
        """Where the formula is singular or undefined, in and around the data; returns matplotlib Axes."""
        from ceql.plots.poles import plot_poles

        return plot_poles(self._formula(row), self._data, ax)

    def plot_network(self, ax: Any = None, *, row: int | None = None, target: str = "y") -> Any:
        """The operators of the formula in layers with the weights between them; returns matplotlib Axes."""
        from ceql.plots.network import plot_network

        return plot_network(self._formula(row), target, ax)
