"""Makes the pictures of docs/app.md: `ceql app` with a noisy lens, before, during and after the search.

python tools/app_pictures.py docs/images
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import browser
from report_pictures import lens, shrink

_START = "from ceql.__main__ import main; main()"
_WIDTHS = {"desktop": (1200, 1500), "tablet": (768, 1500), "phone": (390, 1500)}
TICK = "[...document.querySelectorAll('.operators label')].find((e) => e.textContent === arguments[0]).click()"
_PATIENCE = 120.0  # seconds


@contextmanager
def served() -> Iterator[str]:
    """Starts a server and yields its address."""
    command = [sys.executable, "-c", _START, "app", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1]
        finally:
            server.send_signal(signal.SIGINT)


def until(what: Callable[[], Any]) -> None:
    end = time.monotonic() + _PATIENCE
    while not what():
        if time.monotonic() > end:
            raise TimeoutError("the page did not get that far")
        time.sleep(0.1)


def take(chrome: Any, folder: Path, name: str, width: int, height: int, top: str) -> None:
    """A picture of the page with this element at the top."""
    browser.resize(chrome, width, height)
    time.sleep(0.5)  # the charts are drawn again
    chrome.execute_script("document.querySelector(arguments[0]).scrollIntoView()", top)
    time.sleep(0.3)
    browser.screenshot(chrome, folder / f"app-{name}.png")
    shrink(folder / f"app-{name}.png")


def main(folder: Path) -> None:
    table, image = lens()
    with tempfile.TemporaryDirectory() as own, served() as address, browser.driven() as chrome:
        path = Path(own) / "lens.csv"
        table.assign(image=image).to_csv(path, index=False)
        browser.resize(chrome, 1200, 900)
        chrome.get(address)
        until(lambda: chrome.find_elements("css selector", "#file"))
        chrome.find_element("css selector", "#file").send_keys(str(path))
        until(lambda: chrome.find_elements("css selector", "#start"))
        take(chrome, folder, "table", 1000, 720, ".bar")
        for name in ("mul", "div"):
            chrome.execute_script(TICK, name)
        chrome.execute_script("document.querySelector('#start').click()")
        until(lambda: chrome.find_elements("css selector", ".glimpses li"))  # a quick search may have a single one
        take(chrome, folder, "live", 1000, 860, "#search")
        until(lambda: chrome.find_elements("css selector", "#result:not([hidden]) .details"))
        for name, (width, height) in _WIDTHS.items():
            take(chrome, folder, name, width, height, "#search")
        browser.prefer(chrome, "dark")
        chrome.execute_script("document.querySelector('tr[data-row=\"2\"] input').click()")
        take(chrome, folder, "two-rows", 1200, 1500, ".panes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
