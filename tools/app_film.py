"""Makes the film of docs/app.md: a table is dropped on the page of `ceql app`, which finds a formula.

    python tools/app_film.py docs/images/app.webp

It shows a real search in a real browser and needs Chromium and its driver. A headless browser has no pointer, so one is
drawn into the frames where the next click goes.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pandas as pd
from app_pictures import TICK, served, until
from PIL import Image, ImageDraw

Place = tuple[float, float]


@dataclass(frozen=True)
class Style:
    """The look of the film and how long its frames stay."""

    size: tuple[int, int] = (960, 700)  # size of the page, in CSS pixels
    shown: tuple[int, int] = (800, 583)  # size of the frames
    quality: int = 55  # quality of their compression, from 0 to 100
    look: int = 1600  # milliseconds for something to read
    glance: int = 700  # for something to notice
    step: int = 60  # for a picture of a movement
    growth: float = 0.35  # seconds between two pictures of the search as it runs
    moves: int = 6  # pictures of one movement


class Film:
    """Frames, each with its duration in milliseconds."""

    def __init__(self, chrome: Any, style: Style) -> None:
        self.chrome, self.style, self.pictures = chrome, style, list[Image.Image]()
        self.stays: list[int] = []
        self.pointer: Place = (style.size[0] * 0.5, style.size[1] * 0.8)

    def take(self, milliseconds: int) -> None:
        taken = self.chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
        picture = Image.open(io.BytesIO(base64.b64decode(taken))).convert("RGB")
        draw_pointer(picture, self.pointer)
        self.pictures.append(picture.resize(self.style.shown, Image.Resampling.LANCZOS))
        self.stays.append(milliseconds)

    def show(self, selector: str, share: float = 0.1) -> None:
        """Scrolls until the element is this share of the height below the top."""
        script = """const top = document.querySelector(arguments[0]).getBoundingClientRect().top;
        return [scrollY, Math.max(0, scrollY + top - arguments[1] * innerHeight)];"""
        start, end = self.chrome.execute_script(script, selector, share)
        if abs(end - start) < 2:
            return
        for k in range(1, self.style.moves + 1):
            self.chrome.execute_script("scrollTo(0, arguments[0])", start + (end - start) * k / self.style.moves)
            self.take(self.style.step)

    def place(self, selector: str) -> Place:
        """Where the middle of the element is now."""
        script = """const box = document.querySelector(arguments[0]).getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2];"""
        return tuple(self.chrome.execute_script(script, selector))

    def point(self, selector: str) -> None:
        """Moves the pointer to the element."""
        start, end = self.pointer, self.place(selector)
        for k in range(1, self.style.moves + 1):
            share = k / self.style.moves
            self.pointer = (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
            self.take(self.style.step)

    def press(self, selector: str) -> None:
        self.point(selector)
        self.chrome.execute_script("document.querySelector(arguments[0]).click()", selector)

    def save(self, path: Path) -> None:
        first, *others = self.pictures
        first.save(
            path, save_all=True, append_images=others, duration=self.stays, loop=0, quality=self.style.quality, method=6
        )


def lens() -> pd.DataFrame:
    """A table of image distances of a lens, with a little noise; the focal length to be found is 3.2."""
    rng = np.random.default_rng(0)
    distance = np.concatenate([rng.uniform(1, 2.8, 40), rng.uniform(3.6, 9, 60)]).round(2)
    image = 3.2 * distance / (distance - 3.2) + 0.05 * rng.standard_normal(100)
    temperature = rng.uniform(18, 24, 100)
    return pd.DataFrame({"distance": distance, "temperature": temperature.round(1), "image": image.round(3)})


def draw_pointer(picture: Image.Image, place: Place) -> None:
    x, y = place
    arrow = [(0, 0), (0, 19), (5, 15), (8, 22), (11, 21), (8, 14), (14, 14)]
    ImageDraw.Draw(picture).polygon([(x + a, y + b) for a, b in arrow], fill="black", outline="white")


def the_search(film: Film) -> None:
    """Films the search from the click on the button to the end."""
    film.show("#start", 0.8)
    film.press("#start")
    end = time.monotonic() + 120
    while not film.chrome.find_elements("css selector", "#result:not([hidden]) .details"):
        if time.monotonic() > end:
            raise TimeoutError("the search did not end")
        film.take(round(1000 * film.style.growth))
        time.sleep(film.style.growth)
    time.sleep(0.3)  # the charts are drawn
    film.show("#search", 0.02)
    film.take(film.style.look)


def the_result(film: Film) -> None:
    """Films the result: the chosen row, a changed constant, and another row beside it."""
    film.show(".details h3", 0.05)
    film.take(film.style.look)
    film.show("table.constants", 0.12)
    film.take(film.style.glance)
    script = """const slider = document.querySelector("table.constants input[type=range]");
    const { min, max, value } = slider; slider.value = Number(value) + arguments[0] * (max - min);
    slider.dispatchEvent(new Event("input"));"""
    film.point("table.constants input[type=range]")
    for change in (0.03, 0.04, 0.05, 0.05, -0.05, -0.05, -0.04, -0.03):
        film.chrome.execute_script(script, change)
        time.sleep(0.1)
        film.take(3 * film.style.step)
    film.take(film.style.glance)
    film.show(".details .charts > :last-child", 0.1)
    film.take(film.style.look)
    film.show("table.front", 0.1)
    beside = "table.front tr[data-row='2'] input"
    film.press(beside)
    time.sleep(0.3)
    film.pointer = film.place(beside)  # the page has moved below it
    film.take(film.style.glance)
    film.show(".panes", 0.05)
    film.take(2 * film.style.look)


def main(path: Path, style: Style | None = None) -> None:
    style = style or Style()
    with tempfile.TemporaryDirectory() as own, served() as address, browser.driven() as chrome:
        file = Path(own) / "lens.csv"
        lens().to_csv(file, index=False)
        browser.resize(chrome, *style.size)
        chrome.get(address)
        until(lambda: chrome.find_elements("css selector", "#file"))
        film = Film(chrome, style)
        film.take(style.look)
        film.point(".drop")
        chrome.find_element("css selector", "#file").send_keys(str(file))
        until(lambda: chrome.find_elements("css selector", "#start"))
        film.take(style.look)
        for name in ("mul", "div"):
            chrome.execute_script(TICK, name)
        the_search(film)
        the_result(film)
    film.save(path)
    seconds = sum(film.stays) / 1000
    sys.stdout.write(f"{path}: {len(film.stays)} pictures, {seconds:.1f} s, {path.stat().st_size / 1e6:.2f} MB\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
