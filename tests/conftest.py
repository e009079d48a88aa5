"""What several tests share."""

from __future__ import annotations

from functools import partial

import pytest

import ceql.estimator
import ceql.hunt
from ceql import Settings
from ceql.search import SearchSettings


@pytest.fixture
def quick_search(monkeypatch):
    """Rounds of few starts and short fronts, for tests that need any formula rather than the right one."""
    few = SearchSettings(round_size=64, chunk_size=32)
    monkeypatch.setattr(ceql.estimator, "Settings", partial(Settings, search=few))
    monkeypatch.setattr(ceql.hunt, "_DRAWN_ANYWAY", 2)
