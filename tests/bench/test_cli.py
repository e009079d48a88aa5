"""The command, as a user meets it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from ceql.bench.cli import bench
from ceql.bench.errors import BenchError
from ceql.bench.records import Record, append_record, read_records


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(bench, list(arguments))


def test_a_run_writes_records_and_tables(tmp_path):
    out, report, tex = tmp_path / "r.jsonl", tmp_path / "r.md", tmp_path / "r.tex"
    arguments = ["paper", "--problems", "E-1,E-7", "--methods", "aaa", "--seeds", "0-1"]
    result = invoke(*arguments, "--json", str(out), "--markdown", str(report), "--latex", str(tex))
    assert result.exit_code == 0, result.output
    assert "## Interpolation MSE" in result.stdout
    assert "CEQL (paper)" in result.stdout
    assert "| E-7 | aaa | 2 | 0 |" in report.read_text()
    assert r"\begin{tabular}" in tex.read_text()
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
        (["paper", "--methods", "aaa", "--latex", "/nowhere/at/all.tex"], "cannot be written"),
        (["poles", "--methods", "aaa", "--latex", "poles.tex"], "no tables of its own for LaTeX"),
        (["ablation", "--methods", "authors-reel"], "Did you mean 'authors-real'?"),
        (["poles", "--methods", "aaa", "--problems", "nothing"], "Unknown problem"),
    ],
)
def test_bad_input_is_explained(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert message in str(result.exception)
    assert isinstance(result.exception, BenchError)


def test_a_missing_method_is_left_out_with_the_remedy(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = invoke("paper", "--methods", "sindy")
    assert "pip install pysindy" in result.stderr
    assert "None of the methods" in str(result.exception)


def test_a_full_disk_is_said_before_the_run(monkeypatch, tmp_path):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = invoke("paper", "--methods", "aaa", "--json", str(tmp_path / "r.jsonl"))
    assert result.exit_code == 1
    assert "No space left on device" in str(result.exception)


def test_a_missing_method_with_published_numbers_says_so(monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pysr" else find(name))
    result = invoke("paper", "--methods", "aaa,pysr", "--problems", "E-1", "--seeds", "0")
    assert "pip install pysr" in result.stderr
    assert "published column of pysr is shown" in result.stderr
    assert "PySR (paper)" in result.stdout


def test_a_schedule_of_fixed_length_says_that_no_limit_applies(tmp_path):
    out = tmp_path / "r.jsonl"
    append_record(out, Record("paper", "E-1", "", "ceql-paper", 0))  # so that nothing is left to run
    asked = ["--methods", "ceql-paper", "--problems", "E-1", "--seeds", "0", "--json", str(out), "--resume"]
    assert "No time limit for ceql-paper" in invoke("paper", *asked, "--time-limit", "5").stderr
    assert "No time limit" not in invoke("paper", *asked).stderr
    assert len(read_records(out)) == 1
