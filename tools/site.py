"""What the site shows beside docs/: pages from the root of the repository, and the examples with their notebooks.

Documents link to files by their paths in the repository, so that links work there. Here each link is converted to one
within the site; links to files that are not part of the site become plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File
from notebook_pages import as_markdown

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
}
DOWNLOADS = ("LICENSE", "CITATION.cff", "examples/*.py", "examples/notebooks/*.ipynb", "examples/gallery/*.csv")
NOTEBOOKS = "examples/notebooks"

_BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<target>[^)\s]+)\)")


def on_files(files: Any, config: Any) -> Any:
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for path in sorted(path for pattern in DOWNLOADS for path in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name if path.suffix else f"{name}.txt", content=path.read_bytes()))
    for path in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=as_markdown(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    place = page.file.src_uri
    in_repository = {site: source for source, site in PAGES.items()}.get(place, f"docs/{place}")
    if place.startswith("notebooks/"):
        in_repository = f"{NOTEBOOKS}/{posixpath.basename(place)}"

    def turned(link: re.Match[str]) -> str:
        target = _in_site(link["target"], in_repository, place, files)
        return link["text"].strip("[]") if target is None else f"{link['text']}({target})"

    pieces = _BLOCK.split(markdown)
    text = "".join(piece if piece.startswith("```") else _LINK.sub(turned, piece) for piece in pieces)
    if place.startswith("notebooks/"):
        text += f"\n\n[The notebook as a file](../{in_repository.removesuffix('.md')}.ipynb)\n"
    return text


def _in_site(target: str, in_repository: str, place: str, files: Any) -> str | None:
    """The link as used on the site; None if the file is only in the repository."""
    if target.startswith(("https://", "http://", "mailto:", "data:", "#")):
        return target
    name, mark, section = target.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository), name))
    site = _site_path(path)
    if files.get_file_from_path(site) is None:
        return None if (ROOT / path).exists() else target  # mkdocs complains of what is nowhere
    return posixpath.relpath(site, posixpath.dirname(place) or ".") + mark + section


def _site_path(path: str) -> str:
    if path.startswith(NOTEBOOKS) and path.endswith(".ipynb"):
        return f"notebooks/{Path(path).stem}.md"
    if path == "LICENSE":
        return "LICENSE.txt"
    return PAGES.get(path, path.removeprefix("docs/"))
