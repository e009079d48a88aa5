"""Makes the pictures of docs/report.md: a synthetic lens, its four plots and its report at three widths.

python tools/report_pictures.py docs/images
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pandas as pd
from PIL import Image

from ceql import CEQLRegressor

_COLOURS = 256  # in a picture; most of it is white
_HEIGHT = 1750  # in pixels, of the part of the report that is shown


def lens() -> tuple[Any, Any]:
    """The position of the image of an object for several lenses, measured with a little noise."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"distance": rng.uniform(1, 8, 300), "focal": rng.uniform(2, 4, 300)})
    table = table[(table["distance"] - table["focal"]).abs() > 0.3]
    image = table["distance"] * table["focal"] / (table["distance"] - table["focal"])
    return table, image + 0.05 * rng.standard_normal(len(table))


def shrink(path: Path) -> None:
    picture = Image.open(path).convert("RGB")
    picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main(folder: Path) -> None:
    table, image = lens()
    model = CEQLRegressor(operators=["mul", "div"], time_limit=20).fit(table, image)
    for name in ("fit", "pareto", "poles", "network"):
        path = folder / f"plot-{name}.png"
        options = {"target": "image"} if name in ("fit", "network") else {}
        getattr(model, f"plot_{name}")(**options).figure.savefig(path, dpi=90)
        shrink(path)
    model.report(folder / "report.html", target="image", table="lens.csv")
    with browser.driven() as chrome:
        for name, width in (("desktop", 1100), ("tablet", 768), ("phone", 375)):
            path = folder / f"report-{name}.png"
            browser.resize(chrome, width, _HEIGHT)
            chrome.get((folder / "report.html").resolve().as_uri())
            time.sleep(0.5)  # its charts are drawn after the layout
            browser.screenshot(chrome, path)
            shrink(path)
    (folder / "report.html").unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
