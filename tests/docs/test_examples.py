"""The examples run as they stand, and the formula that each prints is the one its data came from."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ceql.expression import compile_numpy, parse_formula

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 120  # each takes a few; a busy machine may need more

# Per example: the names of its columns, their ranges, the truth and the relative deviation that noise may cause.
TRUTHS = {
    "pole.py": (("x1",), ((4.0, 10.0),), "3.2*x1/(x1 - 3.2)", 1e-9),
    "log_and_root.py": (("x1",), ((1.2, 3.0),), "1.5*log(x1**2 - 1.2) + sqrt(x1 + 2.5)", 1e-9),
    "noisy_table.py": (
        ("hour", "dose"),
        ((0.0, 10.0), (0.5, 2.0)),
        "1.5*(1 + tanh(0.8*hour - 4)) + 0.5*dose",
        0.03,
    ),
}


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(TRUTHS)


@pytest.mark.parametrize("name", TRUTHS)
def test_example_prints_the_true_formula(name, tmp_path):
    names, ranges, truth, tolerance = TRUTHS[name]
    found = _printed_formula(EXAMPLES / name, tmp_path)
    points = np.random.default_rng(1).uniform(*np.transpose(ranges), size=(200, len(names)))
    wanted, got = (_values(text, names, points) for text in (truth, found))
    assert np.max(np.abs(got - wanted)) < tolerance * np.max(np.abs(wanted)), found


def test_example_is_short():
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < 40, path.name


def _printed_formula(script: Path, folder: Path) -> str:
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=folder, capture_output=True, text=True, timeout=SECONDS
    )
    assert run.returncode == 0, run.stderr
    lines = [line for line in run.stdout.splitlines() if line.startswith("formula: ")]
    assert len(lines) == 1, run.stdout
    return lines[0].removeprefix("formula: ")


def _values(text: str, names: tuple[str, ...], points: np.ndarray) -> np.ndarray:
    symbols = [parse_formula(name, names) for name in names]
    return compile_numpy(parse_formula(text, names), symbols)(points)
