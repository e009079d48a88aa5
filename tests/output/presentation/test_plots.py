"""Every plot of every kind of model: labelled, within its figure, drawn in the axes it was given."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError

from ceql import CEQLRegressor, InputError
from ceql.errors import MissingExtraError, UnknownNameError

mpl.use("Agg")
PLOTS = ("plot_fit", "plot_pareto", "plot_poles", "plot_network")


@pytest.fixture(autouse=True)
def _no_figure_stays_open() -> Iterator[None]:
    yield
    plt.close("all")


def texts_outside(figure) -> list[str]:
    """What is written beyond the edge of the figure."""
    figure.draw_without_rendering()
    frame = figure.bbox.padded(1.0)
    axes = figure.findobj(Axes)
    # Axes keep labels for ticks that lie outside their limits, and draw none of them.
    ticks = [t for place in axes for axis in (place.xaxis, place.yaxis) for t in (*axis.majorTicks, *axis.minorTicks)]
    labels = {label for tick in ticks for label in (tick.label1, tick.label2)}
    texts = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible() and t not in labels]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    return [words for words, box in boxes if not (frame.contains(*box.p0) and frame.contains(*box.p1))]


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("kind", ["a pole curve", "noise", "log and root", "a constant", "odd names", "twelve inputs"])
def test_nothing_is_clipped(model_with, kind, plot):
    ax = getattr(model_with(kind), plot)()
    assert isinstance(ax, Axes)
    assert texts_outside(ax.figure) == []


@pytest.mark.parametrize("plot", PLOTS)
def test_draws_in_the_axes_given(pole_model, plot):
    _, places = plt.subplots(1, 2, figsize=(9, 4))
    assert getattr(pole_model, plot)(ax=places[1]) is places[1]
    assert not places[0].has_data()
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("plot", PLOTS)
def test_any_row_can_be_drawn(pole_model, plot):
    getattr(pole_model, plot)(row=0)
    with pytest.raises(InputError, match="there is no row 7"):
        getattr(pole_model, plot)(row=7)


@pytest.mark.parametrize("plot", PLOTS)
def test_needs_a_fitted_model(plot):
    with pytest.raises(NotFittedError):
        getattr(CEQLRegressor(), plot)()


@pytest.mark.parametrize("plot", PLOTS)
def test_without_matplotlib_the_extra_is_named(pole_model, plot, monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"ceql\[plot\]"):
        getattr(pole_model, plot)()


def test_a_grid_of_axes_is_refused(pole_model):
    _, places = plt.subplots(1, 2)
    with pytest.raises(InputError, match=r"one cell of plt\.subplots"):
        pole_model.plot_fit(ax=places)


def test_the_curve_stops_at_the_pole_and_goes_on_dashed(pole_model):
    ax = pole_model.plot_fit(target="image")
    labels = {line.get_label(): line for line in ax.lines}
    assert {"formula", "beyond the data", "pole", "data"} <= set(labels)
    assert list(labels["pole"].get_xdata()) == pytest.approx([-0.7, -0.7])
    x, y = labels["formula"].get_data()
    left, right = y[x < -0.7], y[x > -0.7]
    assert np.nanmax(left) > ax.get_ylim()[1]
    assert np.nanmin(right) < ax.get_ylim()[0]
    assert np.isnan(y[np.isclose(x, -0.7, atol=0, rtol=1e-12)]).any()
    assert labels["beyond the data"].is_dashed()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "image")


def test_residuals_stand_below_a_fit_in_several_inputs(make_fitted):
    x = np.random.default_rng(2).uniform(1, 2, (50, 2))
    model = make_fitted("x1*x2 + 0.5", x, noise=0.1)
    for against, label in ((None, "y, measured"), ("x2", "x2")):
        (panel,) = model.plot_fit(against=against).child_axes
        drawn = np.concatenate([line.get_ydata() for line in panel.lines[1:]])
        assert np.std(drawn) == pytest.approx(np.std(model._finding().data.y - model.predict(x)), rel=0.2)
        assert (panel.get_xlabel(), panel.get_ylabel()) == (label, "residual")
    with pytest.raises(UnknownNameError, match="There is no column 'x3'"):
        model.plot_fit(against="x3")


def test_the_front_marks_the_chosen_row_and_writes_its_formula(pole_model):
    ax = pole_model.plot_pareto()
    (star,) = [line for line in ax.lines if line.get_label() == "chosen"]
    best = pole_model.discovery_.best
    assert star.get_xdata()[0] == best.complexity
    assert str(best) in [text.get_text() for text in ax.texts]
    assert ax.get_yscale() == "log"


def test_formulas_on_the_front_do_not_overlap(make_fitted):
    rows = [" + ".join(f"{1 + k / 7:.4f}*x{j + 1}" for j in range(k)) for k in range(1, 9)]
    x = np.random.default_rng(0).uniform(1, 2, (40, 9))
    ax = make_fitted(rows[-1] + " + x9", x, also=rows[:-1]).plot_pareto()
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) > 2
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_poles_in_one_two_and_more_inputs(make_fitted):
    def labels(model) -> set[str]:
        return {text.get_text() for text in model.plot_poles().get_legend().get_texts()}

    x = np.random.default_rng(0).uniform(0.6, 2, (40, 4))
    assert labels(make_fitted("sqrt(x1 - 0.5)", x[:, :1])) == {"data", "undefined", "edge of the domain"}
    assert labels(make_fitted("log(x1 - 0.5*x2)", x[:, :2] + [0.9, 0])) == {"data", "undefined", "log singularity"}
    assert labels(make_fitted("x1 + x2", x[:, :2])) == {"data", "no pole in this range"}
    many = make_fitted("x1/(x2 - x3 + 0.1) + x4", x)
    ax = many.plot_poles()
    assert ax.get_xlabel().startswith("x2\n(others at their medians: x1 = ")
    assert ax.get_ylabel() == "x3"


def test_the_network_writes_its_weights(pole_model):
    words = {text.get_text() for text in pole_model.plot_network(target="image").texts}
    assert words == {"x1", "1 / a", "a: + 0.7", "−1.45", "image", "+ 1.5"}
