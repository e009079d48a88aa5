"""The embedded beam against the analytical cantilever and against its own modes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from ceql.errors import InputError
from ceql.frf.beam import Beam, cantilever_frequencies, measure
from ceql.frf.kinds import Kind

BARE = replace(Beam(), masses=(), positions=())


def test_the_bare_beam_has_the_analytical_frequencies():
    roots = np.array([brentq(lambda x: np.cos(x) + 1 / np.cosh(x), 3.1 * k + 0.5, 3.1 * k + 2.9) for k in range(4)])
    np.testing.assert_allclose(roots, [1.8751, 4.6941, 7.8548, 10.9955], atol=1e-4)
    np.testing.assert_allclose(BARE.modes.frequency[:4], cantilever_frequencies(BARE, roots), rtol=2e-5)


def test_a_point_mass_at_the_tip_lowers_the_first_frequency_as_rayleigh_says():
    tip = replace(BARE, masses=(1e-4,), positions=(BARE.length,))
    mass = BARE.density * BARE.width * BARE.thickness * BARE.length
    expected = -0.5 * 4.0 * 1e-4 / mass  # the first mode of unit mean square has the square 4 at the tip
    assert tip.modes.frequency[0] / BARE.modes.frequency[0] - 1 == pytest.approx(expected, rel=1e-2)


def test_modes_have_unit_modal_mass():
    static = BARE.frf(np.array([1e-3]), kind=Kind.RECEPTANCE)[0].real
    stiffness = 3 * BARE.modulus * (BARE.width * BARE.thickness**3 / 12) / BARE.length**3
    assert static == pytest.approx(
        1 / stiffness, rel=1e-3
    )  # the first six modes give nearly all of the tip's flexibility


def test_damage_and_a_moved_mass_shift_frequencies():
    beam = Beam()
    assert (beam.damaged(0.4).modes.frequency < beam.modes.frequency).all()
    assert (beam.with_mass_at(5, 0.32).modes.frequency[0]) < beam.modes.frequency[0]


def test_kinds_follow_from_each_other():
    f = np.array([50.0, 180.0])
    receptance, mobility, accelerance = (Beam().frf(f, kind=kind) for kind in list(Kind)[:3])
    np.testing.assert_allclose(mobility, 2j * np.pi * f * receptance)
    np.testing.assert_allclose(accelerance, -((2 * np.pi * f) ** 2) * receptance)


def test_reciprocity():
    f = np.linspace(100, 300, 5)
    np.testing.assert_allclose(Beam().frf(f, at=0.1, force_at=0.4), Beam().frf(f, at=0.4, force_at=0.1))


def test_the_noise_has_the_level_that_was_asked_for():
    noisy = measure(Beam(), losses=(0.0,), repetitions=4, snr_db=20.0)
    clean = Beam().frf(noisy.frequency)
    ratio = np.mean(np.abs(noisy.curves - clean) ** 2) / np.mean(np.abs(clean) ** 2)
    assert 10 * np.log10(ratio) == pytest.approx(-20.0, abs=0.3)


def test_the_same_seed_gives_the_same_measurements():
    a, b, c = (measure(Beam(), (0.0, 0.2), 2, position_scatter=1e-3, seed=s).curves for s in (1, 1, 2))
    assert (a == b).all()
    assert not (a == c).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"positions": (0.5,) * 6}, "between 0 and the length"),
        ({"stiffness_loss": ((99, 0.1),)}, "elements 0 to 31"),
        ({"damping": ()}, "at least one"),
    ],
)
def test_impossible_beams_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        Beam(**change)


def test_a_point_beside_the_beam_is_refused():
    with pytest.raises(InputError, match="not on the beam"):
        Beam().frf(np.array([10.0]), at=0.9)
