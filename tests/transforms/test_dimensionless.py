"""Targets over groups without dimension, and the way back."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy

from ceql.data.dataset import Dataset
from ceql.dimensions import Dimension, Dimensions, Quantity
from ceql.expression import compile_numpy
from ceql.formula import make_symbols
from ceql.transforms import dimensionless, plain

LENGTH, TIME, TEMPERATURE = (Dimension.of({base: 1}) for base in ("length", "time", "temperature"))
GRAVITY = Quantity("g", LENGTH / TIME**2, value=9.81)


def _target(columns, y, names):
    data = Dataset(np.column_stack(columns), y, np.ones(len(y)), tuple(names))
    return plain(data, make_symbols(data.names))


def test_the_way_back_gives_y_for_the_values_of_the_target():
    rng = np.random.default_rng(0)
    length, angle = rng.uniform(10, 200, 50), rng.uniform(1, 30, 50)
    period = 2 * np.pi * np.sqrt(length / 981) * (1 + np.radians(angle) ** 2 / 16)
    target = _target([length, angle], period, ["length", "angle"])
    columns = Quantity("length", LENGTH, 0.01), Quantity("angle", Dimension(), np.pi / 180)
    (found,) = dimensionless(target, Dimensions(columns, Quantity("T", TIME), (GRAVITY,), False))
    assert found.x.shape == (50, 1)
    assert found.angles == (0,)
    assert found.y == pytest.approx(2 * np.pi * (1 + found.x[:, 0] ** 2 / 16))
    written = 2 * sympy.pi * (1 + found.symbols[0] ** 2 / 16)
    again = compile_numpy(found.back(written), target.symbols)(target.x)
    assert again == pytest.approx(period)


def test_offsets_of_units_are_undone():
    celsius, pressure = np.linspace(-20, 80, 40), np.linspace(1.0, 3.0, 40)
    volume = (celsius + 273.15) / pressure
    target = _target([celsius, pressure], volume, ["T", "p"])
    columns = Quantity("T", TEMPERATURE, 1.0, 273.15), Quantity("p", TEMPERATURE)
    found = dimensionless(target, Dimensions(columns, Quantity("V", Dimension()), (), False))
    values = [compile_numpy(one.symbols[0], target.symbols)(target.x) for one in found]
    assert any(np.allclose(value, volume) or np.allclose(1 / value, volume) for value in values)


def test_there_are_none_where_y_cannot_be_made():
    x = np.linspace(1, 2, 20)
    target = _target([x], x**2, ["x"])
    known = Dimensions((Quantity("x", LENGTH),), Quantity("y", TIME), (), False)
    assert dimensionless(target, known) == []


def test_columns_that_are_negative_throughout_may_have_roots():
    x, y = -np.linspace(1, 2, 30), -(np.linspace(3, 5, 30) ** 2)
    target = _target([x, y], np.sqrt(x * y), ["a", "b"])
    columns = Quantity("a", LENGTH), Quantity("b", LENGTH ** Fraction(3))
    found = dimensionless(target, Dimensions(columns, Quantity("y", LENGTH ** Fraction(2)), (), False))
    assert found
    assert all(np.isfinite(one.x).all() and np.isfinite(one.y).all() for one in found)
