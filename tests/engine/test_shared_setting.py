"""A setting of the process is made by the first who needs it and taken back by the last."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given
from hypothesis import strategies as st

from ceql.engine.shared_setting import SharedSetting


@given(st.lists(st.booleans(), max_size=20))
def test_it_is_there_as_long_as_somebody_is_inside(steps):
    made = []

    @contextmanager
    def making() -> Iterator[None]:
        made.append("made")
        try:
            yield
        finally:
            made.append("taken back")

    setting, inside = SharedSetting(making), 0
    for enters in steps:
        if enters:
            setting.__enter__()
            inside += 1
        elif inside:
            setting.__exit__(None, None, None)
            inside -= 1
        assert (len(made) % 2 == 1) == (inside > 0)
    assert made == ["made", "taken back"] * (len(made) // 2) + ["made"] * (inside > 0)


_IN_A_PROCESS_OF_ITS_OWN = """
import sys
from ceql.engine.shared_setting import short_turns
before = sys.getswitchinterval()
with short_turns:
    assert sys.getswitchinterval() < before
    try:
        with short_turns, short_turns:
            1 / 0
    except ZeroDivisionError:
        assert sys.getswitchinterval() < before
assert abs(sys.getswitchinterval() - before) < 1e-9
print("as before")
"""


def test_short_turns_end_with_the_search():
    """Other tests may be in the middle of a search, so this one asks a process that has none."""
    done = subprocess.run([sys.executable, "-c", _IN_A_PROCESS_OF_ITS_OWN], capture_output=True, text=True, check=True)
    assert done.stdout == "as before\n"
