"""The demo's experiment: complex starts arrive, real ones stay, and a way ends where its start ended."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.bench.demo import PROBLEM
from ceql.bench.pole_paths import follow
from ceql.bench.problems import load_problem, sample

POLE = -0.90 / 1.38


@pytest.fixture(scope="module", params=[0, 1, 2])
def paths(request):
    data = sample(load_problem(PROBLEM), request.param)
    return [follow(data.X_train, data.y_train, request.param, 128, kind) for kind in (True, False)]


def test_complex_starts_arrive_and_their_real_twins_do_not(paths):
    free, real = paths
    assert free.arrived.sum() >= 3
    assert real.arrived.sum() < 0.2 * free.arrived.sum()


def test_every_way_begins_off_the_axis_and_slides_onto_it_at_the_pole(paths):
    free, _ = paths
    assert free.ways.shape[1] == free.arrived.sum()
    assert (free.ways[0].imag != 0).all()
    assert (free.ways[-1].imag == 0).all()
    assert np.allclose(free.ways[-1], free.ends[free.arrived])
    assert np.allclose(free.ways[-1].real, POLE, atol=1e-6)


def test_real_starts_never_leave_the_axis(paths):
    _, real = paths
    assert (real.ends.imag == 0).all()
