"""The benchmark of a whole search times functions by their names, which move with the code."""

from __future__ import annotations

import runpy
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "whole_search.py"
STAGES: dict[str, tuple[str, ...]] = runpy.run_path(str(SCRIPT))["STAGES"]


@pytest.mark.parametrize("place", [place for places in STAGES.values() for place in places])
def test_what_is_timed_is_there(place: str):
    module, _, path = place.partition(":")
    assert callable(reduce(getattr, path.split("."), import_module(module)))
