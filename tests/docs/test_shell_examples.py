"""What the README shows of a terminal is what a terminal shows, from the first command to the last."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = re.compile(r"\(\d+\.\d+ s\)")
SKIPPED = "..."  # lines that are left out
PROGRAMS = {"ceql": f'"{sys.executable}" -c "from ceql.__main__ import main; main()"', "python": f'"{sys.executable}"'}


def steps(document: str) -> Iterator[tuple[str, list[str]]]:
    """Commands with the lines below them."""
    for block in BLOCK.findall((ROOT / document).read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *printed = part.rstrip("\n").splitlines()
            yield command, printed


def pattern(printed: list[str]) -> re.Pattern[str]:
    lines = [r"(?:.*\n)*?" if line == SKIPPED else re.escape(SECONDS.sub("(s)", line)) + r"\n" for line in printed]
    return re.compile("".join(lines))


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
def test_the_readme_shows_what_a_terminal_shows(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    found = list(steps("README.md"))
    assert len(found) >= 5
    for command, printed in found:
        name, _, arguments = command.partition(" ")
        done = subprocess.run(
            f"{PROGRAMS[name]} {arguments}", shell=True, cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180,
        )  # fmt: skip
        shown = SECONDS.sub("(s)", done.stdout)
        assert done.returncode == 0, f"{command}\n{shown}"
        assert pattern(printed).fullmatch(shown), f"{command}\n{shown}"
