"""Known shapes of a single variable are told from each other, even where they are nearly a power."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ceql.closed_form import shape
from ceql.closed_form.shapes import SHAPES
from ceql.expression import compile_numpy

U = sympy.Symbol("u", real=True)


@pytest.mark.parametrize("reach", [0.02, 1.4])
@pytest.mark.parametrize("known", SHAPES, ids=lambda known: str(known.written(U)))
def test_a_stretched_shape_is_found(known, reach):
    u = np.exp(np.random.default_rng(0).uniform(np.log(3e4), np.log(3e6), 300))
    y = 2.6e-9 * u * known.values(reach * u / 3e6)
    found = shape(u, y, U)
    assert found is not None
    np.testing.assert_allclose(compile_numpy(found, (U,))(u[:, None]), y, rtol=1e-8)
    beyond = 10.0 * u
    truth = 2.6e-9 * beyond * known.values(reach * beyond / 3e6)
    np.testing.assert_allclose(compile_numpy(found, (U,))(beyond[:, None]), truth, rtol=1e-4)


def test_nothing_else_is_taken_for_a_shape():
    u = np.random.default_rng(0).uniform(0.5, 3.0, 300)
    assert shape(u, np.exp(u) + np.sin(2.0 * u), U) is None
    assert shape(u, np.tanh(u), U, ("exp", "sin", "cos", "sqrt", "log")) is None
