"""The real fit on the embedded beam: the truth comes back out of noisy curves."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.frf.analysis import Settings, analyse
from ceql.frf.beam import Beam, measure


@pytest.mark.parametrize("fit_complex", [False, True])
def test_frequencies_and_damping_are_recovered_at_40_db(fit_complex):
    beam = Beam()
    analysis = analyse(measure(beam, repetitions=5), Settings(form="modal", fit_complex=fit_complex, time_limit=120))
    for level in analysis.measurements.levels:
        truth = beam.damaged(level[0] / 100).modes
        own = [mode for mode in analysis.modes if mode.condition == tuple(level)]
        for frequency, damping in zip(truth.frequency[:5], truth.damping[:5], strict=True):  # the sixth is out of band
            nearest = min(own, key=lambda mode, f=frequency: abs(mode.frequency_hz - f))
            assert nearest.frequency_hz == pytest.approx(frequency, rel=1e-3)
            assert nearest.damping_ratio == pytest.approx(damping, rel=0.05)
    assert analysis.r2_test is not None
    assert analysis.r2_test > 0.99
    assert np.isfinite(analysis.r2_train)
