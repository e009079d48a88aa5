"""A newcomer's first hour goes as docs/newcomer.md says, word for word."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REMEDY = "run: python tools/newcomer_hour.py docs/newcomer.md"


@pytest.mark.skipif(
    not all(map(shutil.which, ("cc", "head", "ls", "cat"))), reason="needs a C compiler and a shell's tools"
)
def test_transcript_is_what_happens(tmp_path):
    out = tmp_path / "newcomer.md"
    command = [sys.executable, str(ROOT / "tools/newcomer_hour.py"), str(out)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert out.read_text(encoding="utf-8") == (ROOT / "docs/newcomer.md").read_text(encoding="utf-8"), REMEDY
