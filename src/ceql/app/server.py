"""Answers the browser: the page and its files, tables, searches and their results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ceql import __version__
from ceql.app.examples import EXAMPLES, example
from ceql.app.guard import Guard
from ceql.app.new_rows import predicted_rows
from ceql.app.phrases import said_on_the_page
from ceql.app.runs import Run, Runs
from ceql.app.tables import Held, has_layout, layout_of, safe_file_name, summary
from ceql.app.wishes import Wish
from ceql.data.content import ContentError
from ceql.errors import CeqlError, in_words
from ceql.estimator.unit_texts import is_installed as can_read_units
from ceql.operators import get, names
from ceql.output.web.files import APP, APP_STYLES, asset

LARGEST = 64 * 2**20  # bytes of a table
_LONGEST_REQUEST = 2**18  # bytes of any other request
_MOST_TABLES = 50
_KEEP_ALIVE = 15.0  # seconds between two keep-alive messages to a browser that follows a search
_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css"}
_PARTS = ("app.html", *APP, *APP_STYLES)


class _Refused(Exception):
    """An error response with a status and a sentence."""

    def __init__(self, status: int, words: str, **more: Any) -> None:
        super().__init__(words)
        self.status, self.content = status, {"error": words, **more}


class Session:
    """The tables and searches of one `ceql app`, in a folder that is deleted at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs = folder, Runs(folder)
        self.tables: dict[str, Held] = {}
        self._taken = 0

    def hold(self, name: str, content: bytes) -> Held:
        if len(self.tables) >= _MOST_TABLES:
            raise _Refused(
                409,
                f"This session already holds {_MOST_TABLES} tables, the most it can hold: end ceql app and start it "
                "again.",
            )
        self._taken += 1
        number = f"t{self._taken}"
        path = self.folder / number / safe_file_name(name)
        path.parent.mkdir()
        path.write_bytes(content)
        held = self.tables[number] = Held(number, path.name, path)
        return held

    def let_go(self, held: Held) -> None:
        """Removes a table that cannot be read."""
        del self.tables[held.id]
        held.path.unlink()

    def table(self, request: Request) -> Held:
        held = self.tables.get(request.path_params["table"])
        if held is None:
            raise _Refused(404, "This table is no longer part of the session: drop its file on the page again.")
        return held

    def run(self, request: Request) -> Run:
        run = self.runs.get(request.path_params["run"])
        if run is None:
            raise _Refused(404, "This search is no longer part of the session: start it again.")
        return run


# ---- the page -----------------------------------------------------------------------------------------------------


async def page(session: Session, request: Request) -> Response:
    return _part("app.html")


async def part(session: Session, request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _PARTS:
        raise _Refused(404, "There is no such file.")
    return _part(name)


def _part(name: str) -> Response:
    return Response(asset(name), media_type=_KINDS[Path(name).suffix])


async def about(session: Session, request: Request) -> Response:
    """What the page offers and what the session holds, so that a reloaded page or another tab can continue."""
    return JSONResponse({
        "version": __version__,
        "operators": [{"name": name, "words": str(get(name))} for name in names()],
        "examples": [{"name": one.name, "words": one.words} for one in EXAMPLES],
        "units": can_read_units(),
        "largest": LARGEST,
        "tables": [{"id": held.id, "name": held.name} for held in session.tables.values()],
        "runs": [_brief(run) for run in session.runs.all],
    })  # fmt: skip


def _brief(run: Run) -> dict[str, Any]:
    named = {"id": run.id, "table": run.table.id, "name": run.table.name, "target": run.wish.target}
    return {**named, "state": run.state, "formula": run.result.get("formula", "")}


# ---- tables -------------------------------------------------------------------------------------------------------


async def upload(session: Session, request: Request) -> Response:
    content = await _body(request, LARGEST)
    if not content:
        raise _Refused(422, "The file is empty.")
    held = session.hold(request.query_params.get("name", "table.csv"), content)
    try:
        return await _summarised(held)
    except _Refused:
        if not has_layout(held):  # otherwise it is kept until its layout is given
            session.let_go(held)
        raise


async def take_example(session: Session, request: Request) -> Response:
    one = example(request.path_params["name"])
    if one is None:
        raise _Refused(404, "There is no such example.")
    return await _summarised(session.hold(one.name, one.table().to_csv(index=False).encode()))


async def look(session: Session, request: Request) -> Response:
    return await _summarised(session.table(request))


async def read_anew(session: Session, request: Request) -> Response:
    """Reads a table again with a layout that the user has given."""
    held = session.table(request)
    changed = Held(held.id, held.name, held.path, layout_of(await _json(request)))
    answer = await _summarised(changed)
    session.tables[held.id] = changed
    return answer


async def download_table(session: Session, request: Request) -> Response:
    held = session.table(request)
    return _file(held.path.read_bytes(), held.name, "application/octet-stream")


async def _summarised(held: Held) -> Response:
    try:
        found = await asyncio.to_thread(summary, held)
    except CeqlError as error:
        known = {"id": held.id, "name": held.name, "layout": dict(held.layout)}
        more = {"table": known} if has_layout(held) else {}
        raise _Refused(422, said_on_the_page(in_words(error), held.path), **more) from error
    return JSONResponse({**found, "layout": dict(held.layout)})


# ---- searches -----------------------------------------------------------------------------------------------------


async def start(session: Session, request: Request) -> Response:
    content = await _json(request)
    held = session.tables.get(str(content.get("table")))
    if held is None:
        raise _Refused(404, "This table is no longer part of the session: drop its file on the page again.")
    return JSONResponse(session.runs.start(held, Wish.of(content.get("wish"))).snapshot())


async def state(session: Session, request: Request) -> Response:
    return JSONResponse(session.run(request).snapshot())


async def stop(session: Session, request: Request) -> Response:
    run = session.run(request)
    await session.runs.stop(run)
    return JSONResponse(run.snapshot())


async def go_on(session: Session, request: Request) -> Response:
    run = session.run(request)
    await session.runs.go_on(run)
    return JSONResponse(run.snapshot())


async def events(session: Session, request: Request) -> Response:
    """Server-sent events with the whole snapshot each time, so that late followers miss nothing."""
    return StreamingResponse(_told(session.run(request)), media_type="text/event-stream")


async def _told(run: Run) -> AsyncIterator[str]:
    following = run.follow()
    waiting: asyncio.Task[dict[str, Any]] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(following))
            done, _ = await asyncio.wait({waiting}, timeout=_KEEP_ALIVE)
            if not done:
                yield ": still there\n\n"
                continue
            ready, waiting = waiting, None
            try:
                yield f"data: {json.dumps(ready.result())}\n\n"
            except StopAsyncIteration:
                return
    finally:
        if waiting is not None:
            waiting.cancel()


async def view(session: Session, request: Request) -> Response:
    run = _finished(session, request)
    return Response(run.view.read_bytes(), media_type="application/json")


async def model(session: Session, request: Request) -> Response:
    run = _finished(session, request)
    return _file(run.model.read_bytes(), f"{run.table.path.stem}.ceql", "application/json")


async def report(session: Session, request: Request) -> Response:
    run, row = _finished(session, request), request.query_params.get("row", "")
    path = run.folder / f"report-{row if row.isdigit() else ''}.html"
    await asyncio.to_thread(_write_report, run, path, int(row) if row.isdigit() else None)
    return _file(path.read_bytes(), f"{run.table.path.stem}.html", "application/octet-stream")


async def predictions(session: Session, request: Request) -> Response:
    """Predictions for the rows of the uploaded file."""
    run, asked = _finished(session, request), request.query_params
    level = _share(asked.get("level", ""))
    body = await _body(request, LARGEST)
    if not body:
        raise _Refused(422, "The file is empty.")
    row, name = asked.get("row", ""), asked.get("name", "table.csv")
    layout = run.table.layout if Path(name).suffix.lower() == run.table.path.suffix.lower() else {}
    given = run.model, name, body, layout, int(row) if row.isdigit() else None, level
    return JSONResponse(await asyncio.to_thread(predicted_rows, *given))


def _share(text: str) -> float | None:
    """The text as a probability; None if it is empty."""
    try:
        level = float(text) if text else None
    except ValueError:
        level = 0.0
    if level is not None and not 0 < level < 1:
        raise _Refused(422, f"The probability of the bounds must be between 0 and 1, such as 0.95, not {text[:20]!r}.")
    return level


def _write_report(run: Run, path: Path, row: int | None) -> None:
    from ceql.estimator.regressor import load

    load(run.model).report(path, row=row, target=run.wish.target, table=run.table.name)


def _finished(session: Session, request: Request) -> Run:
    run = session.run(request)
    if not run.model.exists() or not run.view.exists():
        raise _Refused(409, "This search has no result yet.")
    return run


# ---- requests and answers -----------------------------------------------------------------------------------------


async def _body(request: Request, most: int) -> bytes:
    too_large = _Refused(
        413, f"The file is too large: at most {most // 2**20} MiB are accepted. Use `ceql fit` for it."
    )
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise too_large
        parts.append(part)
    return b"".join(parts)


async def _json(request: Request) -> dict[str, Any]:
    try:
        content = json.loads(await _body(request, _LONGEST_REQUEST))
    except ValueError:
        raise _Refused(400, "The request is not valid JSON.") from None
    if not isinstance(content, dict):
        raise _Refused(400, "The request is not a JSON object.")
    return content


def _file(content: bytes, name: str, kind: str) -> Response:
    plain = "".join(letter if letter.isascii() and letter not in '"\\' else "_" for letter in name)
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{plain}"'})


Answer = Callable[[Session, Request], Awaitable[Response]]


def _endpoint(session: Session, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            return await answer(session, request)
        except _Refused as refused:
            return JSONResponse(refused.content, status_code=refused.status)
        except ContentError as error:
            return JSONResponse({"error": f"The request cannot be used: {error}."}, status_code=422)
        except CeqlError as error:
            return JSONResponse({"error": in_words(error)}, status_code=409)
        except ClientDisconnect:
            return Response(status_code=400)

    return endpoint


_ROUTES: tuple[tuple[str, str, Answer], ...] = (
    ("GET", "/", page),
    ("GET", "/assets/{name}", part),
    ("GET", "/api/about", about),
    ("POST", "/api/tables", upload),
    ("POST", "/api/examples/{name}", take_example),
    ("GET", "/api/tables/{table}", look),
    ("POST", "/api/tables/{table}/layout", read_anew),
    ("GET", "/api/tables/{table}/file", download_table),
    ("POST", "/api/runs", start),
    ("GET", "/api/runs/{run}", state),
    ("POST", "/api/runs/{run}/stop", stop),
    ("POST", "/api/runs/{run}/resume", go_on),
    ("GET", "/api/runs/{run}/events", events),
    ("GET", "/api/runs/{run}/view", view),
    ("GET", "/api/runs/{run}/model", model),
    ("GET", "/api/runs/{run}/report", report),
    ("POST", "/api/runs/{run}/predictions", predictions),
)


def application(session: Session, token: str, port: int) -> Guard:
    """The application that uvicorn serves."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        session.runs.warm_up()
        try:
            yield
        finally:
            await session.runs.close()

    routes = [Route(path, _endpoint(session, answer), methods=[method]) for method, path, answer in _ROUTES]
    return Guard(Starlette(routes=routes, lifespan=lifespan), token, port)
