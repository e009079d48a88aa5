"""Runs notebooks without Jupyter, stores their outputs and shows them as Markdown.

python tools/notebook_pages.py examples/notebooks/*.ipynb    # runs them and stores what they print and draw

Each notebook runs in its own Python process. A cell shows what it prints, the text of its last expression and the
figures that it leaves open.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]
SECONDS = 120
_BEGIN = "from cell_outputs import end_cell, finish, show"


def read(path: Path) -> Notebook:
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(notebook: Notebook) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(path: Path) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell, from a fresh process in an empty folder. An error in a cell is raised here too."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "cells.py"
        script.write_text(_as_script(code_cells(read(path))), encoding="utf-8")
        known = os.pathsep.join(filter(None, [str(Path(__file__).parent.resolve()), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": known, "MPLBACKEND": "agg"}
        command = [sys.executable, "-W", "error", script.name]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise RuntimeError(f"{path.name}: {done.stderr}")
    return json.loads(done.stdout)


def _as_script(cells: list[str]) -> str:
    """One program of all cells, which shows the last expression of each."""
    lines = [_BEGIN]
    for source in cells:
        body = ast.parse(source).body
        if body and isinstance(body[-1], ast.Expr):
            body[-1].value = ast.Call(ast.Name("show"), [body[-1].value], [])
        lines += [ast.unparse(ast.fix_missing_locations(ast.Module(body, []))), "end_cell()"]
    return "\n".join([*lines, "finish()", ""])


def with_outputs(notebook: Notebook, outputs: list[list[dict[str, Any]]]) -> Notebook:
    fresh = iter(enumerate(outputs, start=1))
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number, results = next(fresh)
            numbered = [
                {**r, "execution_count": number} if r["output_type"] == "execute_result" else r for r in results
            ]
            cell = {**cell, "execution_count": number, "outputs": numbered}
        cells.append(cell)
    return {**notebook, "cells": cells}


def write(path: Path, notebook: Notebook) -> None:
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def as_markdown(path: Path) -> str:
    """The notebook as a page, with its stored outputs."""
    parts = []
    for cell in read(path)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    return "\n\n".join(parts)


def _shown(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "image/png" in data:
        return f"![A figure](data:image/png;base64,{''.join(data['image/png'])})"
    return f"```text\n{''.join(data['text/plain'])}\n```"


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        write(path, with_outputs(read(path), run(path)))


if __name__ == "__main__":
    main(sys.argv[1:])
