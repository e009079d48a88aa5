"""Who is let in, and how much is taken from them."""

from __future__ import annotations

import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest

server = pytest.importorskip("ceql.app.server", reason="needs starlette")


def answer(address: str, path: str = "", method: str = "GET", host: str | None = None, body: object = None):
    """The status, the headers and the text of one request."""
    place = urlsplit(address)
    assert place.hostname is not None
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
    content = json.dumps(body) if body is not None else None
    connection.request(method, path, body=content, headers={"Host": host} if host else {})
    got = connection.getresponse()
    found = got.status, dict(got.getheaders()), got.read().decode()
    connection.close()
    return found


def test_the_page_needs_its_token(address):
    inside = urlsplit(address).path
    assert answer(address, inside)[0] == 200
    for path in ("/", "/wrong/", inside.rstrip("/"), inside[:-2] + "/", "/api/about", f"/x{inside}"):
        status, _, words = answer(address, path)
        assert status == 403, path
        assert "token" not in words
        assert inside.strip("/") not in words


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}", ""]
)
def test_a_name_that_was_bent_to_this_machine_is_refused(address, host):
    place = urlsplit(address)
    status = answer(address, place.path, host=host.format(port=place.port) or "-")[0]
    assert status == 421


def test_localhost_is_this_machine(address):
    place = urlsplit(address)
    assert answer(address, place.path, host=f"localhost:{place.port}")[0] == 200


def test_every_answer_says_what_the_page_may_do(address):
    inside = urlsplit(address).path
    for path in (inside, f"{inside}assets/app.js", f"{inside}api/about", f"{inside}nothing", "/"):
        _, headers, _ = answer(address, path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("name", ["../server.py", "..%2f..%2ffiles.py", "dom.py", ""])
def test_no_other_file_is_served(address, name):
    assert answer(address, f"{urlsplit(address).path}assets/{name}")[0] == 404


def test_a_table_that_is_too_large_is_refused_before_it_is_sent(address):
    place = urlsplit(address)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as line:
        lines = f"POST {place.path}api/tables?name=a.csv HTTP/1.1", f"Host: {place.netloc}"
        line.sendall("\r\n".join([*lines, f"Content-Length: {server.LARGEST + 1}", "", ""]).encode())
        assert b" 413 " in line.recv(4096).split(b"\r\n")[0]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (None, "is not a table"),
        ({"target": 3}, "'max_complexity' is missing"),
        ({"max_complexity": None, "target": 3}, "'target' is 3 and no text"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(address, wish, words):
    inside = urlsplit(address).path
    table = json.loads(answer(address, f"{inside}api/examples/enzyme.csv", "POST")[2])["id"]
    status, _, text = answer(address, f"{inside}api/runs", "POST", body={"table": table, "wish": wish})
    assert status == 422
    assert words in json.loads(text)["error"]


def test_what_is_not_there_is_said(address):
    inside = urlsplit(address).path
    for path in ("api/runs/r99", "api/runs/r99/view", "api/tables/t99"):
        status, _, text = answer(address, inside + path)
        assert status == 404
        assert "no longer part of the session" in json.loads(text)["error"]
