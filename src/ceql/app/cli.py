"""The command `ceql app`."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from ceql.errors import InputError, missing_extra, why_unreadable

_TOKEN_BYTES = 24
_SECONDS_TO_END = 1  # grace period for browsers that still follow a search


@click.command()
@click.argument("table", type=click.Path(path_type=Path), required=False)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port to use on this machine. [default: a free one]"
)
@click.option("--no-browser", is_flag=True, help="Print the address and do not open a browser.")
def app(table: Path | None, port: int, no_browser: bool) -> None:
    """Open a page in the browser: drop a table, watch the front grow, pick a formula.

    The page is served on this machine and can be reached only from it; your data never leave it. Tables and searches
    are kept until the command ends (Ctrl-C): export what you want to keep.

    \b
    Examples:
      ceql app
      ceql app lens.csv
      ceql app --port 8765 --no-browser
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # handled like Ctrl-C, so that everything is cleaned up
    serve(table, port, click.echo, None if no_browser else _open)


def serve(
    table: Path | None, port: int, say: Callable[[str], None], show: Callable[[str, Path], None] | None = None
) -> None:
    """Serves the page until it is interrupted; `show` is called with its address and a folder that is private to the
    user.
    """
    try:
        import uvicorn
        from starlette.applications import Starlette  # noqa: F401
    except ImportError:
        raise missing_extra("starlette and uvicorn", "app", "The page") from None
    from ceql.app.server import Session, application

    listening = _bound(port)
    folder = Path(tempfile.mkdtemp(prefix="ceql-app-"))
    try:
        own, token = listening.getsockname()[1], secrets.token_urlsafe(_TOKEN_BYTES)
        session, address = Session(folder), f"http://127.0.0.1:{own}/{token}/"
        if table is not None:
            address += f"#table={session.hold(table.name, _content(table)).id}"
        say(f"ceql is at {address}")
        say("Press Ctrl-C to end it.")
        if show is not None:
            show(address, folder)
        config = uvicorn.Config(
            application(session, token, own),
            log_level="warning",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=_SECONDS_TO_END,
        )
        with suppress(KeyboardInterrupt):  # the usual way to end it
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
        shutil.rmtree(folder, ignore_errors=True)


def _bound(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen()  # requests that arrive before the server is ready wait
    except OSError as error:
        listening.close()
        raise InputError(f"Port {port} cannot be used: {error.strerror}. Choose another with --port.") from error
    return listening


def _content(table: Path) -> bytes:
    try:
        return table.read_bytes()
    except OSError as error:
        raise InputError(why_unreadable(table, error)) from error


def _open(address: str, folder: Path) -> None:
    """Opens the address in a browser through a file, since all users of a machine can read command-line arguments."""
    page = folder / "open.html"
    page.write_text(f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={address}">', encoding="utf-8")
    webbrowser.open(page.as_uri())
