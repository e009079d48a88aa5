"""Words on a terminal while the library is loaded: they come at once and leave no trace."""

from __future__ import annotations

import io
from contextlib import redirect_stderr

import pytest

from ceql.cli.meanwhile import said_meanwhile


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal():
    return _Terminal()


def test_the_words_stand_there_meanwhile_and_are_gone_afterwards(terminal):
    with redirect_stderr(terminal), said_meanwhile("Reading lens.csv"):
        assert terminal.getvalue() == "Reading lens.csv..."
    words, cover, end = terminal.getvalue().split("\r")
    assert (len(cover), cover.strip(), end) == (len(words), "", "")


def test_they_are_gone_when_something_goes_wrong(terminal):
    with pytest.raises(OSError, match="no"), redirect_stderr(terminal), said_meanwhile("Reading"):
        raise OSError("no")
    assert terminal.getvalue().endswith("\r")


def test_who_wants_quiet_gets_it(terminal):
    with redirect_stderr(terminal), said_meanwhile("Reading", quiet=True):
        pass
    assert terminal.getvalue() == ""


def test_a_file_gets_nothing(capsys):
    with said_meanwhile("Reading"):
        pass
    assert capsys.readouterr().err == ""
