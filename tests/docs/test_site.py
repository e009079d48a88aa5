"""The site builds without a warning, and its pages ask no other server for anything."""

import functools
import json
import re
import runpy
import subprocess
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = ("mkdocs", "material", "mkdocstrings")
SECONDS = 30  # for a search on a page, where the machine is busy
# What a browser loads by itself; links that a reader may follow are no business of this test.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc="(https?:)?//|<link[^>]*rel="?stylesheet[^>]*https?://"""
)

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED), reason="the site needs pip install 'ceql[docs]'"
)


class Places:
    """Stands in for the files of mkdocs."""

    def __init__(self, *paths: str) -> None:
        self.paths = paths

    def get_file_from_path(self, path: str) -> str | None:
        return path if path in self.paths else None


@pytest.mark.parametrize(
    ("page", "link", "wanted"),
    [
        ("index.md", "[a](docs/tour.md#x)", "[a](tour.md#x)"),
        ("tour.md", "[a](../README.md)", "[a](index.md)"),
        ("tour.md", "[a](../examples/notebooks/lens.ipynb)", "[a](notebooks/lens.md)"),
        ("how-it-works.md", "[`src/ceql`](../src/ceql)", "`src/ceql`"),
        ("tour.md", "[a](nowhere.md)", "[a](nowhere.md)"),
        ("tour.md", "[a](https://b.example/c.md)", "[a](https://b.example/c.md)"),
        ("tour.md", "```text\n[a](../README.md)\n```", "```text\n[a](../README.md)\n```"),
    ],
)
def test_a_link_of_the_repository_becomes_one_of_the_site(page, link, wanted, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    hooks = runpy.run_path(str(ROOT / "tools/site.py"))
    place = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    assert hooks["on_page_markdown"](link, place, None, Places("index.md", "tour.md", "notebooks/lens.md")) == wanted


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        # without --quiet, which would hide the warnings from --strict as well
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return folder


def test_every_document_is_a_page(site):
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"index", "changelog", "contributing"}
    assert pages <= {path.stem for path in site.glob("*.html")}


def test_pages_need_no_network(site):
    assert [path.name for path in site.rglob("*.html") if LOADED.search(path.read_text(encoding="utf-8"))] == []


def test_links_of_the_front_page_lead_into_the_site(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    local = {target.partition("#")[0] for target in re.findall(r'href="([^":]+)"', text)} - {"", "."}
    assert {target for target in local if not (site / target).exists()} == set()
    assert {"how-it-works.html", "examples/pole.py", "LICENSE.txt"} <= local


def test_reference_shows_every_public_name(site):
    import ceql

    text = (site / "api.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'id="ceql\.[\w.]*?(\w+)"', text))
    inner = {"Network", "Recipe", "recipes", "__version__", "operators"}  # for those who read the code
    assert set(ceql.__all__) - inner - shown == set()


def test_the_search_knows_every_page(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    known = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - known <= {"404.html"}


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("cheat sheet", "cheat-sheet.html"),
        ("TemplateExpressionSpec", "coming-from-pysr.html"),
        ("sunflower", "gallery/"),
    ],
)
def test_the_search_finds_a_page(site, chrome, words, page):
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            chrome.get(f"http://127.0.0.1:{server.server_port}/index.html?q={words.replace(' ', '+')}")
            assert found_by_search(chrome, page)
        finally:
            chrome.get("about:blank")
            server.shutdown()
            thread.join()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def found_by_search(chrome, page: str) -> bool:
    """Whether the page is among what the search lists, within some seconds."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        links = chrome.find_elements("css selector", ".md-search-result__link")
        if any(f"/{page}" in (link.get_attribute("href") or "") for link in links):
            return True
        time.sleep(0.1)
    return False
