"""The live display: a line where somebody looks, silence elsewhere."""

from __future__ import annotations

import importlib.machinery
import io
import sys
import types

import numpy as np
import pandas as pd
import pytest

from ceql import Dataset, Settings, discover
from ceql.discovery import Progress
from ceql.output import progress


def test_silent_when_piped_or_switched_off():
    for verbose in (False, None):
        with progress.live_display(verbose) as show:
            assert show is None


def test_shows_starts_loss_and_time_left_and_leaves_nothing(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    with progress.live_display(True) as show:
        assert show is not None
        show(Progress(seconds=0.1, time_limit=10, starts=1, best_loss=9.0))
        assert screen.getvalue() == ""
        show(Progress(seconds=4.0, time_limit=10, starts=2048, best_loss=0.125))
    assert "2,048 starts, loss 0.12, 6 s left" in screen.getvalue()
    assert screen.getvalue().rsplit("\r", 2)[-2].strip() == ""


def test_the_formula_comes_last_trimmed_and_not_too_often(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("COLUMNS", "70")
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    asked: list[float] = []

    def formula() -> str:
        asked.append(now[0])
        return "1.23*x1 + " * 20

    with progress.live_display(True) as show:
        assert show is not None
        for seconds in (2.0, 3.0, 4.0):
            show(Progress(seconds, time_limit=10, starts=2048, best_loss=0.125, formula=formula))
            now[0] += 0.4
        assert asked == [1000.0]
        now[0] += 10.0
        show(Progress(5.0, time_limit=10, starts=2048, best_loss=0.125, formula=formula))
        assert len(asked) == 2
    assert "6 s left: 1.23*x1 + …" in screen.getvalue()
    assert max(map(len, screen.getvalue().split("\r"))) <= 70


def test_the_search_tells_its_best_formula_in_the_users_units():
    texts = []

    def look(report: Progress) -> None:
        assert report.formula is not None
        texts.append(report.formula())

    x = np.linspace(1e6, 3e6, 50)[:, None]
    discover(Dataset.of(x, 2.5e-6 * x[:, 0] + 40), Settings(operators=("mul",)), look)
    assert texts[-1] in {"2.5e-6*x1 + 40", "2.5e-6*x1 + 40.0"}


def test_the_display_says_that_a_long_table_is_searched_in_part():
    reports: list[Progress] = []
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (3_000, 1))
    discovery = discover(
        Dataset.of(x, rng.normal(size=3_000)), Settings(operators=("mul",), time_limit=0.2), reports.append
    )
    assert discovery.rows_searched == 400
    assert "400 of 3,000 rows" in progress.describe(reports[0])


@pytest.mark.parametrize(("fraction", "words"), [(0.25, "25%"), (1.0, "100%")])
def test_a_schedule_shows_its_share(monkeypatch, fraction, words):
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    with progress.live_display(True) as show:
        assert show is not None
        show(Progress(seconds=2.0, time_limit=0, starts=1, best_loss=1.0, message="15 edges", fraction=fraction))
    assert f"15 edges, {words}" in screen.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_shown_in_a_terminal_and_in_a_notebook(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    with progress.live_display() as show:
        assert show is not None
    monkeypatch.setattr("sys.stderr", io.StringIO())
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    with progress.live_display() as show:
        assert show is not None


def test_a_notebook_gets_a_widget_and_trimmed_words(monkeypatch):
    """A stand-in for the bar of a notebook, which needs a running kernel: it is told by the module of its class."""
    made = []

    class Widget:
        def __init__(self, **options) -> None:
            self.options, self.words, self.n, self.closed = options, "", 0.0, False
            made.append(self)

        def set_description_str(self, words: str) -> None:
            self.words = words

        def close(self) -> None:
            self.closed = True

    Widget.__module__ = "tqdm.notebook"
    monkeypatch.setattr("tqdm.auto.tqdm", Widget)
    with progress.live_display(True) as show:
        assert show is not None
        show(Progress(5.0, time_limit=10, starts=2048, best_loss=0.125, formula=lambda: "1.23*x1 + " * 30))
    (bar,) = made
    assert bar.options["bar_format"] == "{bar} {desc}"
    assert (bar.n, bar.closed) == (0.5, True)
    assert len(bar.words) == 120
    assert bar.words.endswith("…")


def test_the_bar_of_tqdm_for_notebooks_is_known_as_such():
    from tqdm import notebook, std

    assert progress._draws_widgets(notebook.tqdm)
    assert not progress._draws_widgets(std.tqdm)


class Cell:
    """Stands for IPython's display, which needs a kernel: what the one output of a cell has shown."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def display(self, content: dict[str, str], raw: bool, display_id: bool) -> Cell:
        assert raw
        assert display_id
        return self.update(content, raw)

    def update(self, content: dict[str, str], raw: bool) -> Cell:
        self.shown.append(content)
        return self


@pytest.fixture
def cell(monkeypatch) -> Cell:
    made = Cell()
    package, inside = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    package.__spec__ = importlib.machinery.ModuleSpec("IPython", None)
    inside.display = made.display  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", inside)
    return made


def test_a_notebook_shows_the_front_as_it_grows_and_nothing_afterwards(cell):
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.uniform(1, 2, (80, 2)), columns=["<i>a</i>", "b"])
    y = np.sin(5 * x["b"]) + 0.3 * rng.standard_normal(80)
    with progress.live_display() as show:
        discover(Dataset.of(x, y), Settings(operators=("mul",), time_limit=2.0), show)
    first, *_, last = cell.shown
    assert "<math" in first["text/html"]
    assert "<svg" in first["text/html"]
    assert "s left" in first["text/plain"]
    assert all("<i>" not in content.get("text/html", "") for content in cell.shown)
    assert len({content["text/plain"] for content in cell.shown}) > 2
    assert last == {"text/plain": ""}


def test_fits_report_to_a_display_of_ones_own_and_to_no_other(cell):
    reports: list[Progress] = []
    x = np.linspace(0, 1, 30)[:, None]
    with progress.shown_by(reports.append), progress.live_display(True) as show:
        discover(Dataset.of(x, 1 + 2 * x[:, 0]), Settings(), show)
    assert reports
    assert cell.shown == []
    with progress.live_display(False) as show:
        assert show is None
