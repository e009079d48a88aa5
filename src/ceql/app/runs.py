"""The searches of a session, each in a process of its own: starts, follows, stops and continues them."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ceql.app.tables import Held
from ceql.app.wishes import Wish
from ceql.errors import CeqlError

MOST_AT_ONCE = 2  # searches that run at the same time; each may use all cores
_LONGEST_LINE = 2**24  # bytes of one message of a worker
_SECONDS_TO_END = 3.0  # time for a worker to end before it is killed
_GONE = "The search process was killed before it gave a result, perhaps because memory ran out."


class BusyError(CeqlError):
    """Too many searches are running, or the search is still running."""


class Worker:
    """Holds a process that waits for a job; it is started ahead of time, since this takes a second or two."""

    def __init__(self) -> None:
        self._starting: asyncio.Task[Process] | None = None

    def warm_up(self) -> None:
        if self._starting is None:
            self._starting = asyncio.create_task(_started())

    async def take(self) -> Process:
        """The waiting process, or a new one if that has died."""
        self.warm_up()
        starting, self._starting = self._starting, None
        process = await starting if starting is not None else await _started()
        return process if process.returncode is None else await _started()

    async def close(self) -> None:
        if self._starting is not None:
            await _end(await self._starting)
            self._starting = None


async def _started() -> Process:
    command = sys.executable, "-m", "ceql.app.worker"
    # In a new session, so that Ctrl-C in the terminal reaches only the server.
    return await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, limit=_LONGEST_LINE, start_new_session=True
    )


async def _end(process: Process) -> None:
    if process.returncode is not None:
        return
    if process.stdin is not None:
        process.stdin.close()  # which makes it end
    try:
        await asyncio.wait_for(process.wait(), _SECONDS_TO_END)
    except TimeoutError:
        process.kill()
        await process.wait()


@dataclass(eq=False)
class Run:
    """One search and its state; `snapshot` is what the page sees."""

    id: str
    table: Held
    wish: Wish
    folder: Path
    state: str = "starting"  # then running, stopping, done or failed
    progress: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    why: str = ""
    version: int = 0
    process: Process | None = None
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def is_active(self) -> bool:
        return self.state in ("starting", "running", "stopping")

    @property
    def model(self) -> Path:
        return self.folder / "model.ceql"

    @property
    def view(self) -> Path:
        return self.folder / "view.json"

    def snapshot(self) -> dict[str, Any]:
        named = {"id": self.id, "table": self.table.id, "name": self.table.name, "wish": self.wish.as_json()}
        told = {"progress": self.progress, "result": self.result, "notes": self.notes, "why": self.why}
        return {**named, **told, "state": self.state, "version": self.version}

    async def take(self, **changes: Any) -> None:
        """Changes fields and notifies all followers."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.version += 1
        async with self.changed:
            self.changed.notify_all()

    async def follow(self) -> AsyncIterator[dict[str, Any]]:
        """Yields a snapshot now and after every change, until the search has ended."""
        seen = -1
        while True:
            if self.version != seen:
                seen = self.version
                yield self.snapshot()
                if not self.is_active:
                    return
            async with self.changed:
                await self.changed.wait_for(lambda: self.version != seen)  # noqa: B023 - asked before seen changes


class Runs:
    """All searches of a session."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._spare = folder, Worker()
        self._all: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def warm_up(self) -> None:
        self._spare.warm_up()

    @property
    def all(self) -> list[Run]:
        return list(self._all.values())

    def get(self, name: str) -> Run | None:
        return self._all.get(name)

    def start(self, table: Held, wish: Wish) -> Run:
        self._require_room()
        name = f"r{len(self._all) + 1}"
        folder = self._folder / name
        folder.mkdir()
        run = self._all[name] = Run(name, table, wish, folder)
        self._begin(run)
        return run

    async def stop(self, run: Run) -> None:
        """Stops a search like Ctrl-C, keeping what was found. A second call also stops the work after the search."""
        if run.state == "running" and run.process is not None:
            await run.take(state="stopping")
        if run.process is not None and run.process.stdin is not None and not run.process.stdin.is_closing():
            run.process.stdin.write(b'{"do": "stop"}\n')

    async def go_on(self, run: Run) -> None:
        """Continues a search from where it ended, with the same time limit again."""
        if run.is_active:
            raise BusyError("This search is still running: wait for its end, or stop it, before you continue it.")
        if not run.result.get("can_go_on"):
            raise CeqlError("This search is finished and cannot be continued: change its settings and start a new one.")
        self._require_room()
        spent = float(run.result.get("seconds", 0.0))
        await run.take(wish=run.wish.longer(spent + run.wish.time_limit), state="starting", why="")
        self._begin(run)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for run in self._all.values():
            if run.process is not None:
                await _end(run.process)
        await self._spare.close()

    def _require_room(self) -> None:
        if sum(run.is_active for run in self._all.values()) >= MOST_AT_ONCE:
            raise BusyError(f"{MOST_AT_ONCE} searches are running already: stop one of them, or wait until one ends.")

    def _begin(self, run: Run) -> None:
        task = asyncio.create_task(self._followed(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _followed(self, run: Run) -> None:
        try:
            process = run.process = await self._spare.take()
        except OSError as error:
            await run.take(state="failed", why=f"The search process could not be started: {error.strerror}.")
            return
        assert process.stdin is not None
        assert process.stdout is not None
        files = {"checkpoint": str(run.folder / "search.ceql-checkpoint"), "model": str(run.model)}
        job = {"do": "fit", "table": str(run.table.path), "layout": run.table.layout, "view": str(run.view), **files}
        process.stdin.write(json.dumps({**job, "wish": run.wish.as_json()}).encode() + b"\n")
        await run.take(state="running")
        async for line in process.stdout:
            await _taken(run, json.loads(line))
        await process.wait()
        if run.is_active and run.process is process:  # another process, if the search was continued meanwhile
            await run.take(state="failed", why=_GONE)
        self._spare.warm_up()


async def _taken(run: Run, message: Mapping[str, Any]) -> None:
    content = {name: value for name, value in message.items() if name != "is"}
    match message["is"]:
        case "progress":
            await run.take(progress=content)
        case "notes":
            await run.take(notes=tuple(content["notes"]))
        case "done":
            await run.take(result=content, notes=tuple(content["notes"]), state="done")
        case "failed":
            # Results of an earlier part of the same search stay visible.
            await run.take(state="failed" if not run.result else "done", why=content["why"])
