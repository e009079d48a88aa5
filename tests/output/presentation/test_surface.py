from __future__ import annotations

import builtins

import numpy as np
import pytest

from ceql import CEQLRegressor, InputError
from ceql.errors import MissingExtraError
from ceql.output.plots.surface_plot import plot_surface


@pytest.fixture(scope="module")
def model_and_data() -> tuple[CEQLRegressor, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 2))
    y = x[:, 0] / (x[:, 1] - 0.5)
    return CEQLRegressor(operators=["mul", "div"]).fit(x, y), x, y


def test_map_shows_data_box_and_pole(model_and_data):
    model, x, y = model_and_data
    left, right = plot_surface(model, x, y).axes[:2]
    assert (left.get_xlabel(), left.get_ylabel()) == ("x1", "x2")
    assert {text.get_text() for text in left.get_legend().get_texts()} == {"data", "pole"}
    assert right.get_xlabel() == "measured"


def test_one_variable_has_no_map(model_and_data):
    model, x, y = model_and_data
    with pytest.raises(InputError, match="two variables"):
        plot_surface(model, x[:, :1], y)


def test_without_matplotlib_the_extra_is_named(model_and_data, monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    model, x, y = model_and_data
    with pytest.raises(MissingExtraError, match=r"ceql\[plot\]"):
        plot_surface(model, x, y)
