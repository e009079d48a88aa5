"""A lock keeps others out while its holder lives, and no longer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ceql.storage.lock import held

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no lock on Windows")


def test_one_at_a_time(tmp_path):
    path = tmp_path / "run.ckpt"
    with held(path) as first:
        assert first == ""
        with held(path) as second, held(tmp_path / "other.ckpt") as other:
            assert second == f"process {os.getpid()}"
            assert other == ""
        with held(path) as still:
            assert still
    with held(path) as again:
        assert again == ""
    assert list(tmp_path.iterdir()) == []


def test_a_killed_holder_holds_nothing(tmp_path):
    path = tmp_path / "run.ckpt"
    program = (
        "import os, sys; from pathlib import Path; from ceql.storage.lock import held\n"
        "with held(Path(sys.argv[1])):\n    os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)], check=False).returncode == -9
    assert (tmp_path / ".run.ckpt.lock").exists()
    with held(path) as holder:
        assert holder == ""
    assert list(tmp_path.iterdir()) == []


def test_where_there_can_be_no_lock_nobody_is_kept_out(tmp_path):
    with held(tmp_path / "no folder" / "run.ckpt") as holder:
        assert holder == ""
