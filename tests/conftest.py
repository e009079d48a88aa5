"""What several tests share."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import settings as hypothesis_settings

from ceql.__main__ import exit_code

# A failure must be the change's, so laws are tried on the same examples every time; CEQL_EXPLORE=1 draws new ones.
hypothesis_settings.register_profile("same", derandomize=True)
hypothesis_settings.load_profile("default" if os.environ.get("CEQL_EXPLORE") else "same")


@pytest.fixture
def ceql(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command: its exit code and what it writes to standard output and to standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = exit_code([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return run
