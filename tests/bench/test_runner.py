"""Runs become records, whatever happens to them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import pytest

from ceql.bench.errors import MethodError, RecordError
from ceql.bench.methods import Adapter, Found, find_method
from ceql.bench.problems import load_suite
from ceql.bench.records import read_records
from ceql.bench.runner import run_suite

SUITE = replace(load_suite("paper"), problems=load_suite("paper").problems[:3])


@dataclass(frozen=True)
class Echo(Adapter):
    """Finds 1.87*x1 + 2.01 on every problem, or fails."""

    fails: bool = False

    def run(self, X, y, names, seed, time_limit):
        if self.fails:
            raise RuntimeError("out of ideas")
        return Found("1.87*x1 + 2.01", 0.5, extra={"tries": seed})


@dataclass(frozen=True)
class Missing(Echo):
    requires = (("no_such_module", "no-such-package"),)


def comparable(records):
    return sorted((r.key, r.expression, r.error, r.interp_mse, r.exact) for r in records)


def test_every_run_has_its_record(tmp_path):
    out = tmp_path / "records.jsonl"
    seen = []
    methods = [Echo("echo"), Echo("broken", fails=True)]
    records = list(run_suite(SUITE, methods, [0, 1], time_limit=3, out=out, progress=seen.append))
    assert len(records) == 12
    assert seen == records == read_records(out)
    assert [r.problem for r in records if r.exact] == ["E-1", "E-1"]
    assert {r.error for r in records if r.method == "broken"} == {"RuntimeError: out of ideas"}
    assert records[0].settings == {"fails": False, "time_limit": 3, "extra": {"tries": 0}}
    assert {"python", "numpy", "sympy"} <= set(records[0].versions)
    assert (records[0].seconds, records[0].compile_seconds) == (0.5, 0.0)


@pytest.mark.parametrize("cut", [1, 40, 400, 1500])
def test_a_killed_run_resumes(tmp_path, cut):
    out = tmp_path / "records.jsonl"
    whole = list(run_suite(SUITE, [Echo("echo")], [0, 1], 3, out=out))
    kept = out.read_bytes()[:-cut]
    out.write_bytes(kept)
    calls = []
    resumed = list(run_suite(SUITE, [Echo("echo")], [0, 1], 3, out=out, resume=True, progress=calls.append))
    assert comparable(resumed) == comparable(whole) == comparable(read_records(out))
    assert len(calls) == len(whole)
    assert out.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])


def test_resume_only_makes_the_runs_that_are_missing(tmp_path):
    out = tmp_path / "records.jsonl"
    list(run_suite(SUITE, [Echo("echo", fails=True)], [0], 3, out=out))
    size = out.stat().st_size
    again = list(run_suite(SUITE, [Echo("echo", fails=True)], [0], 3, out=out, resume=True))
    assert out.stat().st_size == size
    assert len(again) == 3


def test_resume_refuses_other_settings(tmp_path):
    out = tmp_path / "records.jsonl"
    list(run_suite(SUITE, [Echo("echo")], [0], 3, out=out))
    with pytest.raises(RecordError, match="time_limit was 3, is now 4"):
        run_suite(SUITE, [Echo("echo")], [0], 4, out=out, resume=True)


def test_settings_with_tuples_resume(tmp_path):
    out = tmp_path / "records.jsonl"
    method = find_method("aaa")
    one = replace(SUITE, problems=SUITE.problems[:1])
    list(run_suite(one, [method], [0], 3, out=out))
    assert len(list(run_suite(one, [method], [0], 3, out=out, resume=True))) == 1


def test_what_is_wrong_is_said_before_the_start(tmp_path):
    out = tmp_path / "records.jsonl"
    with pytest.raises(RecordError, match="cannot be written"):
        run_suite(SUITE, [Echo("echo")], [0], out=tmp_path / "missing" / "r.jsonl")
    with pytest.raises(MethodError, match="'gone' is not installed: pip install no-such-package"):
        run_suite(SUITE, [Missing("gone")], [0])
    with pytest.raises(RecordError, match="name the file"):
        run_suite(SUITE, [Echo("echo")], [0], resume=True)
    out.write_text("precious\n")
    with pytest.raises(RecordError, match="holds records already"):
        run_suite(SUITE, [Echo("echo")], [0], out=out)
    assert out.read_text() == "precious\n"


def test_processes_give_the_same_records_and_survive_a_crash():
    # Defined here, so that it travels to the workers by value.
    @dataclass(frozen=True)
    class Crash(Adapter):
        def run(self, X, y, names, seed, time_limit):
            if seed == 1 and X.shape[1] == 2:
                os._exit(7)
            return Found("1.87*x1 + 2.01", 0.5)

    records = list(run_suite(SUITE, [find_method("aaa"), Crash("crash")], [0, 1], 3, jobs=2))
    assert len({r.key for r in records}) == len(records) == 12
    died = [r for r in records if r.error and "the process died" in r.error]
    assert [r.key[1:] for r in died] == [("E-2", "crash", 1)]
    assert (died[0].rows, died[0].columns) == (128, 2)
    serial = run_suite(SUITE, [find_method("aaa")], [0, 1], 3)
    assert comparable(r for r in records if r.method == "aaa") == comparable(serial)
