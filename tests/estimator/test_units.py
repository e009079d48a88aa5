"""Units from the user's words to formulas, constants and files."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import ceql
from ceql import CEQLRegressor
from ceql.data.headers import unit_in_header
from ceql.dimensions import Dimension, Rule
from ceql.errors import CeqlError, InputError, MissingExtraError
from ceql.estimator.unit_texts import named_constants, quantity, read_units

pytest.importorskip("pint", reason="units are read by pint, which is an extra")


@pytest.mark.parametrize(
    ("text", "dimension", "factor"),
    [
        ("mm", {"length": 1}, 1e-3),
        ("m/s^2", {"length": 1, "time": -2}, 1.0),
        ("km/h", {"length": 1, "time": -1}, 1 / 3.6),
        ("J*s", {"mass": 1, "length": 2, "time": -1}, 1.0),
        ("1", {}, 1.0),
        ("-", {}, 1.0),
        ("deg", {}, np.pi / 180),
        ("%", {}, 0.01),
        ("m²", {"length": 2}, 1.0),
    ],
)
def test_a_unit_becomes_a_dimension_and_a_factor(text, dimension, factor):
    found = quantity("x", text)
    assert found.dimension == Dimension.of(dimension)
    assert found.factor == pytest.approx(factor)
    assert found.offset == 0.0


def test_a_temperature_has_an_offset():
    found = quantity("T", "degC")
    assert (found.factor, found.offset) == (1.0, 273.15)


def test_constants_are_known_by_name_or_given():
    light, gravity = named_constants(["c", "g=9.81 m/s^2"])
    assert (light.name, light.size) == ("c", 299792458.0)
    assert (gravity.name, gravity.size, gravity.dimension) == ("g", 9.81, Dimension.of({"length": 1, "time": -2}))
    assert named_constants({"g": "981 cm/s^2"})[0].size == pytest.approx(9.81)
    assert {one.name for one in named_constants("physics")} >= {"c", "G", "h", "k_B"}
    assert named_constants("any") == named_constants("dimensionless") == ()


@pytest.mark.parametrize(
    ("units", "constants", "words"),
    [
        ({"lenght": "mm"}, "any", "There is no column 'lenght'. Did you mean 'length'?"),
        ({"length": "meterr"}, "any", "there is no unit 'meterr'. Did you mean meter"),
        ({"length": "m/"}, "any", "The unit of 'length'"),
        ("mm", "any", "units must be a dictionary of columns"),
        ({"length": "m"}, "dimensionless", "mass, period have none"),
        ({"length": "m", "mass": "kg", "period": "s"}, "dimensionless", "period in s cannot be made of"),
        ({"length": "m", "mass": "kg", "period": "s"}, "gg", "There is no constant 'gg'. Did you mean 'g'"),
        ({"length": "m", "mass": "kg", "period": "s"}, {"g": "0 m/s^2"}, "other than 0"),
        ({"length": "m", "mass": "kg", "period": "s"}, {"g": "9.81 parsnip"}, "there is no unit 'parsnip'"),
        ({"length": "m", "mass": "kg", "period": "s"}, 7, "constants must be 'any'"),
        (None, "dimensionless", "give units="),
        ("headers", "any", "no column has one"),
    ],
)
def test_units_that_make_no_sense_get_a_sentence(units, constants, words):
    with pytest.raises(CeqlError) as caught:
        read_units(units, constants, ["length", "mass"], ["period"])
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("distance [mm]", ("distance", "mm")),
        ("distance (mm)", ("distance", "mm")),
        ("v[m/s]", ("v", "m/s")),
        ("distance", None),
        ("[mm]", None),
        ("f(x) value", None),
    ],
)
def test_a_header_may_name_a_unit(header, found):
    assert unit_in_header(header) == found


def test_importing_ceql_imports_no_pint():
    import subprocess

    words = "import sys, ceql; from ceql import CEQLRegressor; assert 'pint' not in sys.modules"
    subprocess.run([sys.executable, "-c", words], check=True)


def test_without_pint_the_extra_is_named(monkeypatch):
    from ceql.estimator import unit_texts

    unit_texts._registry.cache_clear()
    monkeypatch.setitem(sys.modules, "pint", None)
    try:
        with pytest.raises(MissingExtraError, match=r"pip install 'ceql\[units\]'"):
            read_units({"x": "mm"}, "any", ["x"], ["y"])
    finally:
        unit_texts._registry.cache_clear()


# ---- end to end ---------------------------------------------------------------------------------------------------


def _radiation(rows: int = 300):
    """The mean energy of an oscillator, h f / (exp(h f / k T) - 1), where h f is small against k T: a polynomial would
    do as well to the last digits."""
    rng = np.random.default_rng(0)
    f, T = 10 ** rng.uniform(8, 10, rows), 10 ** rng.uniform(1, 3, rows)
    h, k = 6.62607015e-34, 1.380649e-23
    return pd.DataFrame({"f": f, "T": T}), pd.Series(h * f / (np.exp(h * f / (k * T)) - 1), name="E")


def test_units_find_a_law_and_name_its_constants():
    X, y = _radiation()
    told = CEQLRegressor(
        time_limit=30, threads=1, units={"f": "Hz", "T": "K", "E": "J"}, constants=["h", "k_B", "c"]
    ).fit(X, y)
    law = "6.62607015e-34*f/(exp(4.79924307336622e-11*f/T) - 1)"
    assert str(told.discovery_.best) == law
    assert told.constants_["made_of"].tolist() == ["h", "h/k_B"]
    assert told.constants_["unit"].tolist()[1] in ("K/Hz", "K*s")


def test_a_root_with_a_difference_of_angles_is_found_between_groups():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": 10 ** rng.uniform(-1, 1, 300), "b": 10 ** rng.uniform(-1, 1, 300)})
    X = X.assign(first=rng.uniform(0, 6, 300), second=rng.uniform(0, 6, 300))
    a, b, between = X["a"], X["b"], X["first"] - X["second"]
    side = pd.Series(np.sqrt(a**2 + b**2 + 2 * a * b * np.cos(between)), name="side")
    units = {"a": "m", "b": "m", "first": "1", "second": "1", "side": "m"}
    model = CEQLRegressor(threads=1, units=units, constants="dimensionless", time_limit=30).fit(X, side)
    assert model.discovery_.outcome.name == "EXACT"
    assert "cos(first - second)" in str(model.sympy())


def test_units_are_kept_in_a_file_and_shown(tmp_path):
    X, y = _radiation(60)
    given = {"f": "Hz", "T": "K", "E": "J"}
    model = CEQLRegressor(
        time_limit=30, threads=1, units=given, constants={"h": "6.62607015e-34 J*s", "k_B": "1.380649e-23 J/K"}
    )
    model.fit(X, y).save(tmp_path / "model.ceql")
    again = ceql.load(tmp_path / "model.ceql")
    assert again.units == given
    pd.testing.assert_frame_equal(again.constants_, model.constants_)
    model.report(tmp_path / "page.html")
    assert "h/k_B" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_every_formula_that_is_shown_is_possible():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"length": rng.uniform(10, 200, 60), "mass": rng.uniform(1, 3, 60)})
    y = pd.Series(2 * np.pi * np.sqrt(X["length"] / 981) * (1 + 0.003 * rng.normal(size=60)), name="period")
    units = {"length": "cm", "mass": "kg", "period": "s"}
    model = CEQLRegressor(time_limit=2, threads=1, units=units).fit(X, y)
    assert model.discovery_.units is not None
    rule = Rule(model.discovery_.units)
    assert all(rule.allows(formula) for formula in model.equations_["sympy_format"])
    assert str(model.sympy()).endswith("*sqrt(length)")
    assert model.constants_["unit"].tolist() == ["s/cm**(1/2)"]


def test_several_targets_have_units_of_their_own():
    x = np.linspace(1.0, 3.0, 40)
    X = pd.DataFrame({"radius": x, "height": x[::-1] ** 2})
    Y = pd.DataFrame({"area": np.pi * X["radius"] ** 2, "volume": np.pi * X["radius"] ** 2 * X["height"]})
    units = {"radius": "m", "height": "m", "area": "m^2", "volume": "m^3"}
    model = CEQLRegressor(time_limit=10, threads=1, units=units, constants="dimensionless").fit(X, Y)
    assert [str(formula) for formula in model.sympy()] == ["pi*radius**2", "pi*height*radius**2"]


def test_a_wrong_unit_is_an_error_before_the_search():
    X, y = _radiation(20)
    with pytest.raises(InputError, match="cannot be made of"):
        CEQLRegressor(units={"f": "Hz", "T": "K", "E": "J"}, constants=["c"]).fit(X, y)
