"""`ceql app` as a user starts it, and a browser that looks at it."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

PATIENCE = 180.0  # seconds, for a machine that is busy with other tests


def wait_for(what: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """The first value that is something; a failure where none comes."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if value := what():
            return value
        time.sleep(0.05)
    return pytest.fail(f"nothing came of {inspect.getsource(what).strip()} in {patience:g} s")


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Of a server in a process of its own, which is ended as Ctrl-C ends it."""
    pytest.importorskip("starlette", reason="starlette is not installed: pip install 'ceql[app]'")
    pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install 'ceql[app]'")
    command = [sys.executable, "-c", "from ceql.__main__ import main; main()", "app", "--no-browser"]
    settings = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=settings) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1]
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(PATIENCE)


class Page:
    """What a user does on the page and sees of it."""

    def __init__(self, chrome: Any, address: str) -> None:
        self.chrome, self.address = chrome, address

    def wait(self, what: Callable[[], Any]) -> Any:
        return wait_for(what)

    def open(self, where: str = "") -> None:
        self.chrome.get("about:blank")
        self.chrome.get(f"{self.address}{where}")
        wait_for(lambda: self.all(".drop"))

    def all(self, selector: str) -> list[Any]:
        return self.chrome.find_elements("css selector", selector)

    def text(self, selector: str) -> str:
        """What stands in the first such element; nothing where there is none."""
        script = "const e = document.querySelector(arguments[0]); return e ? e.innerText : ''"
        return self.chrome.execute_script(script, selector)

    def click(self, selector: str) -> None:
        wait_for(lambda: [one for one in self.all(selector) if one.is_displayed()])
        self.chrome.execute_script("document.querySelector(arguments[0]).click()", selector)

    def choose_file(self, path: Path) -> None:
        self.all("#file")[0].send_keys(str(path))

    def drop(self, name: str, content: str) -> None:
        """A file dragged onto the page."""
        script = """const given = new DataTransfer();
        given.items.add(new File([arguments[1]], arguments[0]));
        document.querySelector(".drop").dispatchEvent(
          new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));"""
        self.chrome.execute_script(script, name, content)

    def table(self, name: str) -> None:
        wait_for(lambda: name in self.text("#columns h2"))

    def set(self, selector: str, value: object) -> None:
        script = """const box = document.querySelector(arguments[0]);
        box.value = arguments[1];
        box.dispatchEvent(new Event("input"));"""
        self.chrome.execute_script(script, selector, value)

    def start(self) -> None:
        self.click("#start")

    @property
    def status(self) -> str:
        return self.text("#status")

    def result(self) -> None:
        """Waits until the search has ended with something to see."""
        wait_for(lambda: self.all("#result:not([hidden]) .details"))

    def complaints(self) -> list[str]:
        """What the browser has to say about scripts, policies and requests since it was last asked."""
        return [entry["message"] for entry in self.chrome.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture
def page(chrome: Any, address: str) -> Iterator[Page]:
    shown = Page(chrome, address)
    shown.complaints()
    shown.open()
    yield shown
    assert shown.complaints() == []


@pytest.fixture(scope="session")
def lens() -> str:
    """Exact, as a file."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"distance": rng.uniform(4, 8, 80), "focal": rng.uniform(2, 3.5, 80)}).round(3)
    table["image"] = table["distance"] * table["focal"] / (table["distance"] - table["focal"])
    return table.to_csv(index=False)


@pytest.fixture(scope="session")
def lenses() -> str:
    """Three of them in one table, with a little noise."""
    rng = np.random.default_rng(0)
    focal = np.repeat([2.0, 3.0, 5.0], 12)
    p = rng.uniform(1.5, 4.0, 36) * focal
    q = focal * p / (p - focal) * (1.0 + 0.002 * rng.standard_normal(36))
    return pd.DataFrame({"lens": np.repeat(["A", "B", "C"], 12), "p": p.round(3), "q": q.round(3)}).to_csv(index=False)


@pytest.fixture(scope="session")
def noise() -> str:
    """Nothing that a search could find soon."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.uniform(1, 2, (100, 2)), columns=["a", "b"])
    table["y"] = np.sin(5 * table["a"] * table["b"]) * np.exp(table["b"]) + 0.3 * rng.standard_normal(100)
    return table.to_csv(index=False)
