"""Waiting for what a fit in another process shows."""

from __future__ import annotations

import subprocess


def until_displayed(process: subprocess.Popen[str], words: str) -> None:
    """Reads what the live display writes until these words are in it."""
    assert process.stderr is not None
    shown = ""
    while words not in shown:
        letter = process.stderr.read(1)
        assert letter, f"it ended early: {shown}"
        shown += letter
