"""Ways to draw points: laws of log, integer and grid ranges, solutions of differential equations, given rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.bench.definitions import Spread
from ceql.bench.errors import SuiteError
from ceql.bench.points import draw, is_grid, lattice
from ceql.bench.problems import load_suite, sample

positive = st.tuples(st.floats(1e-30, 1e30), st.floats(1.5, 1e9)).map(lambda p: (p[0], p[0] * p[1]))


@given(positive, st.booleans(), st.integers(0, 99))
@settings(max_examples=30)
def test_a_log_range_is_uniform_in_the_logarithm(ends, signed, seed):
    low, high = ends
    intervals = ((-high, -low), (low, high)) if signed else ((low, high),)
    values = draw(np.random.default_rng(seed), [Spread("log", intervals)], 4000)[:, 0]
    sizes = np.abs(values)
    assert sizes.min() >= low
    assert sizes.max() <= high
    place = np.log(sizes / low) / np.log(high / low)
    assert abs(place.mean() - 0.5) < 0.03
    assert abs((values < 0).mean() - (0.5 if signed else 0.0)) < 0.05


@given(st.integers(-50, 50), st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=30)
def test_whole_numbers_include_both_ends(low, width, seed):
    values = draw(np.random.default_rng(seed), [Spread("integer", ((low, low + width),))], 2000)[:, 0]
    assert set(values) == set(range(low, low + width + 1))


def test_a_grid_has_all_its_points_and_its_ends():
    axes = [Spread("grid", ((-1.0, 1.0),), 0.1), Spread("grid", ((0.05, 6.05),), 2.0)]
    points = lattice(axes)
    assert is_grid(axes)
    assert not is_grid([axes[0], ((0.0, 1.0),)])
    assert points.shape == (21 * 4, 2)
    assert points[0].tolist() == [-1.0, 0.05]
    assert points[-1] == pytest.approx([1.0, 6.05])
    assert len(np.unique(points, axis=0)) == len(points)


SUITE = """\
[system.spring]
rates = { x = "v", v = "-4*x" }
starts = [[1, 0], [0, 3]]
step = 0.1
points = 50

[[problem]]
name = "force"
system = "spring"
expression = "-4*x"
variables = ["x", "v"]
n_train = 70
n_interp = 30
n_extrap = 0

[[problem]]
name = "given"
expression = "2*a"
variables = ["a"]
train = { log = [[0.1, 10]] }
noise = 0.5
noise_unit = "absolute"
data = { a = [1, 2, 3], target = [2.1, 3.9, 6.2] }

[[problem]]
name = "drawn"
expression = "a + k"
variables = ["a", "k"]
train = { a = { log = [[-10, -1]] }, k = { integer = [[1, 3]] } }
test = { a = [[0, 1]], k = { grid = [[0, 1]], step = 0.5 } }
noise = 0.5
noise_unit = "absolute"
n_train = 2000
"""


def suite(tmp_path, text=SUITE):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return {p.name: p for p in load_suite(path).problems}


def test_points_lie_on_the_solutions(tmp_path):
    problem = suite(tmp_path)["force"]
    samples = sample(problem, 0)
    assert (len(samples.y_train), len(samples.y_interp), len(samples.y_extrap)) == (70, 30, 0)
    # The energy tells the two solutions apart and stays the same along each.
    points = np.vstack([samples.X_train, samples.X_interp])
    energy = points[:, 1] ** 2 + 4 * points[:, 0] ** 2
    assert np.allclose(np.sort(energy), np.repeat([4.0, 9.0], 50), rtol=1e-6)
    assert np.array_equal(samples.y_train, -4 * samples.X_train[:, 0])
    assert not np.array_equal(samples.X_train, sample(problem, 1).X_train)


def test_given_rows_are_trained_on_as_they_are(tmp_path):
    samples = sample(suite(tmp_path)["given"], 5)
    assert samples.X_train.tolist() == [[1], [2], [3]]
    assert samples.y_train.tolist() == [2.1, 3.9, 6.2]
    assert np.array_equal(samples.y_interp, 2 * samples.X_interp[:, 0])


def test_tests_may_be_drawn_elsewhere_and_noise_may_be_absolute(tmp_path):
    samples = sample(suite(tmp_path)["drawn"], 0)
    assert samples.X_train[:, 0].max() <= -1
    assert set(samples.X_train[:, 1]) == {1.0, 2.0, 3.0}
    assert set(samples.X_interp[:, 1]) == {0.0, 0.5, 1.0}
    assert np.std(samples.y_train - samples.X_train.sum(axis=1)) == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("log = [[0.1, 10]]", "log = [[0, 10]]", "field 'train': no interval of a log range may hold zero"),
        ("log = [[0.1, 10]]", "lgo = [[0.1, 10]]", "field 'train': Unknown variable 'lgo'"),
        ("a = { log = [[-10, -1]] }", "a = { lgo = [[1, 2]] }", "begins with one of log, integer, grid"),
        ("a = { log = [[-10, -1]] }", "a = { log = [[1, 2]], step = 1 }", "Unknown part of 'log', 'step'"),
        ("integer = [[1, 3]]", "integer = [[1, 3.5]]", "the ends of an integer range are whole numbers"),
        ("{ grid = [[0, 1]], step = 0.5 }", "{ grid = [[0, 1]] }", "a grid needs its step"),
        ('noise_unit = "absolute"', 'noise_unit = "db"', "field 'noise_unit': must be one of std, rms, absolute"),
        ("step = 0.1", "", "line 1, system 'spring', field 'step': is missing"),
        ("points = 50", "points = 50\nstarrts = 1", "Did you mean 'starts'"),
        ("[[1, 0], [0, 3]]", "[[1, 0], [0]]", "system 'spring', field 'starts': must be a list of points with 2"),
        ('v = "-4*x"', 'v = "-4*y"', "line 2, system 'spring', field 'rates': '-4\\*y' is not a formula in x, v"),
        ('{ x = "v", v = "-4*x" }', "3", "must be a table with a formula for every variable"),
        ('system = "spring"', 'system = "sprng"', "problem 'force', field 'system'.*Did you mean 'spring'"),
        ('variables = ["x", "v"]', 'variables = ["v", "x"]', "field 'system': has the variables x, v"),
        ("target = [2.1, 3.9, 6.2]", "target = [2.1]", "field 'data': must have columns of the same length"),
        ("target = [2.1, 3.9, 6.2]", "y = [2.1]", "field 'data': must be a table with the columns a, target"),
    ],
)
def test_errors_name_their_place(tmp_path, old, new, message):
    assert old in SUITE
    with pytest.raises(SuiteError, match=message):
        suite(tmp_path, SUITE.replace(old, new, 1))


def test_too_few_points_and_lost_solutions_are_explained(tmp_path):
    with pytest.raises(SuiteError, match="solutions have 100 points, fewer than n_train \\+ n_interp = 130"):
        sample(suite(tmp_path, SUITE.replace("n_train = 70", "n_train = 100"))["force"], 0)
    text = SUITE.replace('v = "-4*x"', 'v = "1 + v**2"').replace('"-4*x"', '"v + x"')
    with (
        pytest.raises(SuiteError, match=r"cannot be followed to time 4\.9.*fewer points"),
        np.errstate(all="ignore"),
    ):
        sample(suite(tmp_path, text)["force"], 0)
