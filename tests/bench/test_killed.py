"""A run killed without warning and resumed gives the records of an undisturbed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from ceql.bench.records import read_records

SUITE = """
title = "kill"
methods = ["aaa"]
seeds = "0-14"
[[include]]
suite = "paper"
problems = ["E-1", "E-7", "E-9"]
"""


def start(suite, out, *more):
    command = [
        sys.executable,
        "-c",
        "from ceql.__main__ import main; main()",
        "bench",
        str(suite),
        "--json",
        str(out),
        *more,
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def lines(path):
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:  # the check before the run makes the file and removes it again
        return 0


def outcome(path):
    """What a record says about a run, without its times."""
    keep = ("key", "settings", "train_mse", "interp_mse", "extrap_mse", "node_count", "exact", "expression", "error")
    return sorted((repr([getattr(r, name) for name in keep]) for r in read_records(path)), key=str)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_and_resumed_is_as_good_as_undisturbed(tmp_path, jobs):
    suite = tmp_path / "kill.toml"
    suite.write_text(SUITE)
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    assert start(suite, whole, "--jobs", jobs).wait(300) == 0

    process = start(suite, broken, "--jobs", jobs)
    deadline = time.monotonic() + 60
    # In the middle: some records are there, some are not.
    while lines(broken) < 4 and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    kept = broken.read_bytes()
    assert 4 <= kept.count(b"\n") < 45

    assert start(suite, broken, "--jobs", jobs, "--resume").wait(300) == 0
    assert broken.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    assert outcome(broken) == outcome(whole)
