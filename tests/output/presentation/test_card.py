"""What a notebook shows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import cast

import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ceql import CEQLRegressor


def test_a_fitted_model_shows_formula_and_front(pole_model):
    html = pole_model._repr_html_()
    assert pole_model._repr_mimebundle_()["text/html"] == html
    assert html.count('<tr class="chosen">') == 1
    chosen = re.search(r'<tr class="chosen">(.*?)</tr>', html)
    assert chosen is not None
    assert f"<code>{pole_model.sympy()}</code>" in chosen[1]
    for formula in pole_model.discovery_.front:
        assert f"<code>{formula}</code>" in html
    for formula in re.findall(r"<math.*?</math>", html):
        ElementTree.fromstring(formula)


def test_odd_names_are_escaped(model_with):
    assert "<script" not in model_with("odd names")._repr_html_()


def test_an_unfitted_model_is_shown_as_usual(pole_model):
    fresh = cast(CEQLRegressor, clone(pole_model))
    assert "ceql-card" not in fresh._repr_html_()
    assert "CEQLRegressor" in fresh._repr_html_()
    assert "ceql-card" not in fresh._repr_mimebundle_()["text/html"]


def test_text_display_is_respected(pole_model):
    with sklearn.config_context(display="text"):
        assert not hasattr(pole_model, "_repr_html_")
        assert set(pole_model._repr_mimebundle_()) == {"text/plain"}


def test_the_diagram_of_a_pipeline_still_works(pole_model):
    html = make_pipeline(StandardScaler(), pole_model)._repr_html_()
    assert "CEQLRegressor" in html
    assert "ceql-card" not in html
    assert repr(CEQLRegressor(random_state=3)) == "CEQLRegressor(random_state=3)"


def test_the_card_draws_the_charts_of_the_report(pole_model):
    drawn = re.findall(r'<div>(<svg class="chart".*?</svg>)</div>', pole_model._repr_html_())
    assert len(drawn) == 3
    for chart in drawn:
        ElementTree.fromstring(chart)


def test_latex_for_whatever_sets_it(pole_model, law_model):
    assert pole_model._repr_latex_() == rf"$\displaystyle y = {pole_model.latex()}$"
    assert cast(CEQLRegressor, clone(pole_model))._repr_latex_() is None
    assert law_model(2)._repr_latex_().count(r"$\displaystyle \mathrm{rate\ ") == 2
