"""Records survive the disk, kills and odd numbers."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql.bench.errors import RecordError
from ceql.bench.records import Record, append_record, drop_torn_line, from_json, read_records, to_json

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
    assert math.isnan(from_json(to_json(record)).extrap_mse)


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
