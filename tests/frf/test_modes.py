"""Terms as modes: equivalent damping, and every flag on a term that deserves it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ceql.frf.modes import Flag, equivalent_damping, modes_of, recurrence

GRID = np.linspace(100.0, 1000.0, 901)
LEVELS = np.array([[0.0], [1.0]])


def term(centre, width, amplitude=1.0, slope=0.0, **errors):
    known = {f"{name}_error": float("nan") for name in ("centre", "amplitude", "width")} | errors
    return SimpleNamespace(
        amplitude=amplitude, width=width, centre_at=lambda c: centre + slope * np.atleast_2d(c)[:, 0], **known
    )


def fit(*terms, form="modal", poles=()):
    return SimpleNamespace(form=form, terms=terms, poles_over_starts=list(poles))


def flags(*terms, **settings):
    found = modes_of(fit(*terms, **settings), LEVELS, GRID, hertz=1e3)
    return {mode.term: set(mode.flags) for mode in found}


def test_frequencies_are_in_hertz_and_errors_with_them():
    first, second = modes_of(fit(term(0.5, 0.01, slope=0.02, centre_error=1e-4)), LEVELS, GRID, hertz=1e3)
    assert (first.frequency_hz, second.frequency_hz) == pytest.approx((500, 520))
    assert first.frequency_error_hz == pytest.approx(0.1)
    assert first.q == pytest.approx(50)
    assert first.amplitude_error is None


def test_the_equivalent_ratio_matches_the_width_at_half_height():
    h, z = 500.0, 0.002
    w = np.linspace(450, 550, 200_001)
    magnitude = w**2 / np.abs(h**2 - w**2 + 2j * z * h * w)
    half = w[magnitude >= magnitude.max() / 2]
    width = ((half[-1] - half[0]) / 2) ** 2
    assert equivalent_damping(width, np.array([h]))[0] == pytest.approx(z, rel=1e-3)


def test_a_sound_pair_of_modes_has_no_flags():
    assert flags(term(0.3, 0.01), term(0.6, 0.01)) == {1: set(), 2: set()}


@pytest.mark.parametrize(
    ("strange", "flag"),
    [
        (term(1.2, 0.01), Flag.OUT_OF_BAND),
        (term(0.6, 1e-5, amplitude=1e-3), Flag.NARROW),
        (term(0.6, 0.5, amplitude=50.0), Flag.BROAD),
        (term(0.6, 0.01, amplitude=1e-3), Flag.FAINT),
        (term(0.301, 0.01, amplitude=-0.9), Flag.CANCELS),
    ],
)
def test_flags(strange, flag):
    found = flags(term(0.3, 0.01), strange)
    assert found[2] == {flag}


def test_a_pole_beyond_the_band_makes_no_other_one_faint():
    assert flags(term(0.3, 0.01), term(1.2, 1e-6, amplitude=100.0))[1] == set()


def test_a_pole_that_few_starts_find():
    poles = [np.array([0.3]), np.array([0.3, 0.6]), np.array([0.3])]
    assert flags(term(0.3, 0.01), term(0.6, 0.01), poles=poles) == {1: set(), 2: {Flag.RARE}}
    assert recurrence(poles, np.array([0.6])) == pytest.approx(1 / 3)
    assert recurrence([], np.array([0.6])) == 1.0
