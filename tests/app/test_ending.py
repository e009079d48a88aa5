"""How the command ends: nothing runs on, and nothing is left on the disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("ceql.app.server", reason="needs starlette")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_when_it_ends(tmp_path, how):
    command = [sys.executable, "-c", "from ceql.__main__ import main; main()", "app", "--no-browser"]
    place = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=place) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        with urllib.request.urlopen(f"{address}api/about", timeout=60) as answer:
            assert answer.status == 200
        assert len(list(tmp_path.iterdir())) == 1
        server.send_signal(how)
        _, errors = server.communicate(timeout=60)
    assert (server.returncode, errors) == (0, "")
    assert list(tmp_path.iterdir()) == []
