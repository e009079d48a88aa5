"""Systems that are fitted to the trajectories as a whole, and the way down from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql.dynamics.pipeline import discover_system
from ceql.dynamics.series import Series, Trajectory
from ceql.dynamics.settings import DynamicsSettings
from ceql.dynamics.system import System
from ceql.dynamics.whole_fits import way_down
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols

SPIKES = {
    "x": "-4.7*y - 4.7*z",
    "y": "4.7*x + 0.42*y",
    "z": "0.8 + 4.7*x*z - 25.1*z",
}  # Rössler's
ONE_CURVE = {"x": "x*y - 1.37*x**2*y", "y": "x*y - 1.37*x*y**2"}  # x is a linear function of y along a trajectory


def truth_of(rates):
    names = tuple(rates)
    symbols = make_symbols(names)
    return System(names, tuple(Formula(parse_formula(text, names), symbols, 0.0) for text in rates.values()))


def values_of(system):
    points = np.random.default_rng(1).uniform(0.5, 2.0, (20, len(system.states)))
    return system.slopes(points)


@pytest.mark.parametrize(
    ("rates", "start", "last", "samples"),
    [
        (SPIKES, [2.1, 1.3, 0.7], 8.0, 130),  # samples too few for a path through the spikes
        (ONE_CURVE, [0.31, 0.05], 10.0, 120),  # of equations that say the same there, that with simple numbers
    ],
)
def test_the_law_is_found_and_not_what_only_follows_the_samples(rates, start, last, samples):
    truth, time = truth_of(rates), np.linspace(0.0, last, samples)
    series = Series((Trajectory("a", time, truth.simulate(start, time), np.zeros((samples, 0))),), "t", tuple(rates))
    found = discover_system(series, DynamicsSettings(time_limit=60.0)).systems[0]
    np.testing.assert_allclose(values_of(found.system), values_of(truth), rtol=1e-4, atol=1e-4)


@given(st.integers(0, 10**6))
def test_the_way_down_is_that_of_least_squares(seed):
    rng = np.random.default_rng(seed)
    terms = rng.standard_normal((40, 6))
    y = terms @ rng.standard_normal(6) + rng.standard_normal(40)
    weights, left = np.linalg.lstsq(terms, y, rcond=None)[:2]
    for kept, own, added in way_down(weights, np.linalg.inv(terms.T @ terms)):
        again = np.linalg.lstsq(terms[:, kept], y, rcond=None)[0]
        np.testing.assert_allclose(own, again, rtol=1e-7, atol=1e-9)
        rest = np.sum((y - terms[:, kept] @ again) ** 2)
        assert rest == pytest.approx(left[0] + added, rel=1e-7)
