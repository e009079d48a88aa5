"""The documents tell the truth: their Python runs and prints what they say, and their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITH_CODE = (
    "README.md",
    "docs/api.md",
    "docs/catalogue.md",
    "docs/coming-from-pysr.md",
    "docs/constraints.md",
    "docs/dynamics.md",
    "docs/groups.md",
    "docs/noisy-data.md",
    "docs/operators.md",
    "docs/poles.md",
    "docs/relations.md",
    "docs/report.md",
    "docs/scikit-learn.md",
    "docs/templates.md",
    "docs/tour.md",
    "docs/units.md",
)
DOCUMENTS = sorted(str(path.relative_to(ROOT)) for folder in (ROOT, ROOT / "docs") for path in folder.glob("*.md"))
SECONDS = 180

PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
# A line such as `print(model.sympy())  # x1 + 1` says what it prints.
PROMISE = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)


@pytest.mark.parametrize("document", WITH_CODE)
def test_code_runs_and_prints_what_it_says(document, tmp_path):
    code = "\n".join(PYTHON_BLOCK.findall(_text(document)))
    assert code, f"{document} has no Python in it"
    script = tmp_path / "blocks.py"
    script.write_text(code, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS
    )
    assert run.returncode == 0, run.stderr
    printed = run.stdout.splitlines()
    for promise in PROMISE.findall(code):
        assert promise in printed, f"{document} promises {promise!r}; printed was:\n{run.stdout}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    for target in LINK.findall(ANY_BLOCK.sub("", _text(document))):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, section = target.partition("#")
        path = (ROOT / document).parent / name if name else ROOT / document
        assert path.exists(), f"{document} links to {target}, which does not exist"
        if section:
            assert section in _sections(path.read_text(encoding="utf-8")), f"{document}: no section {target}"


@pytest.mark.parametrize("picture", sorted(path.name for path in (ROOT / "docs/images").glob("*.png")))
def test_picture_is_small(picture):
    assert (ROOT / "docs/images" / picture).stat().st_size < 150_000


def _text(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def _sections(text: str) -> set[str]:
    """The anchors that a Markdown renderer makes of the headings."""
    headings = HEADING.findall(ANY_BLOCK.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
