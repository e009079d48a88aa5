"""The page of the catalogue lists the laws that there are."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
REMEDY = "run: python tools/catalogue_page.py docs/catalogue.md"


def test_the_page_is_up_to_date():
    page = runpy.run_path(str(ROOT / "tools/catalogue_page.py"))["page"]
    text = (ROOT / "docs/catalogue.md").read_text(encoding="utf-8")
    assert page(text) == text, REMEDY
