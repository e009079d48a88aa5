"""Does ten tasks on the page, in a terminal and in Python, and writes down how much work and time each of them took.

    python tools/ten_tasks.py docs/ten-tasks.md

It needs Chromium and its driver. On the page, real pointer clicks on visible elements are made and counted. Seconds are
machine time, from the first click to the result, with no time to think, read or type. If a task does not end as it
should, the script stops with an error.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import browser
import numpy as np
from app_pictures import served
from users_tasks import TABLES, TASKS, Drop, Pick, Press, See, Step, Task, Type, clicks

_CEQL = "import sys; from ceql.__main__ import main; sys.argv[0] = 'ceql'; main()"
_PATIENCE = 120.0  # seconds for anything
_PAUSE = 0.02  # between two looks at the page


@dataclass(frozen=True)
class Taken:
    """What a task took: clicks on the page, lines in the terminal or of Python, and seconds."""

    number: int
    seconds: float


@dataclass(frozen=True)
class Measured:
    task: Task
    page: Taken
    terminal: Taken
    python: Taken


class Hand:
    """Works the page as a user would, and counts the clicks."""

    def __init__(self, chrome: Any, folder: Path) -> None:
        self.chrome, self.folder, self.clicks = chrome, folder, 0

    def found(self, selector: str) -> Any:
        """The first visible element that the selector finds."""
        what = selector.removeprefix("xpath:")
        kind = "css selector" if what == selector else "xpath"
        return until(lambda: next((one for one in self.chrome.find_elements(kind, what) if one.is_displayed()), None))

    def do(self, step: Step) -> None:
        self.clicks += clicks(step)
        if isinstance(step, Drop):
            self.chrome.find_element("css selector", step.box).send_keys(str(self.folder / step.file))
            until(lambda: step.file in self.text(step.seen))
        elif isinstance(step, Press):
            self.found(step.selector).click()
        elif isinstance(step, Pick):
            choice = f"option[value='{step.entry}']"
            self.found(step.selector).find_element("css selector", choice).click()
        elif isinstance(step, Type):
            box = self.found(step.selector)
            box.clear()
            box.send_keys(step.text)
        else:
            until(lambda: step.text in self.text(step.selector))

    def text(self, selector: str) -> str:
        script = "const e = document.querySelector(arguments[0]); return e ? e.innerText : ''"
        return self.chrome.execute_script(script, selector)


def until(what: Callable[[], Any]) -> Any:
    end = time.monotonic() + _PATIENCE
    while not (value := what()):
        if time.monotonic() > end:
            raise TimeoutError("the page did not get that far")
        time.sleep(_PAUSE)
    return value


def on_the_page(task: Task, folder: Path) -> Taken:
    with served() as address, browser.driven() as chrome:
        hand = Hand(chrome, folder)
        chrome.get(address)
        until(lambda: chrome.find_elements("css selector", "#file"))
        begin = time.perf_counter()
        for step in task.page:
            hand.do(step)
        return Taken(hand.clicks, time.perf_counter() - begin)


def in_the_terminal(task: Task, folder: Path) -> Taken:
    printed, begin = "", time.perf_counter()
    for k, line in enumerate(task.terminal):
        command = [sys.executable, "-c", _CEQL, *shlex.split(line)[1:]]
        printed = run(command, folder, task.interrupt if k == 0 else None)
    seconds = time.perf_counter() - begin
    if task.shows not in printed:
        raise SystemExit(f"{task.title}: {task.shows!r} is not in what the terminal shows:\n{printed}")
    return Taken(len(task.terminal), seconds)


def in_python(task: Task, folder: Path) -> Taken:
    (folder / "task.py").write_text(task.python, encoding="utf-8")
    begin = time.perf_counter()
    printed = run([sys.executable, "task.py"], folder, None)
    seconds = time.perf_counter() - begin
    if task.prints not in printed:
        raise SystemExit(f"{task.title}: {task.prints!r} is not in what Python prints:\n{printed}")
    return Taken(sum(bool(line.strip()) for line in task.python.splitlines()), seconds)


def run(command: list[str], folder: Path, interrupt: float | None) -> str:
    """What it prints; with `interrupt` Ctrl-C ends it after that number of seconds."""
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        if interrupt is not None:
            time.sleep(interrupt)
            process.send_signal(signal.SIGINT)
        printed, complaints = process.communicate(timeout=_PATIENCE)
    if process.returncode != 0 and interrupt is None:
        raise SystemExit(f"{command[-1]}: exit code {process.returncode}\n{complaints}")
    return printed


def measured(task: Task) -> Measured:
    """Each of the three starts in a folder that holds only the tables."""

    def fresh(way: Callable[[Task, Path], Any]) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            for name, make in TABLES.items():
                make(np.random.default_rng(0)).to_csv(Path(folder) / name, index=False)
            return way(task, Path(folder))

    return Measured(task, fresh(on_the_page), fresh(in_the_terminal), fresh(in_python))


HEAD = """# Ten tasks

Ten things that users want to do, each done on [the page](app.md), in a terminal and in Python by
`python tools/ten_tasks.py docs/ten-tasks.md`, which counts clicks, commands and lines. The clicks are real ones in a
real browser: choosing a file counts as one, picking an entry of a list as two, filling in a box as one. Seconds are
machine time. On the page, which is already open, they run from the first click to the result; otherwise from the start
to the end of all commands, or of the whole program. They include no time to think, read or type. All of this is from
one run on a machine with two shared cores, which were busy with other work.

"""


def table(results: list[Measured]) -> str:
    lines = [
        "| | task | page: clicks | s | terminal: commands | s | Python: lines | s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for k, one in enumerate(results, start=1):
        ways = " | ".join(f"{taken.number} | {taken.seconds:.1f}" for taken in (one.page, one.terminal, one.python))
        lines.append(f"| {k} | {one.task.title} | {ways} |")
    return "\n".join(lines)


def words(task: Task) -> str:
    """The steps on the page, as a sentence."""
    said = [
        f"drop `{step.file}`" if isinstance(step, Drop) else f"*{step.words}*"
        for step in task.page
        if not isinstance(step, See)
    ]
    return f"On the page: {', '.join(said)}."


def section(number: int, task: Task) -> str:
    commands = "\n".join(task.terminal)
    stop = " (In the terminal, Ctrl-C ends the first command.)" if task.interrupt is not None else ""
    return (
        f"## {number}. {task.title}\n\n{task.about}\n\n{words(task)}{stop}\n\n"
        f"```sh\n{commands}\n```\n\n```python\n{task.python}\n```"
    )


def document(results: list[Measured]) -> str:
    sections = [section(k, one.task) for k, one in enumerate(results, start=1)]
    return HEAD + "\n\n".join([table(results), *sections]) + "\n"


def main(path: Path) -> None:
    results = []
    for task in TASKS:
        results.append(measured(task))
        sys.stdout.write(f"{table(results[-1:]).splitlines()[-1]}\n")
        sys.stdout.flush()
    path.write_text(document(results), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
