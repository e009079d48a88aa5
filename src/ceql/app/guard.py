"""Restricts access to the page to requests from this machine that know its address, and what the page may do."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

# Only our own scripts and styles, no requests to other sites, no text that becomes markup.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_NO_TOKEN = "Open this page with the complete address that `ceql app` printed, including its last part.\n"
_OTHER_HOST = "This page can only be reached as 127.0.0.1 or localhost.\n"


class Guard:
    """Admits requests whose path begins with the token and whose Host is this machine, and adds security headers.

    The application sees paths without the token. Another site that is open in the browser does not know the token, and
    a foreign domain that resolves to this machine is not among the hosts.
    """

    def __init__(self, application: Application, token: str, port: int) -> None:
        self._application, self._token = application, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
        token, slash, rest = scope["path"].removeprefix("/").partition("/")
        if host not in self._hosts:
            await _refuse(send, 421, _OTHER_HOST)
        elif not slash or not hmac.compare_digest(token.encode(), self._token.encode()):
            await _refuse(send, 403, _NO_TOKEN)
        else:
            inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}
            await self._application(inner, receive, _with_headers(send))


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *own]}
        await send(message)

    return sent


async def _refuse(send: Send, status: int, words: str) -> None:
    send = _with_headers(send)
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": words.encode()})
