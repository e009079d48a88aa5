"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ceql.errors import CeqlError, InputError
from ceql.storage.files import beside, remove_unfinished, require_writable, write_atomically


@pytest.mark.parametrize("content", ["zweites ü\n", b"\x00bytes\r\n", ""])
def test_a_file_is_replaced_whole(tmp_path, content):
    path = tmp_path / "a.txt"
    write_atomically(path, "first")
    write_atomically(str(path), content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
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


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    link, real = tmp_path / "link", tmp_path / "there" / "real"
    link.symlink_to(real)
    for content in ("first", "second"):  # before there is such a file, and after
        require_writable(link)
        write_atomically(link, content)
        assert link.is_symlink()
        assert real.read_text(encoding="utf-8") == content
    assert [path.name for path in real.parent.iterdir()] == ["real"]


@pytest.mark.skipif(os.name != "posix", reason="no pipes and devices with names")
def test_what_is_no_plain_file_is_refused_and_stays(tmp_path):
    pipe, link, ring = tmp_path / "pipe", tmp_path / "link", tmp_path / "ring"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    ring.symlink_to(ring)
    for path, words in [(pipe, "it is a pipe"), (link, "it is a device"), (ring, "symbolic links"), (tmp_path, "Is a")]:
        for write in (require_writable, lambda path: write_atomically(path, "text")):
            with pytest.raises(InputError, match=f"{path.name} cannot be written: .*{words}"):
                write(path)
    assert pipe.is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "ring"]


def test_half_a_character_is_no_text_to_write(tmp_path):
    with pytest.raises(InputError, match=r"a.txt cannot be written: the text contains '\\ud800'"):
        write_atomically(tmp_path / "a.txt", "a\ud800")
    assert list(tmp_path.iterdir()) == []


def test_only_the_rests_of_this_file_are_removed(tmp_path):
    rests, others = [".a[1].xyz.part"], ["a[1]", ".a1.xyz.part", ".b.xyz.part", ".a[1].xyz"]
    for name in [*rests, *others]:
        (tmp_path / name).touch()
    remove_unfinished(tmp_path / "a[1]")
    assert sorted(os.listdir(tmp_path)) == sorted(others)


def test_files_for_several_stay_apart_and_in_their_folder():
    names = ["lift", "drag [N]", "drag_[N]", "drag__N_", "a/b", "../b", "ü", "x" * 150, "x" * 151]
    paths = [beside(Path("folder") / "run.html", name) for name in names]
    assert paths[0] == Path("folder") / "run-lift.html"
    assert len(set(paths)) == len(names)
    assert all(path.parent == Path("folder") and path.suffix == ".html" for path in paths)
