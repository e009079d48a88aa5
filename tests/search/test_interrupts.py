"""Ctrl-C once, twice, three times: what was found by then is kept, and no traceback comes from the depths."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import threadpoolctl

from ceql import CEQLRegressor, CeqlWarning, Dataset, Settings, discover, pipeline
from ceql import __main__ as cli
from ceql.discovery import Outcome
from ceql.engine.one_thread import one_thread
from ceql.search.noisy_candidates import Proposed
from ceql.search.target_search import Hunt


@pytest.fixture
def noisy():
    rng = np.random.default_rng(0)
    return Dataset.of(rng.uniform(1, 2, (60, 2)), rng.normal(size=60))


def interrupted(*_):
    raise KeyboardInterrupt


def searched(data: Dataset):
    return discover(data, Settings(operators=("mul",), time_limit=0.5))


@pytest.mark.parametrize("drawn", [1, 3])
def test_a_second_interrupt_keeps_what_is_drawn(noisy, monkeypatch, drawn):
    whole = Hunt.front

    def cut(self, *arguments):
        for so_far in whole(self, *arguments):
            yield so_far
            if len(so_far) == drawn:
                interrupted()

    monkeypatch.setattr(Hunt, "front", cut)
    discovery = searched(noisy)
    assert discovery.outcome is Outcome.INTERRUPTED
    assert 2 <= len(discovery.front) <= drawn + 1


def test_an_interrupt_before_anything_is_drawn_leaves_an_outline(noisy, monkeypatch):
    monkeypatch.setattr(Hunt, "front", interrupted)
    discovery = searched(noisy)
    assert discovery.outcome is Outcome.INTERRUPTED
    assert len(discovery.front) >= 2


def test_and_once_more_leaves_the_constant(noisy, monkeypatch):
    monkeypatch.setattr(Proposed, "drawn", interrupted)
    monkeypatch.setattr(Hunt, "at_once", interrupted)
    discovery = searched(noisy)
    assert discovery.outcome is Outcome.INTERRUPTED
    assert [formula.complexity for formula in discovery.front] == [1]


def never(*_):
    pytest.fail("a step that takes long was begun after Ctrl-C")


def test_ctrl_c_ends_the_search_without_a_long_drawing(noisy, monkeypatch):
    for long, step in ((Hunt, "front"), (Proposed, "drawn")):
        monkeypatch.setattr(long, step, never)
    discovery = discover(noisy, Settings(operators=("mul",), max_starts=10**9), progress=interrupted)
    assert discovery.outcome is Outcome.INTERRUPTED
    assert len(discovery.front) >= 2


def test_ctrl_c_while_proposals_are_drawn_begins_no_front(noisy, monkeypatch):
    monkeypatch.setattr(Proposed, "drawn", interrupted)
    monkeypatch.setattr(Hunt, "front", never)
    discovery = searched(noisy)
    assert discovery.outcome is Outcome.INTERRUPTED
    assert len(discovery.front) >= 2


def test_ctrl_c_in_the_last_moment_loses_nothing(noisy, monkeypatch):
    find, calls = pipeline.poles_of, []

    def once(*arguments):
        calls.append(arguments)
        return interrupted() if len(calls) == 1 else find(*arguments)

    monkeypatch.setattr(pipeline, "poles_of", once)
    discovery = searched(noisy)
    assert discovery.outcome is Outcome.INTERRUPTED
    assert len(discovery.front) >= 2


def test_ctrl_c_before_a_second_target_keeps_the_first(monkeypatch):
    x = np.linspace(1, 2, 30)[:, None]
    begin, begun = pipeline.Rounds, []

    def first_only(data, *arguments):
        begun.append(data)
        return interrupted() if len(begun) > 1 else begin(data, *arguments)

    monkeypatch.setattr(pipeline, "Rounds", first_only)
    model = CEQLRegressor(operators=["mul"])
    with pytest.warns(CeqlWarning, match="interrupted before y2 had a turn"):
        model.fit(x, np.column_stack([3.0 * x[:, 0], np.sin(x[:, 0])]))
    assert [found.outcome for found in model.discoveries_] == [Outcome.EXACT, Outcome.INTERRUPTED]


def test_libraries_are_looked_for_once(monkeypatch):
    """Looking for them calls back from C, where a Ctrl-C is lost."""
    double = one_thread(lambda number: 2 * number)
    assert double(1) == 2
    monkeypatch.setattr(threadpoolctl.ThreadpoolController, "__init__", never)
    assert double(2) == 4


def test_an_exact_formula_survives_an_interrupt_of_its_outline(monkeypatch):
    monkeypatch.setattr(Hunt, "outline", interrupted)
    x = np.linspace(1, 2, 30)[:, None]
    discovery = discover(Dataset.of(x, 1.5 * x[:, 0] ** 2), Settings(operators=("mul", "div")))
    assert discovery.outcome is Outcome.EXACT
    assert discovery.best.loss < 1e-20


def test_the_command_ends_with_130_and_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setattr(pipeline, "poles_of", interrupted)
    monkeypatch.setattr(sys, "argv", ["ceql", "demo", "--quiet"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert "Traceback" not in capsys.readouterr().err


_TWICE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import sys
import ceql.search.target_search
from ceql import __main__ as cli
ceql.search.target_search._QUIET = ceql.search.target_search._QUIET_IN_DOUBT = 10**9
def telling(word, original):
    def told(self, *arguments):
        print(word, flush=True)
        return original(self, *arguments)
    return told
ceql.search.target_search.Hunt.at_once = telling("drawing", ceql.search.target_search.Hunt.at_once)
ceql.search.target_search.Hunt.sees_noise = telling("searching", ceql.search.target_search.Hunt.sees_noise)
sys.argv = ["ceql", "fit", "table.csv", "--target", "y", "--time-limit", "300", "--quiet"]
cli.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_twice_at_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    rows = "\n".join(",".join(map(str, row)) for row in rng.normal(size=(60, 3)))
    (tmp_path / "table.csv").write_text(f"a,b,y\n{rows}\n")
    process = subprocess.Popen(
        [sys.executable, "-c", _TWICE], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    killer = threading.Timer(100, process.kill)
    killer.start()
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "searching"
    process.send_signal(signal.SIGINT)
    assert any(line.strip() == "drawing" for line in process.stdout)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    killer.cancel()
    assert process.returncode in (0, 130)
    assert output.strip() or process.returncode == 130
    assert "Traceback" not in errors
