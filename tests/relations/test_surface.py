"""Surfaces: gradients, distances, the points next to rows, and the fit that goes by them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ceql.expression import parse_formula
from ceql.formula import constants_of, parametrise
from ceql.relations.fitting import fitted, measured
from ceql.relations.policy import POLICY
from ceql.relations.rows import Rows
from ceql.relations.surface import Equation, Surface, put_onto

NAMES = ("x", "y", "z")
EQUATIONS = {  # with x as the others give it
    "sphere": ("x**2", "4 - y**2 - z**2", lambda y, z: np.sqrt(4.0 - y**2 - z**2)),
    "product": ("x*y", "1.5*z", lambda y, z: 1.5 * z / y),
    "functions": ("log(x)", "0.3*sin(y) - exp(-z)", lambda y, z: np.exp(0.3 * np.sin(y) - np.exp(-z))),
    "size": ("z", "abs(x - 2.2) + y/5", lambda y, z: 2.2 - (z - y / 5.0)),
    "power": ("y", "2.5*x**1.4/z", lambda y, z: (y * z / 2.5) ** (1.0 / 1.4)),
}


def equation(left: str, right: str, names: tuple[str, ...] = NAMES) -> Equation:
    return Equation(parse_formula(left, names), parse_formula(right, names))


def rows_of(seed: int = 0, count: int = 40) -> Rows:
    return Rows.of(np.random.default_rng(seed).uniform(0.4, 1.3, (count, 3)), NAMES)


@pytest.mark.parametrize("name", EQUATIONS)
def test_gradients_are_differences(name):
    rows, step = rows_of(), 1e-6
    surface = Surface(equation(*EQUATIONS[name][:2]), rows, 1e-2)
    slopes = surface.at(rows).slopes
    for k in range(3):
        move = np.zeros(3)
        move[k] = step * rows.scale[k]
        up, down = (surface.at(rows.at(rows.x + sign * move)).values for sign in (1, -1))
        np.testing.assert_allclose(slopes[:, k], (up - down) / (2.0 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", EQUATIONS)
def test_a_multiple_of_an_equation_is_as_near(name):
    """Close to the surface, where distances are meant; (2 + x) does not vanish there."""
    rows = rows_of()
    one, solved = equation(*EQUATIONS[name][:2]), EQUATIONS[name][2]
    _, y, z = rows.x.T
    near = rows.at(np.column_stack([solved(y, z), y, z])).moved(1e-5, seed=1)
    times = 2 + rows.symbols[0]
    other = Equation(sympy.expand(one.target * times), sympy.expand(one.rest * times))
    first, second = (Surface(e, rows, 1e-2).at(near).distances for e in (one, other))
    np.testing.assert_allclose(first, second, rtol=1e-2, atol=1e-7)


def test_rows_are_put_onto_two_surfaces_at_once():
    both = [equation("x**2", "4 - y**2 - z**2"), equation("x", "0.5*y + 0.5*z")]
    turn = np.linspace(0.1, 1.5, 40)
    y, z = np.cos(turn), np.sin(turn)
    way = np.column_stack([(y + z) / 2.0, y, z])
    onto = Rows.of(2.0 * way / np.linalg.norm(way, axis=1)[:, None], NAMES)
    near = put_onto(both, onto.moved(0.02, seed=0), 1e-2, 10)
    for one in both:
        assert np.abs(Surface(one, near, 1e-2).at(near).values).max() < 1e-9
    crossing = Surface(equation("z", "y**2"), near, 1e-2).at(near)
    assert near.across is not None
    np.testing.assert_allclose(np.einsum("nmd,nd->nm", near.across, crossing.slopes), 0.0, atol=1e-10)
    consequence = Surface(equation("x*y", "0.5*y**2 + 0.5*z*y"), near, 1e-2).at(near)
    assert np.median(consequence.sines) < 1e-6
    assert np.median(crossing.sines) > 0.1


def ring(seed: int, noise: float, count: int = 150) -> Rows:
    rng = np.random.default_rng(seed)
    turn = rng.uniform(0.0, 2.0 * np.pi, count)
    x = np.column_stack([1.0 + 3.0 * np.cos(turn), 3.0 * np.sin(turn)])
    return Rows.of(x + noise * rng.normal(size=x.shape), ("x", "y"))


def test_noise_in_all_columns_biases_nothing_and_errors_say_how_far_off_numbers_are():
    """Of x**2 + y**2 = c1*x + c2 with noise of a tenth of the radius, ordinary least squares has c2 off by 0.18 for
    noise in the squares alone."""
    guess = equation("x**2", "2.5*x + 7.0 - y**2", ("x", "y"))
    scores = []
    for seed in range(40):
        rows = ring(seed, 0.1)
        fit = fitted(guess, rows, POLICY.fitting)
        assert fit is not None
        numbers = dict(constants_of(parametrise(fit.equation.rest), rows.inputs, fit.near))
        small, large = sorted(numbers)
        scores += [(small - 2.0) / numbers[small], (large - 8.0) / numbers[large]]
    assert abs(np.mean(scores)) < 0.5
    assert 0.7 < np.std(scores) < 1.4


def test_the_distance_of_a_fit_is_the_noise():
    rows = ring(0, 0.05, 400)
    fit = fitted(equation("x**2", "2.5*x + 7.0 - y**2", ("x", "y")), rows, POLICY.fitting)
    assert fit is not None
    assert np.sqrt(fit.distance) == pytest.approx(0.05 / rows.scale.mean(), rel=0.1)


def test_what_is_measured_keeps_its_numbers():
    rows = ring(0, 0.05)
    given = equation("x**2", "2.1*x + 7.9 - y**2", ("x", "y"))
    found, best = measured(given, rows, POLICY.fitting), fitted(given, rows, POLICY.fitting)
    assert found is not None
    assert best is not None
    assert found.equation == given
    assert found.distance >= best.distance


def test_an_equation_without_a_value_has_no_fit():
    assert fitted(equation("log(y)", "2.0*x", ("x", "y")), ring(0, 0.0), POLICY.fitting) is None
