"""How a fitted model is shown: plots, a report, a card in a notebook."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ceql.data.targets import Targets
    from ceql.discovery import Discovery
    from ceql.estimator.results import Finding
    from ceql.output.report.subject import Subject


class Presented:
    """The part of CEQLRegressor that shows a fitted model.

    `row` is a row of ``equations_``, by default the chosen one. With several targets, `target` names the one to show;
    with one target it is the name to display for it.
    """

    if TYPE_CHECKING:
        discoveries_: list[Discovery]
        _targets: Targets
        target_names_: list[str]

        def _finding(self, row: int | None = None, target: str | None = None) -> Finding: ...

        def _alone(self, found: Finding, group: Any) -> Finding: ...

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    @property
    def covariance_(self) -> Any:
        """The covariances of the constants of the chosen formula; their squared errors are on the diagonal.

        With several targets this is a list of tables.
        """
        from ceql.estimator.results import covariance_table, one_or_all

        found = zip(self.discoveries_, self._targets.datasets, strict=True)
        return one_or_all([covariance_table(discovery.best, data) for discovery, data in found])

    @property
    def shapes_(self) -> Any:
        """Whether the chosen formula has each required shape, and how this was checked, as a table.

        ``how`` is ``proved``, or says how many points of a grid were checked. With several targets this is a list of
        tables.
        """
        from ceql.estimator.results import one_or_all, shapes_table

        found = [self._finding(target=name) for name in self.target_names_]
        return one_or_all([shapes_table(one.verdicts) for one in found])

    def plot_fit(
        self, ax: Any = None, *, row: int | None = None, against: str | None = None, target: str | None = None
    ) -> Any:
        """Plots the formula with the data; returns matplotlib Axes.

        With one input: the data and the curve, dashed beyond the data, with its poles. With several inputs: predicted
        against measured values, or both against the column `against`, with the residuals below. If groups have their
        own constants, each has a curve. `target` labels the y axis; by default it is the name of the fitted y.
        """
        from ceql.output.plots.fit_plot import plot_fit

        found = self._finding(row, target)
        return plot_fit(found.formula, found.data, found.name, against, ax)

    def plot_pareto(self, ax: Any = None, *, row: int | None = None, target: str | None = None) -> Any:
        """Plots complexity against loss with the chosen row (or `row`) marked; returns matplotlib Axes."""
        from ceql.output.plots.front_plot import plot_pareto

        found = self._finding(row, target)
        return plot_pareto(found.discovery.front, found.row, ax, found.discovery.shortlist)

    def plot_poles(
        self, ax: Any = None, *, row: int | None = None, target: str | None = None, group: Any = None
    ) -> Any:
        """Plots where the formula is singular or undefined, in and around the data; returns matplotlib Axes.

        `group` chooses the group whose constants are used, if groups have their own.
        """
        from ceql.output.plots.pole_plot import plot_poles

        found = self._alone(self._finding(row, target), group)
        return plot_poles(found.formula, found.data, ax)

    def plot_network(
        self, ax: Any = None, *, row: int | None = None, target: str | None = None, group: Any = None
    ) -> Any:
        """Plots the operators of the formula in layers with the weights between them; returns matplotlib Axes.

        `group` chooses the group whose constants are used, if groups have their own.
        """
        from ceql.output.plots.network_plot import plot_network

        found = self._alone(self._finding(row, target), group)
        return plot_network(found.formula, found.name, ax)

    def report(
        self, path: str | Path, *, row: int | None = None, target: str | None = None, table: str = "data.csv"
    ) -> None:
        """Writes one self-contained HTML page about the model.

        `target` is the name of y on the page. `table` is the file that the data came from; the page uses it in the
        lines that repeat the fit.
        """
        from ceql.output.report.page import report_page
        from ceql.storage.files import write_atomically

        write_atomically(path, report_page(self._subject(row, target, table)))

    def _subject(self, row: int | None, target: str | None, table: str) -> Subject:
        from ceql.output.report.subject import Subject

        found = self._finding(row, target)
        return Subject(
            found.formula,
            found.discovery,
            found.data,
            self.get_params(deep=False),
            type(self)().get_params(deep=False),
            hasattr(self, "feature_names_in_"),
            found.name,
            str(table),
            tuple(map(str, found.verdicts)),
        )

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """A card for a fitted model, scikit-learn's diagram otherwise; neither if scikit-learn's display is set to
        text.
        """
        usual = super()._repr_html_  # pyright: ignore[reportAttributeAccessIssue]
        return self._card if hasattr(self, "discoveries_") else usual

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # pyright: ignore[reportAttributeAccessIssue]
        if hasattr(self, "discoveries_") and "text/html" in bundle:
            bundle["text/html"] = self._card()
        return bundle

    def _repr_latex_(self) -> str | None:
        """The formula in LaTeX, for a notebook that is converted to a paper."""
        if not hasattr(self, "discoveries_"):
            return None
        from ceql.output.export import write

        found = [self._finding(target=name) for name in self.target_names_]
        lines = [write(one.formula, one.data.names, "latex", one.name).strip().splitlines()[-1] for one in found]
        return "\n\n".join(f"$\\displaystyle {line}$" for line in lines)

    def _card(self) -> str:
        from ceql.output.report.card import card

        several = len(self.discoveries_) > 1
        pairs = zip(self.discoveries_, self._targets.datasets, self.target_names_, strict=True)
        cards = [card(found, data, name) for found, data, name in pairs]
        if not several:
            return cards[0]
        return "".join(f"<h4>{escape(n)}</h4>{c}" for n, c in zip(self.target_names_, cards, strict=True))
