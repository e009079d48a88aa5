"""Memory is measured per run, in a process of its own that may die."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from ceql.bench.environment import Meter, in_own_process
from ceql.bench.methods import find_method
from ceql.bench.problems import load_suite
from ceql.bench.runner import run_suite


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not forget a peak")
def test_a_meter_sees_what_is_taken_after_its_start():
    meter = Meter()
    meter.start()
    block = np.ones(30 * 2**17)  # 30 MiB
    del block
    assert 25 < meter.read()["grown_mb"] < 60


def test_a_process_that_dies_is_told():
    assert in_own_process(abs, -3, lambda work, why: 0) == 3
    # A module-level function, since it has to travel to the other process.
    assert in_own_process(os._exit, 7, lambda work, why: f"{work}: {why}") == "7: exit code 7"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_suite_that_asks_for_memory_gets_it(jobs):
    suite = load_suite("paper")
    small = replace(suite, problems=suite.problems[:1], memory=True)
    record, *_ = run_suite(small, [find_method("aaa")], range(jobs), jobs=jobs)
    assert record.error is None
    assert (record.rows, record.columns) == (128, 1)
    assert record.peak_mb is not None
    assert record.grown_mb is not None
    assert record.peak_mb > 10
    assert 0 <= record.grown_mb <= record.peak_mb
    assert record.machine
