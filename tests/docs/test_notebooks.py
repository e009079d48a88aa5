"""The notebooks run from top to bottom, and what is stored in them is what they print."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
sys.path.insert(0, str(ROOT / "tools"))

import notebook_pages  # noqa: E402


def printed(outputs):
    return ["".join(output["text"]) for output in outputs if output["output_type"] == "stream"]


def kinds(outputs):
    return [sorted(output.get("data", {"text": None})) for output in outputs]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_what_a_run_gives(path):
    cells = [cell for cell in notebook_pages.read(path)["cells"] if cell["cell_type"] == "code"]
    for cell, fresh in zip(cells, notebook_pages.run(path), strict=True):
        assert printed(cell["outputs"]) == printed(fresh), "".join(cell["source"])
        assert kinds(cell["outputs"]) == kinds(fresh)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_small_and_tells_nothing_of_a_machine(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < 100_000
    assert not re.search(r"/(home|tmp|root|Users)/", text)
    notebook = json.loads(text)
    assert notebook["nbformat"] == 4
    assert [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"] == list(
        range(1, 1 + len(notebook_pages.code_cells(notebook)))
    )


def test_an_error_in_a_cell_is_an_error(tmp_path):
    path = tmp_path / "broken.ipynb"
    cell = {"cell_type": "code", "source": ["1 / 0"], "metadata": {}, "outputs": [], "execution_count": None}
    notebook_pages.write(path, {"cells": [cell]})
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        notebook_pages.run(path)


def test_a_page_shows_text_code_and_outputs(tmp_path):
    path = tmp_path / "page.ipynb"
    cells = [
        {"cell_type": "markdown", "source": ["# Title"], "metadata": {}},
        {
            "cell_type": "code",
            "source": ["print(1)\n", "2 + 3"],
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        },
    ]
    notebook_pages.write(path, {"cells": cells})
    notebook_pages.main([str(path)])
    page = notebook_pages.as_markdown(path)
    assert "# Title" in page
    assert "```python\nprint(1)\n2 + 3\n```\n\n```text\n1\n```\n\n```text\n5\n```" in page
