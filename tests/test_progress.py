"""The live display: a line where somebody looks, silence elsewhere."""

from __future__ import annotations

import io

import pytest

from ceql import progress
from ceql.pipeline import Progress


def test_silent_when_piped_or_switched_off():
    for verbose in (False, None):
        with progress.live_display(verbose) as show:
            assert show is None


def test_shows_starts_loss_and_time_left_and_leaves_nothing(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    with progress.live_display(True) as show:
        assert show is not None
        show(Progress(seconds=0.1, time_limit=10, starts=1, best_loss=9.0))
        assert screen.getvalue() == ""
        show(Progress(seconds=4.0, time_limit=10, starts=2048, best_loss=0.125))
    assert "2,048 starts, loss 0.12, 6 s left" in screen.getvalue()
    assert screen.getvalue().rsplit("\r", 2)[-2].strip() == ""


@pytest.mark.parametrize(("fraction", "words"), [(0.25, "25%"), (1.0, "100%")])
def test_a_schedule_shows_its_share(monkeypatch, fraction, words):
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    with progress.live_display(True) as show:
        assert show is not None
        show(Progress(seconds=2.0, time_limit=0, starts=1, best_loss=1.0, message="15 edges", fraction=fraction))
    assert f"15 edges, {words}" in screen.getvalue()
