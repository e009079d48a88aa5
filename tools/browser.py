"""A headless browser: pictures of a page at any width, and elements that are wider than the page."""

from __future__ import annotations

import base64
import html
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
# The window of a headless browser has a minimum width, a frame inside it does not.
_WRAPPER = """<!DOCTYPE html><html><body style="margin:0">
<iframe id="page" style="border:0;display:block;width:{width}px;height:{height}px" srcdoc="{page}"></iframe>
<p id="result"></p><script>
document.getElementById("page").onload = function () {{
  const root = this.contentDocument.documentElement, inner = this.contentWindow.innerWidth;
  const wide = [...root.querySelectorAll("body *")].filter(e => {{
    for (let p = e.parentElement; p; p = p.parentElement)
      if (getComputedStyle(p).overflowX !== "visible" && p !== root && p.tagName !== "BODY") return false;
    return e.getBoundingClientRect().right > inner + 0.5;
  }});
  const names = wide.map(e => e.tagName + "." + (e.getAttribute("class") || "")).join(" ");
  document.getElementById("result").textContent =
    [inner, root.scrollWidth, root.scrollHeight, names].join("|");
}};
</script></body></html>"""


def _run(page: str, width: int, height: int, *arguments: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        wrapper = Path(folder) / "wrapper.html"
        wrapper.write_text(_WRAPPER.format(page=html.escape(page), width=width, height=height), encoding="utf-8")
        command = [str(CHROMIUM), *_FLAGS, f"--user-data-dir={folder}/profile", *arguments, wrapper.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout


def measured(page: str, width: int) -> tuple[int, int, int, str]:
    """The inner width, the width and height of the content, and the elements that stick out."""
    dom = _run(page, width, 2000, "--dump-dom")
    found = re.search(r'<p id="result">(\d+)\|(\d+)\|(\d+)\|(.*?)</p>', dom)
    assert found, dom[-500:]
    return int(found[1]), int(found[2]), int(found[3]), found[4]


def picture(page: str, width: int, path: Path, dark: bool = False) -> None:
    height = measured(page, width)[2]
    window = max(width, 500)
    scheme = ("--blink-settings=preferredColorScheme=0",) if dark else ()
    _run(page, width, height, f"--window-size={window},{height}", f"--screenshot={path}", *scheme)


@contextmanager
def driven(downloads: Path | None = None) -> Iterator[Any]:
    """A browser controlled by selenium that can reach only this machine."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    # Host names are not resolved, so that requests to other machines fail and are noticed.
    for flag in (*_FLAGS, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=1200,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options.add_argument(f"--user-data-dir={folder}/profile")
        chrome = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
        try:
            if downloads is not None:
                place = {"behavior": "allow", "downloadPath": str(downloads)}
                chrome.execute_cdp_cmd("Browser.setDownloadBehavior", place)
            yield chrome
        finally:
            chrome.quit()


def resize(chrome: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def prefer(chrome: Any, scheme: str) -> None:
    """Sets the preferred colour scheme: light or dark."""
    wish = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)


def screenshot(chrome: Any, path: Path) -> None:
    taken = chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    path.write_bytes(base64.b64decode(taken["data"]))
