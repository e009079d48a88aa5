"""When a checkpoint is written, replaced and removed, and what happens when it cannot be."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.base import clone

from ceql import CEQLRegressor, load, operators
from ceql.data.dataset import Dataset
from ceql.discovery import Outcome, Settings
from ceql.errors import CeqlWarning, InputError
from ceql.pipeline import discover
from ceql.search.state import Ending, SearchState
from ceql.storage.checkpoint import Checkpoint, CheckpointError, read_checkpoint
from ceql.storage.fingerprint import differences, fingerprint
from ceql.storage.keeper import Keeper, kept_alone

FINGERPRINT = {"columns": ["x1"], "seed": 0}
X = np.random.default_rng(0).uniform(0.5, 3, (40, 1))
Y = np.sqrt(X[:, 0] + 0.3)
QUICK = {"operators": ["sqrt"], "time_limit": 60.0}


def state(rounds: int) -> SearchState:
    return SearchState((), rounds, rounds, seconds=float(rounds))


def ending(seconds: float = 100.0, stands_until: float = np.inf) -> Ending:
    return Ending("EXACT", (), 5, 5, seconds, stands_until)


def rounds_in(path) -> int:
    return read_checkpoint(path)[0].rounds


@dataclass
class Clock:
    """Shows what it is set to, and goes on by a tick with every look at it."""

    seconds: float = 0.0
    tick: float = 0.0

    def __call__(self) -> float:
        self.seconds += self.tick
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def keeper_at(path, clock=None, *, says="0", **options) -> Keeper:
    return Keeper(Checkpoint(path, **options), lambda: {**FINGERPRINT, "seed": says}, clock or Clock())


def test_it_is_written_every_so_many_seconds(tmp_path, clock):
    path = tmp_path / "run.ckpt"
    kept = keeper_at(path, clock, every=5.0)
    seen = []
    for second in range(18):
        clock.seconds = float(second)
        kept.note(state(second))
        seen.append(rounds_in(path) if path.exists() else None)
    assert seen == [None] * 5 + [5] * 5 + [10] * 5 + [15] * 3


def test_where_writing_takes_long_it_is_seldom(tmp_path, clock):
    path, written = tmp_path / "run.ckpt", set()
    kept = keeper_at(path, clock, every=5.0)
    clock.tick = 1.0
    for rounds in range(1000):
        kept.note(state(rounds))
        written |= {rounds_in(path)} if path.exists() else set()
    assert 8 <= len(written) <= 11


def test_without_a_checkpoint_nothing_is_even_looked_at():
    kept = Keeper(None, lambda: pytest.fail("no fingerprint is needed"))
    kept.note(state(1))
    kept.write()
    kept.end(ending())


def test_a_place_that_is_missing_for_a_while_is_mentioned_once(tmp_path, clock):
    path = tmp_path / "drive" / "run.ckpt"
    kept = keeper_at(path, clock, every=5.0, transient=True)
    clock.seconds = 6.0
    with pytest.warns(CeqlWarning, match=r"run.ckpt cannot be written: .* The search continues"):
        kept.note(state(1))
    clock.seconds = 12.0
    kept.note(state(2))
    path.parent.mkdir()
    clock.seconds = 18.0
    kept.note(state(3))
    assert rounds_in(path) == 3


def test_a_search_survives_a_full_disk(tmp_path, monkeypatch):
    plain = CEQLRegressor(**QUICK).fit(X, Y)
    real = os.fsync

    def full(handle: int) -> None:
        if os.fstat(handle).st_size:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(CeqlWarning, match="No space left"):
        model = CEQLRegressor(**QUICK, checkpoint=tmp_path / "run.ckpt").fit(X, Y)
    assert model.sympy() == plain.sympy()


@pytest.mark.parametrize(("place", "words"), [("no folder/run.ckpt", "No such file"), ("", "it is a folder")])
def test_an_impossible_place_is_named_before_the_search(tmp_path, place, words):
    with pytest.raises(CheckpointError, match=f"cannot be (written|read): .*({words}|Is a directory)"):
        CEQLRegressor(checkpoint=tmp_path / place).fit(X, Y)


def test_an_interval_of_nothing(tmp_path):
    with pytest.raises(CheckpointError, match="between two checkpoints must be a number above 0, not 0"):
        keeper_at(tmp_path / "run.ckpt", every=0)


def test_what_a_killed_writer_left_is_removed(tmp_path):
    (tmp_path / ".run.ckpt.abc.part").touch()
    keeper_at(tmp_path / "run.ckpt")
    assert list(tmp_path.iterdir()) == []


def test_two_searches_on_one_file(tmp_path):
    path = tmp_path / "run.ckpt"
    (tmp_path / "link.ckpt").symlink_to(path)
    with kept_alone(Checkpoint(path)) as first:
        assert first == Checkpoint(path)
        for name in ("run.ckpt", "link.ckpt"):
            with pytest.raises(CheckpointError, match=rf"{name} is in use by another search \(process {os.getpid()}\)"):
                discover(Dataset.of(X, Y), Settings(), None, Checkpoint(tmp_path / name))
        unasked = Checkpoint(path, transient=True)
        with pytest.warns(CeqlWarning, match="continues without a checkpoint"), kept_alone(unasked) as second:
            assert second is None
    assert sorted(os.listdir(tmp_path)) == ["link.ckpt"]
    discover(Dataset.of(X, Y), Settings(operators=("sqrt",)), None, Checkpoint(path))
    assert sorted(os.listdir(tmp_path)) == ["link.ckpt", "run.ckpt"]


@pytest.mark.skipif(os.name != "posix", reason="no pipes with a name")
def test_a_pipe_is_no_place_and_nobody_waits_for_it(tmp_path):
    os.mkfifo(tmp_path / "run.ckpt")
    with pytest.raises(CheckpointError, match=r"run.ckpt cannot be read: it is a pipe, not a regular file"):
        CEQLRegressor(**QUICK, checkpoint=tmp_path / "run.ckpt").fit(X, Y)


def test_what_a_link_points_to_is_the_checkpoint(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run.ckpt").symlink_to(tmp_path / "elsewhere" / "real.ckpt")
    CEQLRegressor(**QUICK, checkpoint=tmp_path / "run.ckpt").fit(X, Y)
    assert (tmp_path / "run.ckpt").is_symlink()
    assert read_checkpoint(tmp_path / "elsewhere" / "real.ckpt")[0].ending is not None


# ---- files that nobody asked for ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "end", "stays"),
    [
        (True, ending(), True),  # until the result is in safety
        (False, ending(), True),
        (False, ending(2.0), False),
        (False, ending(2.0, stands_until=2.0), False),  # so short a search is quickly repeated
        (True, ending(60.0, stands_until=60.0), True),
        (True, ending(60.0, stands_until=0.0), True),
    ],
)
def test_a_file_of_its_own_accord_is_not_written_for_a_short_search(tmp_path, clock, written, end, stays):
    path = tmp_path / "run.ckpt"
    kept = keeper_at(path, clock, transient=True)
    clock.seconds = 6.0 if written else 1.0
    kept.note(state(4))
    assert path.exists() == written
    leftover = kept.end(end)
    assert path.exists() == stays
    assert leftover == (path if stays and end.stands_until == np.inf else None)
    if stays:
        kept_ending = read_checkpoint(path)[0].ending
        assert kept_ending is not None
        assert kept_ending.stands_until == end.stands_until


def test_what_is_there_is_replaced_only_by_what_has_come_further(tmp_path, clock):
    path = tmp_path / "run.ckpt"
    first = keeper_at(path, clock)
    clock.seconds = 6.0
    first.note(state(10))
    anew = keeper_at(path, clock, resume=False, transient=True)
    assert anew.kept is None
    for rounds, there in [(9, 10), (11, 11)]:
        clock.seconds += 6.0
        anew.note(state(rounds))
        assert rounds_in(path) == there


@pytest.mark.parametrize("damage", [True, False])
def test_a_stale_file_is_replaced_but_not_removed_unwritten(tmp_path, clock, damage):
    path = tmp_path / "run.ckpt"
    first = keeper_at(path, clock, says="other")
    clock.seconds = 6.0
    first.note(state(10))
    if damage:
        path.write_bytes(b"something else")
    anew = keeper_at(path, clock, resume=False, transient=True)
    anew.note(state(1))
    anew.end(ending(1.0))
    assert path.exists()
    clock.seconds += 6.0
    anew.note(state(2))
    assert rounds_in(path) == 2


def test_in_a_folder_that_may_not_be_written_the_search_goes_on(tmp_path, clock):
    kept = keeper_at(tmp_path / "no folder" / "run.ckpt", clock, transient=True)
    clock.seconds = 6.0
    with pytest.warns(CeqlWarning, match="cannot be written"):
        kept.note(state(1))
    kept.end(ending())


# ---- the fingerprint and the regressor ----------------------------------------------------------------------------


def test_an_operator_of_the_users_own_counts_with_its_definition():
    data = Dataset.of(X, Y)
    operators.register("bump_for_keeper", sympy.Symbol("x"), sympy.exp(-(sympy.Symbol("x") ** 2)))
    with_own = fingerprint(data, Settings(operators=("mul", "bump_for_keeper")))
    assert with_own["operator definitions"] == {"bump_for_keeper": "exp(-x**2)"}
    changed = {**with_own, "operator definitions": {"bump_for_keeper": "exp(-x)"}}
    assert differences(with_own, changed).startswith("operator definitions is")
    assert differences(with_own, with_own) == ""


def test_the_regressor_goes_on_and_keeps_the_path_to_itself(tmp_path):
    path = tmp_path / "run.ckpt"
    model = CEQLRegressor(**QUICK, checkpoint=str(path)).fit(X, Y)
    again = cast(CEQLRegressor, clone(model)).fit(X, Y)
    assert again.equations_.equals(model.equations_)
    assert again.discovery_.seconds >= model.discovery_.seconds - 0.1
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").get_params()["checkpoint"] is None
    with pytest.raises(CheckpointError, match="the values of y are different"):
        model.fit(X, Y + 1.0)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"checkpoint": 7}, "checkpoint must be the path of a file, not 7"),
        ({"checkpoint": ""}, "checkpoint must be the path of a file, not ''"),
        ({"checkpoint": "run.ckpt", "random_state": None}, "needs a fixed seed: set random_state"),
        ({"checkpoint": "run.ckpt", "recipe": "paper"}, "A checkpoint needs recipe='search'"),
    ],
)
def test_what_does_not_go_together(parameters, words):
    with pytest.raises(InputError, match=words):
        CEQLRegressor(**parameters).fit(X, Y)


def test_each_of_several_targets_has_a_file_of_its_own(tmp_path):
    several = pd.DataFrame({"root": Y, "drag [N]": np.sqrt(X[:, 0] + 0.7)})
    model = CEQLRegressor(**QUICK, checkpoint=tmp_path / "run.ckpt").fit(X, several)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name[:11] for name in names] == ["run-drag__N", "run-root.ck"]
    before = [path.stat().st_mtime_ns for path in sorted(tmp_path.iterdir())]
    again = cast(CEQLRegressor, clone(model)).fit(X, several)
    assert [path.stat().st_mtime_ns for path in sorted(tmp_path.iterdir())] == before  # both had ended
    assert all(a.equals(b) for a, b in zip(again.equations_, model.equations_, strict=True))
    assert [found.starts for found in again.discoveries_] == [found.starts for found in model.discoveries_]


def test_a_constant_needs_no_checkpoint(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CeqlWarning)
        found = discover(Dataset.of(X, np.ones(40)), Settings(), None, Checkpoint(tmp_path / "run.ckpt"))
    assert found.outcome is Outcome.CONSTANT
    assert list(tmp_path.iterdir()) == []
