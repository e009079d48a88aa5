"""The command, as a user meets it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from ceql.bench.cli import bench
from ceql.bench.record import read_records


def invoke(*arguments):
    return CliRunner().invoke(bench, list(arguments))


def test_a_run_writes_records_and_tables(tmp_path):
    out, report = tmp_path / "r.jsonl", tmp_path / "r.md"
    arguments = ["paper", "--problems", "E-1,E-7", "--methods", "aaa", "--seeds", "0-1"]
    result = invoke(*arguments, "--json", str(out), "--markdown", str(report))
    assert result.exit_code == 0, result.output
    assert "| E-7 | aaa | 2 | 0 |" in result.stdout
    assert len(read_records(out)) == 4
    assert "# The paper's benchmark" in report.read_text()
    assert invoke(*arguments, "--json", str(out)).exit_code == 1
    again = invoke(*arguments, "--json", str(out), "--resume")
    assert again.exit_code == 0
    assert len(read_records(out)) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["papre"], "Did you mean 'paper'?"),
        (["paper", "--methods", "operno"], "Did you mean 'operon'?"),
        (["paper", "--problems", "E7"], "Did you mean 'E-7'?"),
        (["paper", "--seeds", "a-b"], "'a-b' is neither a number nor a range such as 0-4"),
        (["paper", "--seeds", "4-0"], "write 0-4"),
        (["paper", "--methods", "aaa", "--json", "/nowhere/at/all.jsonl"], "cannot be written"),
        (["paper", "--methods", "aaa", "--markdown", "/nowhere/at/all.md"], "cannot be written"),
    ],
)
def test_bad_input_is_explained(arguments, message):
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_a_missing_method_is_left_out_with_the_remedy(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = invoke("paper", "--methods", "sindy")
    assert "pip install pysindy" in result.stderr
    assert "None of the methods" in result.stderr
