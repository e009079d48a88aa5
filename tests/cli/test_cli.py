"""The command line as a shell user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def ceql(*arguments, cwd=None):
    command = [sys.executable, "-c", "from ceql.__main__ import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300, check=False)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"speed": rng.uniform(1, 3, 60), "area": rng.uniform(1, 3, 60)})
    frame["drag"] = 0.5 * frame["speed"] ** 2 * frame["area"]
    frame.to_csv(path, index=False)
    return path


def test_fit_prints_the_formula(table):
    result = ceql("fit", table, "--target", "drag", "--quiet", "--operators", "mul,square")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() in {"0.5*area*speed**2", "area*speed**2/2"}


def test_fit_with_processes_and_a_library_by_name(table):
    result = ceql("fit", table, "--target", "drag", "--quiet", "--operators", "paper", "--jobs", "2")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() in {"0.5*area*speed**2", "area*speed**2/2"}


def test_fit_json_pipes_cleanly(table):
    result = ceql("fit", table, "--target", "drag", "--operators", "mul,square", "--json", "-")
    report = json.loads(result.stdout)
    assert report["outcome"] == "exact"
    assert report["front"][-1]["loss"] < 1e-20


def test_noisy_constants_come_with_their_errors(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"t": rng.uniform(-2, 2, 100)})
    frame["y"] = 1.3 / (frame["t"] - 0.523) + 0.02 * rng.standard_normal(100)
    frame.to_csv(tmp_path / "noisy.csv", index=False)
    options = ("--target", "y", "--operators", "mul,div", "--time-limit", 20, "--no-checkpoint")
    result = ceql("fit", tmp_path / "noisy.csv", *options)
    assert result.returncode == 0, result.stderr
    errors = [line.split(" ± ")[1].split()[0] for line in result.stdout.splitlines() if " ± " in line]
    assert len(errors) == 2
    assert all(0 < float(error) < 0.05 for error in errors)


def test_demo_finds_the_pole_and_saves_a_plot(tmp_path):
    result = ceql("demo", "--quiet", "--out", tmp_path / "plot.png", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "pole:" in result.stdout
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_operators_are_listed():
    assert "sqrt" in ceql("operators").stdout


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (("ft",), "Did you mean 'fit'", 2),
        (("fit", "TABLE", "--targt", "y"), "--target", 2),
        (("fit", "TABLE", "--target", "drga"), "Did you mean 'drag'", 1),
        (("fit", "TABLE", "--target", "drag", "--features", "drag"), "cannot be a feature", 1),
        (("fit", "TABLE", "--target", "drag", "--operators", "sqr"), "There is no operator 'sqr'", 1),
        (("fit", "absent.csv", "--target", "y"), "There is no file absent.csv", 1),
        (("fit", "data.docx", "--target", "y"), ".docx", 1),
        (("fit", "TABLE", "--target", "drag", "--jobs", "2", "--cluster", "dask://a:1"), "not both", 2),
        (("fit", "TABLE", "--target", "drag", "--cluster", "spark://a:1"), "dask://host:port", 1),
        (("bench", "papre"), "paper", 1),
    ],
)
def test_mistakes_get_one_sentence_and_an_exit_code(arguments, words, code, table):
    result = ceql(*(table if a == "TABLE" else a for a in arguments))
    assert result.returncode == code
    assert words in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("a;b\n1\n", "one column only"),
        ("a,b\n1,x\n2,y\n", "holds text, such as 'x'. Name a column of numbers."),
    ],
)
def test_broken_files(tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_text(content)
    result = ceql("fit", path, "--target", "b")
    assert result.returncode == 1
    assert words in result.stderr
