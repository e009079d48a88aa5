from __future__ import annotations

import os

import pytest

from ceql.errors import CeqlError, InputError
from ceql.files import write_atomically


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "first")
    write_atomically(path, "zweites ü")
    assert path.read_text(encoding="utf-8") == "zweites ü"
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_it_as_the_user_lets_them(tmp_path):
    before = os.umask(0o022)
    try:
        write_atomically(tmp_path / "a.txt", "text")
    finally:
        os.umask(before)
    if os.name == "posix":
        assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match=r"a\.txt cannot be written: No space left on device"):
        write_atomically(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_error_is_of_the_kind_asked_for(tmp_path):
    class OwnError(CeqlError):
        pass

    with pytest.raises(OwnError, match="cannot be written"):
        write_atomically(tmp_path / "absent" / "a.txt", "text", OwnError)
