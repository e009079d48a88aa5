"""Poles are recovered from made curves, whatever the modes, the kind of response and the order of the points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.errors import InputError
from ceql.frf.kinds import Kind
from ceql.frf.modal.analysis import ModalSettings, analyse_modes
from ceql.frf.modal.identify import identify
from ceql.frf.modal.noise import weighted_response
from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.polynomial import stabilisation
from ceql.frf.modal.refinement import normal_equations, refined, solved
from ceql.frf.modal.response import frequency_and_damping, linear_part, pole_of, synthesised
from ceql.frf.modal.shapes import collinearity, contribution, mac, normalised

from .made_data import noisy, response, survey

GRID = np.arange(20.0, 500.0, 0.5)
POLICY = ModalPolicy()
NATURAL, DAMPING = np.array([60.0, 150.0, 151.5, 330.0]), np.array([0.01, 0.006, 0.008, 0.004])
SHAPES = np.random.default_rng(3).standard_normal((4, 6))


def found_in(curves, kind=Kind.ACCELERANCE, frequency=GRID):
    return identify(weighted_response(frequency, curves, kind, POLICY), POLICY)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4),
    st.floats(0.002, 0.03),
    st.integers(1, 4),
    st.sampled_from([Kind.RECEPTANCE, Kind.MOBILITY, Kind.ACCELERANCE]),
    st.integers(0, 2**16),
)
def test_poles_and_residues_of_random_modes_are_recovered(places, damping, points, kind, seed):
    rng = np.random.default_rng(seed)
    m = len(places)
    natural = 50.0 + 400.0 * (np.arange(m) + 0.15 + 0.7 * np.array(places)) / m  # apart, and away from the edges
    ratios = damping * rng.uniform(0.7, 1.4, m)
    residues = (
        rng.uniform(0.5, 2.0, (m, points)) * rng.choice([-1.0, 1.0], (m, points)) * np.exp(1j * rng.normal(0, 0.1))
    )
    curves = noisy(response(GRID, natural, ratios, residues, kind), 60.0, seed)
    found = found_in(curves, kind)
    frequency, ratio = frequency_and_damping(found.poles)
    # receptance hides what lies above a strong mode: what is found has to be right, and the strongest has to be found
    for k in range(len(frequency)):
        nearest = int(np.argmin(np.abs(natural - frequency[k])))
        assert frequency[k] == pytest.approx(natural[nearest], rel=1e-3)
        assert ratio[k] == pytest.approx(ratios[nearest], rel=0.05)
        np.testing.assert_allclose(found.shapes[k], residues[nearest], rtol=0.15, atol=0.1 * np.abs(residues).max())
    if kind == Kind.ACCELERANCE:
        assert len(frequency) == m


@pytest.mark.parametrize(("snr", "percent"), [(40.0, 1.0), (20.0, 5.0)])
def test_close_modes_are_told_apart_and_none_is_false(snr, percent):
    found = found_in(noisy(response(GRID, NATURAL, DAMPING, SHAPES), snr))
    frequency, damping = frequency_and_damping(found.poles)
    np.testing.assert_allclose(frequency, NATURAL, rtol=5e-4)
    np.testing.assert_allclose(damping, DAMPING, rtol=percent / 100)
    assert np.diag(mac(SHAPES, found.shapes)).min() > 0.98


def test_the_order_of_the_points_does_not_matter():
    curves = noisy(response(GRID, NATURAL, DAMPING, SHAPES), 30.0)
    order = [3, 0, 5, 1, 4, 2]
    one, other = found_in(curves), found_in(curves[order])
    np.testing.assert_allclose(other.poles, one.poles, rtol=1e-6)
    np.testing.assert_allclose(other.shapes, one.shapes[:, order], rtol=1e-3, atol=1e-3 * np.abs(one.shapes).max())


def test_noise_alone_has_no_sound_mode():
    rng = np.random.default_rng(0)
    curves = rng.standard_normal((3, len(GRID))) + 1j * rng.standard_normal((3, len(GRID)))
    with pytest.raises(InputError, match="No mode was found"):
        analyse_modes(survey(GRID, curves), ModalSettings())


def test_modes_beyond_the_band_are_residual_terms():
    natural, damping = np.array([5.0, 200.0, 900.0]), np.array([0.01, 0.01, 0.01])
    curves = noisy(response(GRID, natural, damping, np.array([[3.0], [1.0], [4.0]])), 50.0)
    found = found_in(curves)
    inside = [k for k, pole in enumerate(found.poles) if 20 < abs(pole) < 500]
    assert len(inside) == 1
    assert abs(found.poles[inside[0]]) == pytest.approx(200.0, rel=1e-4)


def test_standard_errors_are_about_the_scatter():
    clean = response(GRID, NATURAL, DAMPING, SHAPES)
    fits = [found_in(noisy(clean, 30.0, seed)) for seed in range(12)]
    spread = np.std([frequency_and_damping(fit.poles)[0] for fit in fits], axis=0)
    claimed = np.mean([fit.errors.frequency for fit in fits], axis=0)
    assert (claimed > 0.4 * spread).all()
    assert (claimed < 4.0 * spread).all()


def test_the_curvature_and_slopes_are_those_of_the_sum_of_squares():
    """Kaufman's Jacobian has the exact gradient: half the change of the sum of squares."""
    made = weighted_response(GRID, noisy(response(GRID, NATURAL, DAMPING, SHAPES), 30.0), Kind.ACCELERANCE, POLICY)
    poles = pole_of(NATURAL * 1.001, DAMPING * 1.1)
    here = solved(made, poles)
    _, slopes = normal_equations(made, here)
    tiny = 1e-5
    for k in range(len(poles)):
        for parameter, change in ((0, 1j * -poles[k].real), (1, poles[k].real)):
            moved = [np.array(poles), np.array(poles)]
            moved[0][k] += tiny * change
            moved[1][k] -= tiny * change
            slope = (solved(made, moved[0]).squares - solved(made, moved[1]).squares) / (2 * tiny)
            assert -2.0 * slopes[2 * k + parameter].sum() == pytest.approx(slope, rel=1e-3, abs=1e-3 * here.squares)


def test_a_refinement_never_ends_higher_than_it_began():
    made = weighted_response(GRID, noisy(response(GRID, NATURAL, DAMPING, SHAPES), 20.0), Kind.ACCELERANCE, POLICY)
    poles = pole_of(NATURAL * 1.01, DAMPING * 3)
    assert refined(made, poles, 20).squares <= solved(made, poles).squares


def test_synthesis_undoes_the_linear_part():
    made = weighted_response(GRID, response(GRID, NATURAL, DAMPING, SHAPES), Kind.ACCELERANCE, POLICY)
    poles = pole_of(NATURAL, DAMPING)
    part = linear_part(made, poles, solved(made, poles).coefficients)
    np.testing.assert_allclose(part.residues, SHAPES, atol=1e-6)
    np.testing.assert_allclose(synthesised(made, poles, part), made.curves, atol=1e-6 * np.abs(made.curves).max())


def test_the_diagram_shows_modes_at_most_orders():
    made = weighted_response(GRID, noisy(response(GRID, NATURAL, DAMPING, SHAPES), 40.0), Kind.ACCELERANCE, POLICY)
    diagram = stabilisation(made, POLICY)
    assert all(diagram.recurrence(frequency, POLICY) > 0.8 for frequency in NATURAL)
    assert diagram.recurrence(250.0, POLICY) < 0.2


@pytest.mark.parametrize(
    ("natural", "damping"),
    [
        ((60.0, 150.0, 153.0, 330.0), (0.01, 0.004, 0.005, 0.004)),  # polynomials see the pair as one
        ((60.0, 150.0, 152.0, 154.5), (0.01, 0.004, 0.005, 0.004)),
        ((21.0, 150.0, 250.0, 499.0), (0.009, 0.006, 0.008, 0.004)),  # half widths of 0.4 steps, and at the edges
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_modes_that_the_fit_determines_carry_no_flag(natural, damping, seed):
    shapes = np.random.default_rng(seed).standard_normal((4, 9))
    curves = noisy(response(GRID, np.array(natural), np.array(damping), shapes), 20.0, seed)
    tracks = analyse_modes(survey(GRID, curves), ModalSettings()).tracks
    np.testing.assert_allclose([track.frequency for track in tracks], natural, rtol=1e-3)
    assert all(not own.flags for track in tracks for own in track.estimates.values())


@pytest.mark.parametrize("share", [0.0005, 0.002])
@pytest.mark.parametrize("snr", [40.0, 25.0])
def test_frequencies_that_differ_from_point_to_point_are_one_mode(share, snr):
    """A sensor that is moved adds its mass elsewhere each time."""
    rng = np.random.default_rng(5)
    natural, damping = np.array([60.0, 150.0, 240.0, 330.0]), np.array([0.01, 0.006, 0.008, 0.004])
    shapes = rng.standard_normal((4, 9))
    moved = natural * (1.0 + share * rng.standard_normal((9, 4)))
    curves = np.concatenate([response(GRID, moved[k], damping, shapes[:, [k]]) for k in range(9)])
    analysis = analyse_modes(survey(GRID, noisy(curves, snr)), ModalSettings())
    np.testing.assert_allclose([track.frequency for track in analysis.tracks], natural, rtol=2.0 * share)
    ratios = [own.damping.value for track in analysis.tracks for own in track.estimates.values()]
    np.testing.assert_allclose(ratios, damping, rtol=0.05)
    assert np.diag(mac(shapes, np.array([track.shape for track in analysis.tracks]))).min() > 0.98
    assert any("differ from point to point" in note for note in analysis.notes)


@pytest.mark.parametrize("apart", [0.003, 0.01])
def test_close_modes_are_no_mode_that_differs_from_point_to_point(apart):
    natural = np.array([60.0, 150.0, 150.0 * (1.0 + apart), 330.0])
    shapes = np.random.default_rng(6).standard_normal((4, 6))
    analysis = analyse_modes(survey(GRID, noisy(response(GRID, natural, DAMPING, shapes), 25.0)), ModalSettings())
    np.testing.assert_allclose([track.frequency for track in analysis.tracks], natural, rtol=1e-3)
    assert not any("differ from point to point" in note for note in analysis.notes)


def test_a_single_disturbed_line_is_no_mode():
    curves = noisy(response(GRID, NATURAL, DAMPING, SHAPES), 40.0)
    curves[:, np.argmin(np.abs(GRID - 250.0))] += 0.5 * np.abs(curves).max()
    sound = analyse_modes(survey(GRID, curves), ModalSettings()).sound
    np.testing.assert_allclose([track.frequency for track in sound], NATURAL, rtol=1e-3)


# ---- shapes -------------------------------------------------------------------------------------------------------

complex_shapes = st.lists(
    st.tuples(st.floats(-5, 5), st.floats(-5, 5)).map(lambda p: complex(*p)), min_size=2, max_size=8
).map(np.array).filter(lambda shape: np.linalg.norm(shape) > 1e-3)  # fmt: skip


@given(complex_shapes, st.floats(0.01, 100.0), st.floats(-3.0, 3.0))
def test_the_mac_of_a_shape_with_itself_is_one_in_any_size_and_phase(shape, size, phase):
    assert mac(shape, size * np.exp(1j * phase) * shape)[0, 0] == pytest.approx(1.0)


@given(complex_shapes)
def test_the_mac_lies_between_zero_and_one(shape):
    other = np.roll(shape, 1) * (1 + 0.3j)
    assert -1e-12 <= mac(shape, other)[0, 0] <= 1 + 1e-9


def test_orthogonal_shapes_have_no_mac():
    assert mac(np.array([1.0, 1.0]), np.array([1.0, -1.0]))[0, 0] == 0.0


@given(complex_shapes, st.floats(-3.0, 3.0))
def test_real_shapes_are_collinear_in_any_phase(shape, phase):
    real = np.real(shape)
    if np.linalg.norm(real) > 1e-3:
        assert collinearity(real * np.exp(1j * phase)) == pytest.approx(1.0)


def test_contribution_and_normalisation():
    shape = np.array([1.0, -2.0, 0.5])
    assert contribution(3j * shape, shape) == pytest.approx(3j)
    assert np.abs(normalised(shape)).max() == 1.0
