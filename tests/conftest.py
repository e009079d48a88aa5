"""What several tests share."""

from __future__ import annotations

import os
from functools import partial

import pytest
from hypothesis import settings as hypothesis_settings

import ceql.estimator.regressor
from ceql import Settings
from ceql.search.policy import SearchPolicy

# A failure must be the change's, so laws are tried on the same examples every time; CEQL_EXPLORE=1 draws new ones.
hypothesis_settings.register_profile("same", derandomize=True)
hypothesis_settings.load_profile("default" if os.environ.get("CEQL_EXPLORE") else "same")


@pytest.fixture
def quick_search(monkeypatch):
    """Rounds of few starts, for tests that need any formula rather than the right one."""
    few = SearchPolicy(round_size=64, chunk_size=32)
    monkeypatch.setattr(ceql.estimator.regressor, "Settings", partial(Settings, search=few))
