"""Fits the tables and time series of examples/gallery on the command line and writes a page with a picture about each.

    python tools/gallery.py                  # all pages, into docs/gallery
    python tools/gallery.py boyle planets    # some of them, and the index

A page shows what the command printed. Times are left out, so that a page changes only when its formulas do.
"""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLES, PAGES = ROOT / "examples" / "gallery", ROOT / "docs" / "gallery"
SECONDS = 30  # the time limit of each search
_CEQL = "import sys; from ceql.__main__ import main; sys.argv[0] = 'ceql'; main()"
_TIME = re.compile(r" \(\d+\.\d+ s\)$|\n+Found in [\d.]+ s\.$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A table, what it is about and what to look for in the answer; `law` is the named law that should be found. A
    table that is `made` is synthetic. One with `states` is a time series: its first column is the time."""

    table: str
    title: str
    field: str
    about: str
    look: str
    origin: str
    law: str = ""
    made: bool = False
    states: list[str] = dataclasses.field(default_factory=list)

    @property
    def path(self) -> Path:
        return TABLES / f"{self.table}.csv"

    @property
    def columns(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").splitlines()[0].split(",")

    @property
    def command(self) -> list[str]:
        if self.states:
            return ["ceql", "ode", self.path.name, "--time", self.columns[0], "--state", ",".join(self.states)]
        return ["ceql", "fit", self.path.name, "--target", self.columns[-1]]


def examples() -> list[Example]:
    content = tomllib.loads((TABLES / "gallery.toml").read_text(encoding="utf-8"))
    return [Example(**entry) for entry in content["example"]]


def fitted(example: Example, folder: Path) -> tuple[str, Path]:
    """What the command prints for the table, and the model that it saves."""
    model = folder / f"{example.table}.ceql"
    options = ["--time-limit", str(SECONDS), "--save", str(model)]
    program = [sys.executable, "-c", _CEQL, *example.command[1:], *options]
    done = subprocess.run(program, cwd=TABLES, capture_output=True, text=True, check=True)
    return _TIME.sub("", done.stdout).rstrip(), model


def draw(model: Path, picture: Path) -> None:
    """Draws data and formula as a small picture."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    import ceql

    loaded = ceql.load(model)
    if hasattr(loaded, "plot_trajectories"):
        figure = loaded.plot_trajectories()
        figure.set_size_inches(6.4, 1.2 + 2.0 * len(loaded.system_.states))
    else:
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        loaded.plot_fit(axes)
    figure.savefig(picture, dpi=80)
    plt.close(figure)


def page(example: Example, printed: str) -> str:
    rows = example.path.read_text(encoding="utf-8").strip().splitlines()
    shown = rows if len(rows) <= 9 else [*rows[:6], f"... {len(rows) - 6} more rows"]
    command = " ".join(example.command)
    formula = "; ".join(printed.splitlines()[: max(1, len(example.states))])
    return "\n".join(
        [
            f"# {example.title}",
            "",
            f"{example.about} Source: {example.origin}.",
            "",
            f"![Data and formula: {example.title}]({example.table}.png)",
            "",
            f"`{formula}`",
            "",
            example.look,
            "",
            f"The table is [`{example.path.name}`](../../examples/gallery/{example.path.name}):",
            "",
            "```text",
            *shown,
            "```",
            "",
            "```console",
            f"$ {command}",
            printed,
            "```",
            "",
        ]
    )


def index(all_examples: list[Example]) -> str:
    """Every example with the formula at the top of its page."""
    made = sum(example.made for example in all_examples)
    intro = (
        f"{len(all_examples) - made} measured tables and {made} synthetic {'one' if made == 1 else 'ones'} with a "
        "known formula, and what `ceql fit` prints for each with no option but the target (`ceql ode` for time "
        "series). Each page shows the complete output, including the alternatives with their weights; if the rows "
        "cannot decide between formulas, then that is the answer. `python tools/gallery.py` makes the pages again."
    )
    lines = [
        "# Gallery",
        "",
        *textwrap.wrap(intro, 120),
        "",
        "| table | field | formula |",
        "|---|---|---|",
    ]
    for example in all_examples:
        text = (PAGES / f"{example.table}.md").read_text(encoding="utf-8")
        formula = re.search(r"^`(.+)`$", text, re.MULTILINE)
        assert formula is not None, example.table
        lines.append(f"| [{example.title}]({example.table}.md) | {example.field} | `{formula[1]}` |")
    return "\n".join([*lines, ""])


def main(names: list[str]) -> None:
    PAGES.mkdir(exist_ok=True)
    every = examples()
    with tempfile.TemporaryDirectory() as folder:
        for example in every:
            if not names or example.table in names:
                printed, model = fitted(example, Path(folder))
                draw(model, PAGES / f"{example.table}.png")
                (PAGES / f"{example.table}.md").write_text(page(example, printed), encoding="utf-8")
                sys.stdout.write(f"{example.table}: {printed.splitlines()[0]}\n")
                sys.stdout.flush()
    (PAGES / "index.md").write_text(index(every), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
