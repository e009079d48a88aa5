"""Records survive the disk, kills and odd numbers."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql.bench.errors import RecordError
from ceql.bench.methods import find_method
from ceql.bench.problems import load_suite
from ceql.bench.records import Record, append_record, drop_torn_line, from_json, read_records, to_json
from ceql.bench.runner import run_suite

FLOATS = st.none() | st.floats(allow_nan=False)
RECORDS = st.builds(
    Record,
    suite=st.text(),
    problem=st.text(),
    family=st.text(),
    method=st.text(),
    seed=st.integers(0, 2**40),
    settings=st.dictionaries(st.text(), st.booleans() | st.integers() | st.text()),
    train_mse=FLOATS,
    interp_mse=FLOATS,
    extrap_mse=FLOATS,
    node_count=st.none() | st.integers(0, 999),
    exact=st.booleans(),
    seconds=FLOATS,
    expression=st.none() | st.text(),
    error=st.none() | st.text(),
)


@given(RECORDS)
def test_json_keeps_everything(record):
    line = to_json(record)
    assert "\n" not in line
    assert from_json(line) == record


def test_json_is_strict():
    record = Record("s", "p", "f", "m", 0, interp_mse=math.inf, extrap_mse=math.nan, settings={"deep": [math.inf]})
    assert json.loads(to_json(record), parse_constant=pytest.fail)["interp_mse"] == "inf"
    assert str(from_json(to_json(record)).extrap_mse) == "nan"


def test_a_torn_last_line_is_left_out_and_cut_off(tmp_path):
    path = tmp_path / "records.jsonl"
    records = [Record("s", "p\u2028\u0085é", "f", "m", seed) for seed in range(3)]
    for record in records:
        append_record(path, record)
    for cut in (1, 5, 60):
        whole = path.read_bytes()
        path.write_bytes(whole[:-cut])
        assert read_records(path) == records[:2]
        drop_torn_line(path)
        append_record(path, records[2])
        assert read_records(path) == records
        assert path.read_bytes() == whole


def test_a_bad_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "records.jsonl"
    append_record(path, Record("s", "p", "f", "m", 0))
    path.write_text(path.read_text() + '{"other": 1}\n')
    with pytest.raises(RecordError, match=r"records.jsonl, line 2: not a record"):
        read_records(path)


def begin(out: Path, resume: bool = False) -> None:
    """All that comes before the first run."""
    run_suite(load_suite("paper"), [find_method("aaa")], [0], out=out, resume=resume)


def test_unwritable_places_are_found_before_the_run(tmp_path):
    with pytest.raises(RecordError, match="cannot be written: No such file or directory"):
        begin(tmp_path / "missing" / "records.jsonl")
    with pytest.raises(RecordError, match="cannot be written: Is a directory"):
        begin(tmp_path)
    begin(tmp_path / "fresh.jsonl")
    assert not (tmp_path / "fresh.jsonl").exists()


@pytest.mark.parametrize("is_full", [False, True])
def test_the_check_leaves_a_file_as_it_was(tmp_path, monkeypatch, is_full):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path, fresh = tmp_path / "records.jsonl", tmp_path / "fresh.jsonl"
    append_record(path, Record("s", "p", "f", "m", 0))
    before = path.read_text()
    if is_full:
        monkeypatch.setattr("os.fsync", full)
    for out in (path, fresh):
        with pytest.raises(RecordError, match="No space left on device") if is_full else nullcontext():
            begin(out, resume=out is path)
    assert path.read_text() == before
    assert not fresh.exists()
