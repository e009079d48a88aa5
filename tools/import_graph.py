"""Draws which package of ceql imports which: `python tools/import_graph.py docs/images/packages.svg`.

Packages are in the order of the layers, the lowest at the top. Arrows implied by others are left out.
"""

from __future__ import annotations

import argparse
import ast
from html import escape
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "ceql"
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 132, 34, 26, 46, 16


def package_of(module: str) -> str:
    """The first name below ceql: a package, or a module in the root."""
    return module.split(".")[1] if "." in module else ""


def imports(source: Path = SOURCE) -> dict[str, set[str]]:
    """The packages that each package imports, including lazy imports and imports for types."""
    modules = {
        ".".join(("ceql", *path.relative_to(source).with_suffix("").parts)): path for path in source.rglob("*.py")
    }
    known = {package_of(module) for module in modules} - {"__init__"}
    graph: dict[str, set[str]] = {package: set() for package in sorted(known)}
    for module, path in modules.items():
        here = package_of(module)
        if here in graph:
            graph[here] |= {there for there in _imported(path) if there in graph and there != here}
    return graph


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "ceql":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ceql."):
            found.add(package_of(node.module or ""))
        elif isinstance(node, ast.Import):
            found |= {package_of(alias.name) for alias in node.names if alias.name.startswith("ceql.")}
    return found


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """The length of the longest path down from each package; a RecursionError means that there is a cycle."""
    known: dict[str, int] = {}

    def level(package: str) -> int:
        if package not in known:
            known[package] = 1 + max(map(level, graph[package]), default=-1)
        return known[package]

    return {package: level(package) for package in graph}


def without_shortcuts(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without arrows implied by a chain of others."""

    def below(package: str) -> set[str]:
        return {far for near in graph[package] for far in {near, *below(near)}}

    return {
        here: {near for near in direct if not any(near in below(o) for o in direct - {near})}
        for here, direct in graph.items()
    }


def drawing(graph: dict[str, set[str]]) -> str:
    level = levels(graph)
    rows = [sorted(p for p in graph if level[p] == k) for k in range(max(level.values()) + 1)]
    wide = max(map(len, rows)) * (WIDTH + GAP_X) - GAP_X + 2 * MARGIN
    tall = len(rows) * (HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN
    place: dict[str, tuple[float, float]] = {}
    for k, row in enumerate(rows):
        left = (wide - len(row) * (WIDTH + GAP_X) + GAP_X) / 2
        place |= {p: (left + n * (WIDTH + GAP_X), MARGIN + k * (HEIGHT + GAP_Y)) for n, p in enumerate(row)}
    arrows = [
        _arrow(place[near], place[here]) for here, direct in without_shortcuts(graph).items() for near in sorted(direct)
    ]
    boxes = [_box(package, *place[package]) for package in sorted(graph)]
    size = f'viewBox="0 0 {wide:.0f} {tall:.0f}" width="{wide:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="14">'
    tip = '<path d="M0 0 8 4 0 8z" fill="#0072b2"/>'
    marker = (
        f'<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">{tip}'
    )
    paper = f'<rect width="{wide:.0f}" height="{tall:.0f}" fill="#ffffff"/>'
    return "\n".join([head, f"<defs>{marker}</marker></defs>", paper, *arrows, *boxes, "</svg>", ""])


def _box(package: str, x: float, y: float) -> str:
    middle = x + WIDTH / 2
    place = f'x="{x:.1f}" y="{y:.1f}" width="{WIDTH}" height="{HEIGHT}"'
    frame = f'<rect {place} rx="6" fill="#f4f7fa" stroke="#33475b"/>'
    at = f'x="{middle:.1f}" y="{y + HEIGHT / 2 + 5:.1f}" text-anchor="middle"'
    return f'{frame}<text {at} fill="#1b2733">{escape(package)}</text>'


def _arrow(upper: tuple[float, float], lower: tuple[float, float]) -> str:
    """An arrow from the imported package down to the importing one, in the direction of the data."""
    x0, y0 = upper[0] + WIDTH / 2, upper[1] + HEIGHT
    x1, y1 = lower[0] + WIDTH / 2, lower[1]
    bend = max(GAP_Y * 0.7, (y1 - y0) * 0.35)
    path = f"M{x0:.1f} {y0:.1f}C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1 - 2:.1f}"
    return f'<path d="{path}" fill="none" stroke="#0072b2" stroke-opacity="0.75" marker-end="url(#tip)"/>'


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the packages of ceql and who imports whom.")
    parser.add_argument("file", type=Path)
    parser.parse_args().file.write_text(drawing(imports()), encoding="utf-8")


if __name__ == "__main__":
    main()
