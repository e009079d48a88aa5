"""Repetitions are fitted one by one, modes followed over conditions, and laws predict a level that was left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

from ceql.errors import InputError
from ceql.frf.kinds import Kind
from ceql.frf.modal.analysis import ModalSettings, analyse_modes
from ceql.frf.modal.formula import formula_of
from ceql.frf.modal.repetitions import combined
from ceql.frf.modal.sets import PointSet, Survey
from ceql.frf.modal.summary import as_json, in_words
from ceql.frf.modes import Flag
from ceql.frf.splits import parse_split

from .made_data import noisy, response, survey

GRID = np.arange(50.0, 400.0, 0.5)
LEVELS = (0.5, 1.0, 2.0, 4.0, 8.0)


def damping_at(level: float) -> float:
    """Grows fourfold, as in a bolted joint."""
    return 0.004 + 0.012 * np.sqrt(level / 8.0)


def frequency_at(level: float) -> float:
    return 220.0 - 0.4 * level


@pytest.fixture(scope="module")
def joint() -> Survey:
    """Three repetitions of two modes, of which one depends on the amplitude of the excitation."""
    sets = []
    for level in LEVELS:
        natural, damping = [110.0, frequency_at(level)], [0.01, damping_at(level)]
        for k in range(3):
            curves = noisy(response(GRID, natural, damping, np.array([[1.0], [0.8]])), 40.0, seed=k)
            sets.append(PointSet((level,), k + 1, GRID, curves))
    return Survey(tuple(sets), ("1",), ("amplitude",), Kind.ACCELERANCE, "")


@pytest.fixture(scope="module")
def left_out(joint):
    return analyse_modes(joint, ModalSettings(leave_out=2.0))


def test_scatter_of_the_frequency_does_not_become_damping():
    rng = np.random.default_rng(0)
    sets = []
    for k in range(6):
        natural = 200.0 * (1.0 + 0.01 * rng.standard_normal())
        curves = noisy(response(GRID, [natural], [0.004], np.array([[1.0]])), 40.0, seed=k)
        sets.append(PointSet((0.0,), k + 1, GRID, curves))
    analysis = analyse_modes(Survey(tuple(sets), ("1",), ("d",), Kind.ACCELERANCE, ""), ModalSettings())
    (track,) = analysis.sound
    own = track.estimates[0.0,]
    assert own.damping.value == pytest.approx(0.004, rel=0.02)
    assert own.frequency.scatter == pytest.approx(2.0, rel=0.6)
    # the mean magnitude that the laws predict is widened by that scatter, as the measured one is
    assert analysis.r2_train == pytest.approx(1.0, abs=0.01)


def test_damping_that_grows_fourfold_gets_a_law(left_out):
    track = max(left_out.sound, key=lambda t: t.frequency)
    for level in (0.5, 1.0, 4.0, 8.0):
        own = track.estimates[level,]
        assert own.damping.value == pytest.approx(damping_at(level), rel=0.02)
    law = left_out.laws[track.number]
    assert law.damping.used
    assert law.frequency.used
    here = np.array([[2.0]])
    assert law.damping.at(here)[0] == pytest.approx(damping_at(2.0), rel=0.05)
    assert law.frequency.at(here)[0] == pytest.approx(frequency_at(2.0), rel=2e-4)


def test_the_intervals_hold_on_the_level_left_out(left_out):
    rows = [row for row in left_out.forecasts if row.quantity in ("frequency", "damping")]
    assert len(rows) == 4
    assert all(row.contains for row in rows)
    assert left_out.r2_left_out > 0.99


def test_a_constant_stays_a_constant(left_out):
    track = min(left_out.sound, key=lambda t: t.frequency)
    spread = np.ptp(left_out.laws[track.number].damping.at(np.array([[0.5], [8.0]])))
    assert spread < 0.02 * 0.01


def test_what_was_split_off_is_not_trained_on(joint):
    analysis = analyse_modes(joint, ModalSettings(split=parse_split("first:2")))
    assert {one.repetition for one in analysis.train.sets} == {1, 2}
    assert analysis.r2_test is not None
    assert analysis.r2_test > 0.99


def test_a_summary_has_all_of_it(left_out):
    words = in_words(left_out)
    assert "Laws over amplitude" in words
    assert "The level left out" in words
    content = as_json(left_out)
    assert content["n_modes"] == 2
    assert {"frequency_hz", "damping_ratio", "damping_error", "flags"} <= set(content["modes"][0])
    assert content["stabilisation"][0]["order"]


def test_unknown_levels_and_splits_are_answered(joint):
    with pytest.raises(InputError, match=r"Known levels: 0.5, 1, 2, 4, 8"):
        analyse_modes(joint, ModalSettings(leave_out=3.0))
    with pytest.raises(InputError, match=r"leaves nothing to hold out for amplitude = 0\.5"):
        analyse_modes(joint, ModalSettings(split=parse_split("first:3")))
    with pytest.raises(InputError, match="Residual terms are both, lower"):
        analyse_modes(joint, ModalSettings(residuals="some"))


def test_background_and_what_is_not_determined_are_flagged():
    curves = response(GRID, [120.0, 230.0], [0.01, 0.2], np.array([[1.0], [0.5]]))
    analysis = analyse_modes(survey(GRID, noisy(curves, 30.0)), ModalSettings())
    flags = {flag for t in analysis.tracks for own in t.estimates.values() for flag in own.flags}
    assert [round(t.frequency) for t in analysis.sound] == [120]
    assert not flags or flags & {Flag.BROAD, Flag.UNDETERMINED, Flag.UNSTABLE, Flag.FAINT}


def test_coherence_counts():
    """Where half of the band is spoilt and says so, the modes come out as if it were not there."""
    rng = np.random.default_rng(1)
    clean = response(GRID, [120.0, 300.0], [0.01, 0.005], np.array([[1.0, 0.5], [0.7, -0.9]]))
    spoilt = GRID < 200.0
    curves = noisy(clean, 50.0)
    curves[:, spoilt] *= 1.0 + 0.5 * (
        rng.standard_normal((2, spoilt.sum())) + 1j * rng.standard_normal((2, spoilt.sum()))
    )
    coherence = np.tile(np.where(spoilt, 0.67, 1.0), (2, 1))
    one = replace(survey(GRID, curves).sets[0], coherence=coherence)
    analysis = analyse_modes(replace(survey(GRID, curves), sets=(one,)), ModalSettings())
    track = min(analysis.tracks, key=lambda t: abs(t.frequency - 300.0))
    own = next(iter(track.estimates.values()))
    assert own.frequency.value == pytest.approx(300.0, rel=1e-4)
    assert own.damping.value == pytest.approx(0.005, rel=0.03)


def test_outliers_do_not_count_and_a_single_value_keeps_its_own_error():
    values = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 50.0, np.nan])
    found = combined(values, np.full(7, 0.01))
    assert found.count == 5
    assert found.value == pytest.approx(1.0)
    assert combined(np.array([2.0]), np.array([0.3])).error == 0.3


@pytest.mark.parametrize("level", [0.5, 3.0, 8.0])
def test_the_formula_has_the_values_of_the_modes_and_laws(left_out, level):
    """In kHz, as it is printed."""
    w, condition = sympy.Symbol("w", real=True), sympy.Symbol("amplitude", real=True)
    formula = formula_of(left_out, 0, 1e3)
    frequency = np.array([60.0, 110.0, 215.0, 380.0])
    values = [complex(formula.subs({w: f / 1e3, condition: level}).evalf()) for f in frequency]
    np.testing.assert_allclose(values, left_out.predictor.curves(frequency, (level,))[0], rtol=1e-6)
