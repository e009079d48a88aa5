"""Windows are found where resonances are, and nowhere else."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ceql.errors import InputError
from ceql.frf.beam import Beam, measure
from ceql.frf.peak_tracks import Peak, find_windows, parse_windows, peak_in
from ceql.frf.summary import peak_lines


def test_every_mode_in_the_band_has_its_window(measured):
    windows = find_windows(measured.magnitudes().mean())
    for loss in (0.0, 0.6):
        modes = [f for f in Beam().damaged(loss).modes.frequency if 100 < f < 1800]
        assert len(modes) == len(windows)
        assert all(low < f < high for f, (low, high) in zip(modes, windows, strict=True))


def test_windows_do_not_overlap(measured):
    windows = find_windows(measured.magnitudes().mean())
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(windows))


def test_a_curve_without_resonances_is_refused_with_advice():
    quiet = measure(Beam(), repetitions=3, frequency=np.arange(1100.0, 1400.0, 1.0)).magnitudes().mean()
    with pytest.raises(InputError, match=r"No resonance was found between 1100 and 1399 Hz.*--band.*--windows"):
        find_windows(quiet)


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_resonance(measured, seed):
    rng = np.random.default_rng(seed)
    noise = np.abs(rng.standard_normal((4, 850)) + 1j * rng.standard_normal((4, 850)))
    with pytest.raises(InputError, match="No resonance"):
        find_windows(replace(measured.mean(), curves=noise))


def test_the_peak_of_a_window_and_its_edge():
    f = np.linspace(0, 10, 101)
    assert peak_in(f, np.exp(-((f - 4) ** 2)), (3, 6)) == (pytest.approx(4.0), False)
    assert peak_in(f, f, (3, 6)) == (pytest.approx(6.0), True)
    with pytest.raises(InputError, match="20:30 Hz holds 0 frequencies"):
        peak_in(f, f, (20, 30))


def test_windows_in_words():
    assert parse_windows("330:450, 100:200") == [(100, 200), (330, 450)]
    with pytest.raises(InputError, match="is not a band"):
        parse_windows("100-200")
    with pytest.raises(InputError, match="at least one"):
        parse_windows(",")


def test_windows_without_a_peak_of_the_formula_are_counted_apart():
    def peak(predicted: float, at_edge: bool) -> Peak:
        return Peak((0.0,), (90.0, 120.0), 100.0, predicted, None, False, at_edge)

    assert peak_lines([peak(101.0, False), peak(97.0, False), peak(120.0, True)]) == [
        "Error of 2 peaks: mean 2 Hz, largest 3 Hz",
        "No peak of the formula in 1 of 3 windows (at the edge)",
    ]
    assert peak_lines([peak(120.0, True)]) == ["No peak of the formula in 1 of 1 windows (at the edge)"]
