"""Ctrl-C once, twice, three times: what was found by then is kept, and no traceback comes from the depths."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest
import threadpoolctl

from ceql import CEQLRegressor, CeqlWarning, Dataset, Settings, discover, pipeline
from ceql import __main__ as cli
from ceql.discovery import Outcome
from ceql.engine.deadline import Stopwatch
from ceql.engine.dispatch import Workers
from ceql.engine.one_thread import one_thread
from ceql.formula import constant_formula
from ceql.search.driver import run
from ceql.search.ending import ended
from ceql.search.policy import FinishingPolicy, SearchPolicy
from ceql.search.stage import Search, Stage, make_stage
from ceql.search.state import SearchState
from ceql.storage.checkpoint import Checkpoint

SETTINGS = Settings(operators=("mul",), max_starts=256, search=SearchPolicy(round_size=128, chunk_size=64))


IN_HASTE = FinishingPolicy().in_haste


class Pressed:
    """A structure whose formulas are written until somebody presses Ctrl-C, at some of the times they are asked for."""

    def __init__(self, structure: Any, at: Container[int]) -> None:
        self.structure, self.at, self.asked = structure, at, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.structure, name)

    def in_units(self, *given: Any) -> Any:
        self.asked += 1
        if self.asked in self.at:
            raise KeyboardInterrupt
        return self.structure.in_units(*given)


class PressedWhileProposing:
    """Stands for the candidates that need no search."""

    def drawn(self, *_: Any) -> Any:
        raise KeyboardInterrupt

    def sketched(self, *_: Any) -> Any:
        return iter([[]])


@dataclass(frozen=True)
class Finished:
    """A search that is ready to be drawn."""

    search: Search
    state: SearchState

    def stage(self, at: Container[int] = (), proposing: bool = False) -> tuple[Stage, Pressed]:
        stage = make_stage(self.search, self.state)
        pressed = Pressed(stage.main.structure, at)
        targets = replace(
            stage.targets, make=lambda *given: replace(stage.targets.make(*given), structure=cast(Any, pressed))
        )
        candidates: Any = PressedWhileProposing() if proposing else stage.candidates
        return Stage(targets, candidates), pressed


@pytest.fixture(scope="module")
def finished() -> Finished:
    states: list[SearchState] = []
    search = Search(noise(), SETTINGS, Workers(1, 1), Stopwatch(), keep=states.append)
    run(search)
    return Finished(search, replace(states[-1], sums=None))  # what sums propose is not drawn of fits


def noise() -> Dataset:
    rng = np.random.default_rng(0)
    return Dataset.of(rng.uniform(1, 2, (60, 2)), rng.normal(size=60))


@pytest.fixture
def noisy() -> Dataset:
    return noise()


def interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


def searched(data: Dataset):
    return discover(data, SETTINGS)


@pytest.mark.parametrize("drawn", [1, 3])
def test_a_second_interrupt_keeps_what_is_drawn(finished, drawn):
    stage, _ = finished.stage(at=range(drawn + 1, 1000))
    found = ended(finished.search, stage, finished.state, [], Outcome.SETTLED)
    assert found.outcome is Outcome.INTERRUPTED
    assert len(found.formulas) == drawn


def test_an_interrupt_before_anything_is_drawn_leaves_an_outline(finished):
    stage, _ = finished.stage(at=[1])
    found = ended(finished.search, stage, finished.state, [], Outcome.SETTLED)
    assert found.outcome is Outcome.INTERRUPTED
    assert found.formulas


def test_and_once_more_leaves_nothing_but_the_constant_that_is_always_there(finished):
    stage, pressed = finished.stage(at=range(1000), proposing=True)
    found = ended(finished.search, stage, finished.state, [], Outcome.SETTLED)
    assert (found.outcome, found.formulas, pressed.asked) == (Outcome.INTERRUPTED, [], 1)


def never(*_: Any) -> Any:
    pytest.fail("a step that takes long was begun after Ctrl-C")


def test_ctrl_c_ends_the_search_without_a_long_drawing(finished, noisy):
    stage, pressed = finished.stage()
    found = ended(finished.search, stage, finished.state, [], Outcome.INTERRUPTED)
    assert 1 <= len(found.formulas) <= pressed.asked <= IN_HASTE.drawn
    discovery = discover(
        noisy, replace(SETTINGS, max_starts=10**9), progress=lambda told: interrupted() if told.starts else None
    )
    assert discovery.outcome is Outcome.INTERRUPTED
    assert len(discovery.front) >= 2


def test_ctrl_c_before_the_first_round_leaves_a_constant(noisy):
    assert discover(noisy, SETTINGS, progress=interrupted).outcome is Outcome.INTERRUPTED


def test_ctrl_c_while_proposals_are_drawn_begins_no_front(finished):
    stage, pressed = finished.stage(proposing=True)
    found = ended(finished.search, stage, finished.state, [], Outcome.SETTLED)
    assert found.outcome is Outcome.INTERRUPTED
    assert 1 <= len(found.formulas) <= pressed.asked <= IN_HASTE.drawn


def test_ctrl_c_in_the_last_moment_loses_nothing(noisy, monkeypatch):
    find, calls = pipeline.poles_of, []

    def once(*arguments):
        calls.append(arguments)
        return interrupted() if len(calls) == 1 else find(*arguments)

    monkeypatch.setattr(pipeline, "poles_of", once)
    discovery = searched(noisy)
    assert discovery.outcome is Outcome.INTERRUPTED
    assert len(discovery.front) >= 2


def test_ctrl_c_after_the_search_leaves_what_it_takes_to_finish_later(noisy, monkeypatch, tmp_path):
    """A file that nobody asked for goes where the search is done, but here the choice among its formulas is not."""
    kept_in = Checkpoint(tmp_path / "run.ckpt", every=1e-6, transient=True)
    with monkeypatch.context() as pressed:
        pressed.setattr(pipeline, "_offers", interrupted)
        cut = discover(noisy, SETTINGS, checkpoint=kept_in)
    assert cut.outcome is Outcome.INTERRUPTED
    assert cut.leftover is None
    finished = discover(noisy, SETTINGS, checkpoint=replace(kept_in, transient=False))
    assert finished.outcome is not Outcome.INTERRUPTED
    assert [str(row) for row in finished.front] == [str(row) for row in discover(noisy, SETTINGS).front]


def test_ctrl_c_before_a_second_target_keeps_the_first(monkeypatch):
    x = np.linspace(1, 2, 30)[:, None]
    begin, begun = pipeline.run, []

    def first_only(search, *arguments):
        begun.append(search)
        return interrupted() if len(begun) > 1 else begin(search, *arguments)

    monkeypatch.setattr(pipeline, "run", first_only)
    model = CEQLRegressor(operators=["mul"])
    with pytest.warns(CeqlWarning, match="interrupted before it reached y2"):
        model.fit(x, np.column_stack([3.0 * x[:, 0], np.sin(x[:, 0])]))
    assert [found.outcome for found in model.discoveries_] == [Outcome.EXACT, Outcome.INTERRUPTED]


def test_libraries_are_looked_for_once(monkeypatch):
    """Looking for them calls back from C, where a Ctrl-C is lost."""
    double = one_thread(lambda number: 2 * number)
    assert double(1) == 2
    monkeypatch.setattr(threadpoolctl.ThreadpoolController, "__init__", never)
    assert double(2) == 4


def test_an_exact_formula_survives_an_interrupt_of_its_outline(finished):
    stage, _ = finished.stage(at=range(1000))
    exact = constant_formula(finished.search.data)
    found = ended(finished.search, stage, finished.state, [exact], Outcome.EXACT)
    assert (found.outcome, found.formulas) == (Outcome.EXACT, [exact])


def test_the_command_ends_with_130_and_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setattr(pipeline, "poles_of", interrupted)
    monkeypatch.setattr(sys, "argv", ["ceql", "demo", "--quiet"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert "Traceback" not in capsys.readouterr().err


_COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may inherit it ignored
from ceql.__main__ import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_twice_at_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    rows = "\n".join(",".join(map(str, row)) for row in rng.normal(size=(60, 3)))
    (tmp_path / "table.csv").write_text(f"a,b,y\n{rows}\n")
    options = [
        "--target",
        "y",
        "--time-limit",
        "300",
        "--checkpoint",
        "run.ckpt",
        "--checkpoint-every",
        "0.01",
        "--quiet",
    ]
    command = [sys.executable, "-c", _COMMAND, "fit", "table.csv", *options]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    killer = threading.Timer(100, process.kill)
    killer.start()
    while process.poll() is None and not (tmp_path / "run.ckpt").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    killer.cancel()
    # The last one: the second came when there was nothing left to do but to end.
    assert process.returncode in (0, 130, -signal.SIGINT)
    assert output.strip() or process.returncode == 130
    assert "Traceback" not in errors
