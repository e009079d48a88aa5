"""Runs one search in a process of its own: it reads jobs as lines of JSON and reports in the same form.

A line ``{"do": "stop"}`` acts like Ctrl-C in a terminal: the search ends and keeps what it has found. When the process
that started it ends, this process ends too.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from ceql.app.phrases import said_on_the_page
from ceql.app.wishes import Wish
from ceql.data.chosen_columns import Chosen, Wanted, chosen_columns
from ceql.data.formats.file_layout import Layout
from ceql.data.tables import read_cells
from ceql.discovery import Progress
from ceql.errors import CeqlError, CeqlWarning, in_words
from ceql.estimator.regressor import CEQLRegressor
from ceql.expression.text.write import short_text
from ceql.output.export import LANGUAGES
from ceql.output.plain_words import plainly
from ceql.output.progress import shown_by
from ceql.output.web.typeset import typeset
from ceql.output.web.view import as_script_data, finite, view
from ceql.storage.checkpoint import Checkpoint, may_go_on
from ceql.storage.files import write_atomically

_CHECKPOINT_EVERY = 2.0  # seconds
_LOOK_EVERY, _LOOK_SHARE = 0.4, 0.03  # seconds between two looks at the front, and the share of the time they may take
_DIGITS = 4  # of the constants of formulas during the search

Say = Callable[..., None]


class _Reporter:
    """Reports the progress of a search: numbers each time, formulas less often."""

    def __init__(self, say: Say, target: str) -> None:
        self._say, self._target = say, target
        self._next_look, self._front, self._text = 0.0, [], ""

    def __call__(self, progress: Progress) -> None:
        begin = time.monotonic()
        if begin >= self._next_look and (progress.front is not None or progress.formula is not None):
            self._front = [] if progress.front is None else [self._shown(glimpse) for glimpse in progress.front()]
            self._text = "" if progress.front is not None or progress.formula is None else progress.formula()
            took = time.monotonic() - begin
            self._next_look = begin + max(_LOOK_EVERY, took / _LOOK_SHARE)
        self._say(
            "progress",
            seconds=progress.seconds,
            limit=progress.time_limit,
            starts=progress.starts,
            loss=finite(progress.best_loss),
            message=progress.message,
            front=self._front,
            formula=self._text,
        )

    def _shown(self, glimpse: Any) -> dict[str, Any]:
        math = typeset(glimpse.expression, self._target, _DIGITS)
        plain = {"complexity": glimpse.complexity, "loss": finite(glimpse.loss), "best": glimpse.is_best}
        return {**plain, "text": short_text(glimpse.expression, _DIGITS), "math": math}


class _Stops:
    """Turns a stop message into Ctrl-C while a search is running."""

    def __init__(self) -> None:
        self._lock, self._open, self._asked = threading.Lock(), False, False

    def begin(self) -> None:
        with self._lock:
            self._open, asked = True, self._asked
        if asked:
            raise KeyboardInterrupt

    def end(self) -> None:
        with self._lock:
            self._open = False

    def ask(self) -> None:
        with self._lock:
            self._asked = True
            if not self._open:
                return
            if hasattr(signal, "pthread_kill"):  # also wakes a waiting process
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:
                signal.raise_signal(signal.SIGINT)


def _job(job: Mapping[str, Any], say: Say, stops: _Stops) -> None:
    table, wish = Path(job["table"]), Wish(**job["wish"])
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            layout = Layout(**job["layout"])
            labels = [wish.groups] if wish.groups else []
            exclude = [name for name in wish.leave_out if name not in labels]
            wanted = Wanted([wish.target], exclude=exclude, labels=labels, drop_gaps=wish.drop_gaps)
            chosen = chosen_columns(read_cells(table, layout), wanted)
            say("notes", notes=[said_on_the_page(note, table) for note in chosen.notes])
            model = _fitted(wish, chosen, Path(job["checkpoint"]), say, stops)
        notes = [said_on_the_page(str(one.message), table) for one in told if issubclass(one.category, CeqlWarning)]
        _hand_over(model, job, wish, say, [*chosen.notes, *notes])
    except KeyboardInterrupt:
        further = "come any further" if Path(job["checkpoint"]).exists() else "found anything"
        say("failed", why=f"The search was stopped before it had {further}.")
    except (CeqlError, OSError) as error:
        say("failed", why=said_on_the_page(in_words(error), table))
    except MemoryError:
        say("failed", why="There is not enough memory for this table: give fewer rows or columns.")


def _fitted(wish: Wish, chosen: Chosen, checkpoint: Path, say: Say, stops: _Stops) -> CEQLRegressor:
    own = wish.own_constants
    known = {name: unit for name, unit in wish.units.items() if name == wish.target or name in chosen.x.columns}
    model = CEQLRegressor(
        operators=list(wish.operators) or None,
        time_limit=wish.time_limit,
        max_complexity=wish.max_complexity,
        catalogue=wish.catalogue,
        model_selection=wish.select,
        random_state=wish.seed,
        per_group=own,
        units=known or None,
        constants=wish.constants if known else "any",
        checkpoint=Checkpoint(checkpoint, every=_CHECKPOINT_EVERY) if own is None else None,
    )
    labels = pd.Series(chosen.beside[wish.groups], name=wish.groups) if wish.groups else None
    with shown_by(_Reporter(say, wish.target)):
        try:
            stops.begin()
            return model.fit(chosen.x, chosen.y, groups=labels)
        finally:
            stops.end()


def _hand_over(model: CEQLRegressor, job: Mapping[str, Any], wish: Wish, say: Say, notes: list[str]) -> None:
    table = Path(job["table"])
    model.save(job["model"])
    content = view(model._subject(None, wish.target, table.name), LANGUAGES)
    has_gaps = any("gaps: left out" in note for note in notes)
    held_out = wish.groups if wish.own_constants is None else ""
    if has_gaps or job["layout"] or held_out:
        content["python"] = ""
        if content["command"]:
            content["command"] += _how_rows_were_chosen(job["layout"], has_gaps, held_out)
    write_atomically(job["view"], as_script_data(content))
    found = model.discovery_
    say(
        "done",
        outcome=found.outcome.name.lower(),
        sentence=plainly(found.outcome.value),
        seconds=found.seconds,
        starts=found.starts,
        formula=str(found.best),
        can_go_on=may_go_on(job["checkpoint"], found.outcome),
        notes=[said_on_the_page(note, table) for note in notes],
    )


def _how_rows_were_chosen(layout: Mapping[str, Any], has_gaps: bool, held_out: str) -> str:
    """Options of the command that a fitted model does not know; rows of the same label in `held_out` are held out
    together.
    """
    words = ["--missing", "drop"] if has_gaps else []
    words += ["--groups", held_out] if held_out else []
    for name in ("separator", "decimal", "encoding", "skip", "sheet"):
        if name in layout:
            words += [f"--{name}", str(layout[name])]
    words += ["--names", ",".join(layout["names"])] if "names" in layout else []
    for mark in layout.get("missing_marks", ()):
        words += ["--missing-mark", mark]
    return f" {shlex.join(words)}" if words else ""


def _speaker(stream: TextIO) -> Say:
    lock = threading.Lock()

    def say(kind: str, **content: Any) -> None:
        with lock:
            stream.write(json.dumps({"is": kind, **content}, allow_nan=False) + "\n")
            stream.flush()

    return say


def _listen(jobs: queue.SimpleQueue[Any], stops: _Stops) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message["do"] == "stop":
            stops.ask()
        else:
            jobs.put(message)
    os._exit(0)  # the parent process has ended


def main() -> None:
    """Reports that it is ready, does one job and ends."""
    # Output of libraries must not mix with the messages.
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stops, say = _Stops(), _speaker(stream)
    threading.Thread(target=_listen, args=(jobs, stops), daemon=True).start()
    say("ready")
    _job(jobs.get(), say, stops)


if __name__ == "__main__":
    main()
