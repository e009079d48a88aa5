"""Fixed points, their kinds, poles and nullclines of systems in which they are known."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.dynamics.analysis import LINE, behaviour, fixed_points, jacobians, kind_of, nullcline, plane, surroundings
from ceql.dynamics.courses import courses
from ceql.dynamics.frames import eigenvalues_in_words

LORENZ = {"x": "10*(y - x)", "y": "x*(28 - z) - y", "z": "x*y - 8/3*z"}


def of(finding):
    return behaviour(finding, courses(finding))


def points(finding):
    return {tuple(np.round(point.state, 6) + 0.0): point.kind for point in of(finding).fixed_points}


def test_prey_and_predator_circle_around_a_centre(lotka_volterra):
    assert points(lotka_volterra) == {(4.0, 2.75): "centre", (0.0, 0.0): "saddle"}


def test_a_pendulum_with_friction_rests_below_and_may_stand_above(pendulum):
    found = points(pendulum)
    assert found[0.0, 0.0] == "stable spiral"
    assert {found[place] for place in found if place != (0.0, 0.0)} == {"saddle"}
    assert {abs(place[0]) for place in found} == {0.0, round(np.pi, 6)}


def test_a_reaction_ends_at_zero_and_has_its_pole_below(michaelis_menten):
    found = of(michaelis_menten)
    assert [(point.kind, float(point.state[0])) for point in found.fixed_points] == [("stable node", 0.0)]
    (pole,) = found.singularities
    assert (pole.state, pole.border.kind, pole.inside) == ("s", "pole", False)
    assert pole.border.location == pytest.approx(-0.3)


def test_inputs_are_held_at_their_means(driven):
    found = of(driven)
    mean = float(np.sin(np.linspace(0, 8, 60)).mean())
    assert found.around.held == pytest.approx([mean])
    assert found.fixed_points[0].state == pytest.approx([2.0 * mean / 0.5])


@pytest.mark.parametrize(
    ("equations", "initial", "until", "wanted"),
    [
        ({"x": "x*(1 - x)*(x - 0.3)"}, [0.31], 80.0, {(0.0,): "stable", (0.3,): "unstable", (1.0,): "stable"}),
        ({"x": "y", "y": "(1 - x**2)*y - x"}, [1.0, 0.0], 20.0, {(0.0, 0.0): "unstable spiral"}),
        ({"x": "-x + 0.1*y", "y": "-3*y"}, [1.0, -1.0], 4.0, {(0.0, 0.0): "stable node"}),
    ],
)
def test_fixed_points_are_found_and_named(system_of, finding_of, equations, initial, until, wanted):
    found = points(finding_of(system_of(equations), [initial], np.linspace(0, until, 60)))
    assert found.keys() == wanted.keys()
    assert all(found[place].startswith(kind) for place, kind in wanted.items())


def test_the_wings_of_lorenz_are_saddles_that_turn(system_of, finding_of):
    found = points(finding_of(system_of(LORENZ), [[1.0, 1.0, 1.0]], np.linspace(0, 20, 400)))
    side = round(np.sqrt(72.0), 6)
    assert found == {
        (-side, -side, 27.0): "saddle focus",
        (side, side, 27.0): "saddle focus",
        (0.0, 0.0, 0.0): "saddle",
    }


def test_of_a_line_of_fixed_points_a_few_are_named(system_of, finding_of):
    epidemic = system_of({"s": "-0.5*s*i", "i": "0.5*s*i - 0.1*i"})
    found = of(finding_of(epidemic, [[0.99, 0.01]], np.linspace(0, 60, 80)))
    assert {point.kind for point in found.fixed_points} == {LINE}
    assert len(found.fixed_points) == 3
    assert all(abs(point.state[1]) < 1e-8 for point in found.fixed_points)


def test_what_the_time_drives_never_rests(system_of, finding_of):
    finding = finding_of(system_of({"x": "sin(t) - x"}, depends_on_time=True), [[1.0]], np.linspace(0, 9, 60))
    assert of(finding).fixed_points == ()


def test_slopes_vanish_at_fixed_points(system_of, finding_of):
    """For systems drawn at random; what is found is at rest, whatever it is called."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        a, b, c, d = rng.uniform(0.2, 2.0, 4).round(3)
        system = system_of({"x": f"{a} - x*y/({b} + x)", "y": f"{c}*x/(1 + x**2) - {d}*y"})
        finding = finding_of(system, [[1.0, 0.5]], np.linspace(0, 3, 40))
        found = of(finding)
        for point in found.fixed_points:
            slopes = system.slopes(found.around.rows(point.state[None, :]))
            assert np.abs(slopes).max() < 1e-8
            jacobian = jacobians(system, found.around, point.state[None, :])[0]
            assert np.sum(point.eigenvalues).real == pytest.approx(np.trace(jacobian), abs=1e-6)


@pytest.mark.parametrize(
    ("eigenvalues", "kind"),
    [
        ([-1, -2], "stable node"),
        ([1, 2], "unstable node"),
        ([1, -2], "saddle"),
        ([-1 + 2j, -1 - 2j], "stable spiral"),
        ([1 + 2j, 1 - 2j], "unstable spiral"),
        ([2j, -2j], "centre"),
        ([0, -1], "degenerate"),
        ([0, 0], "degenerate"),
        ([0.1 + 2j, 0.1 - 2j, -3], "saddle focus"),
        ([2j, -2j, -1], "centre in a plane"),
        ([np.nan], "on the edge of the domain"),
    ],
)
def test_kinds_go_by_eigenvalues(eigenvalues, kind):
    assert kind_of(np.array(eigenvalues, complex)) == kind


def test_eigenvalues_are_written_as_pairs(pendulum):
    assert eigenvalues_in_words(of(pendulum).fixed_points[0]) == "-0.1 ± 3.13i"


def test_nullclines_are_where_slopes_vanish(lotka_volterra, system_of):
    found = of(lotka_volterra)
    system = lotka_volterra.system
    grid = plane(system, found.around)
    for which in (0, 1):
        curve = nullcline(grid, which)
        drawn = np.isfinite(curve.x)
        assert drawn.sum() > 100
        slopes = system.slopes(np.column_stack([curve.x[drawn], curve.y[drawn]]))[:, which]
        assert np.abs(slopes).max() < 0.05 * np.abs(grid.slopes[which]).max()


def test_a_pole_is_no_nullcline(system_of, finding_of):
    finding = finding_of(system_of({"x": "y - 0.5*x", "y": "1.0/(x - 3.0) - y"}), [[1.0, 0.5]], np.linspace(0, 2, 40))
    found = of(finding)
    around = surroundings(finding.system, finding.series, [np.array([[0.0, -2.0], [6.0, 2.0]])])
    curve = nullcline(plane(finding.system, around), 1)
    drawn = np.isfinite(curve.x)
    assert drawn.sum() > 50
    assert np.allclose(curve.y[drawn], 1.0 / (curve.x[drawn] - 3.0), atol=0.15)
    assert found.around.lower[0] < found.around.upper[0]


def test_the_box_goes_little_beyond_zero_for_what_is_positive(lotka_volterra, pendulum):
    assert of(lotka_volterra).around.lower[0] > -2.0
    assert of(pendulum).around.lower[0] < -3.0


def test_nothing_is_found_outside_the_box(lotka_volterra):
    around = surroundings(lotka_volterra.system, lotka_volterra.series, [np.array([[8.0, 5.0], [9.0, 5.5]])])
    assert fixed_points(lotka_volterra.system, around) == ()
