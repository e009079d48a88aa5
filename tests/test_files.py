"""Files that are whole or not there."""

from __future__ import annotations

import os

import pytest

from ceql.files import remove_unfinished, write_atomically


@pytest.mark.parametrize("content", ["naïve text\n", b"\x00bytes\r\n", ""])
def test_the_content_is_written_as_it_is(tmp_path, content):
    write_atomically(tmp_path / "a", "before")
    write_atomically(str(tmp_path / "a"), content)
    assert (tmp_path / "a").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert os.listdir(tmp_path) == ["a"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    write_atomically(tmp_path / "a", "before")

    def broken(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "a", "after")
    assert (tmp_path / "a").read_text() == "before"
    assert os.listdir(tmp_path) == ["a"]


def test_only_the_rests_of_this_file_are_removed(tmp_path):
    rests, others = [".a[1].xyz.part"], ["a[1]", ".a1.xyz.part", ".b.xyz.part", ".a[1].xyz"]
    for name in [*rests, *others]:
        (tmp_path / name).touch()
    remove_unfinished(tmp_path / "a[1]")
    assert sorted(os.listdir(tmp_path)) == sorted(others)
