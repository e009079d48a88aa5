"""Runs the README's first example with the ceql that this Python has installed: `python tools/try_installed.py`.

Its output must match the comments in the example. Nothing else of the checkout is needed, so a wheel can be tested in
an environment that contains only the wheel.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMISE = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)
_WHERE = "import ceql._core as core; print(core.__file__, ', '.join(core.instruction_sets()))"


def first_example(document: str) -> tuple[str, list[str]]:
    """The code, and the lines that it should print."""
    code = _BLOCK.findall(document)[0]
    return code, _PROMISE.findall(code)


def printed(code: str) -> list[str]:
    """The output of the code, run by an interpreter that sees neither the checkout nor the user's own packages."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-I", "-c", code]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> None:
    code, promised = first_example(README.read_text(encoding="utf-8"))
    print(sys.version.split()[0], sys.platform, *printed(_WHERE))
    lines = printed(code)
    print(*lines, sep="\n")
    if not promised or lines != promised:
        sys.exit(f"The README promises other lines:\n{chr(10).join(promised)}")


if __name__ == "__main__":
    main()
