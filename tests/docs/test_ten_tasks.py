"""The page of ten tasks is what its script measures, and the quick ones go as it says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import users_tasks  # noqa: E402

PAGE = (ROOT / "docs" / "ten-tasks.md").read_text(encoding="utf-8")
TASKS = users_tasks.TASKS
QUICK = [task for task in TASKS if task.title in ("Find the law in a table", "Take the formula away as C")]
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (\d+) \| ([\d.]+) \| (\d+) \| ([\d.]+) \| (\d+) \| ([\d.]+) \|$", re.MULTILINE)


@pytest.fixture
def folder(tmp_path):
    for name, make in users_tasks.TABLES.items():
        make(np.random.default_rng(0)).to_csv(tmp_path / name, index=False)
    return tmp_path


def test_there_are_ten_and_the_page_has_them_in_order():
    assert len(TASKS) == 10
    assert [row[1] for row in ROW.findall(PAGE)] == [task.title for task in TASKS]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_the_page_has_what_was_done(task):
    ten_tasks = pytest.importorskip("ten_tasks", reason="the script needs Pillow")
    assert ten_tasks.section(TASKS.index(task) + 1, task) in PAGE


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_the_numbers_on_the_page_are_those_of_the_task(task):
    row = ROW.findall(PAGE)[TASKS.index(task)]
    clicks, commands, lines = int(row[2]), int(row[4]), int(row[6])
    assert commands == len(task.terminal)
    assert lines == sum(bool(line.strip()) for line in task.python.splitlines())
    assert clicks == sum(map(users_tasks.clicks, task.page))
    assert all(float(seconds) > 0 for seconds in (row[3], row[5], row[7]))


@pytest.mark.parametrize("task", QUICK, ids=lambda task: task.title)
def test_a_quick_task_goes_as_the_page_says(task, folder):
    ten_tasks = pytest.importorskip("ten_tasks", reason="the script needs Pillow")
    assert ten_tasks.in_the_terminal(task, folder).number == len(task.terminal)
    assert ten_tasks.in_python(task, folder).seconds > 0
