"""Runs a newcomer's first hour with ceql for real, in an empty folder, and writes a transcript.

python tools/newcomer_hour.py docs/newcomer.md

If a command ends or prints something other than it should, the script stops with an error. It needs a C compiler, `cc`.
Times are left out, so that the transcript is the same every time.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120
WIDTH = 120
_CEQL = "import sys; from ceql.__main__ import main; sys.argv[0] = 'ceql'; main()"
_PROGRAMS = {"ceql": [sys.executable, "-c", _CEQL], "python": [sys.executable, "-W", "error"]}
_CONSOLE = "```console"
_TIMES = re.compile(r"\b\d+\.\d+ s\b")


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Write:
    """A file that the newcomer creates."""

    name: str
    content: str

    @property
    def language(self) -> str:
        return {".py": "python", ".c": "c"}.get(Path(self.name).suffix, "text")


@dataclass(frozen=True)
class Run:
    """A command, its expected exit code, and text that its output must contain."""

    command: str
    shows: str = ""
    code: int = 0


MEASURE = """import csv
import random

random.seed(7)
with open("siren.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["speed", "pitch", "heard"])
    for _ in range(80):
        speed, pitch = round(random.uniform(-250, 600), 1), round(random.uniform(200, 900), 1)
        table.writerow([speed, pitch, pitch * 343 / (343 - speed)])

with open("new.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["speed", "pitch"])
    table.writerows([[0, 440], [30, 440], [-30, 440], [300.5, 700], [590, 250]])
"""

MAIN = """#include <stdio.h>

double heard(double speed, double pitch);

int main(void)
{
    double speed, pitch;
    while (scanf("%lf,%lf", &speed, &pitch) == 2)
        printf("%.17g\\n", heard(speed, pitch));
    return 0;
}
"""

COMPARE = """import csv
import subprocess

with open("new.csv") as file:
    rows = file.read().split("\\n", 1)[1]
with open("predicted.csv") as file:
    predicted = [float(row["heard"]) for row in csv.DictReader(file)]
from_c = [float(line) for line in subprocess.run("./siren", input=rows, capture_output=True, text=True).stdout.split()]

assert len(from_c) == len(predicted) == 5
difference = max(abs(a - b) / abs(b) for a, b in zip(from_c, predicted))
print("at most 1e-12 apart:", difference <= 1e-12)
"""

USE = """import ceql

model = ceql.load("siren.ceql")
print(model.sympy())
print(model.predict([[0, 440], [30, 440]]).round(6))
"""

STEPS: tuple[Say | Write | Run, ...] = (
    Say(
        "# A newcomer's hour\n\nA first session with `ceql`. Every command below was run, and what it printed is shown "
        "under it; only times are left out. `python tools/newcomer_hour.py docs/newcomer.md` runs the session again."
    ),
    Say(
        "## A table\n\nA vehicle with a siren drives past. The pitch you hear depends on its speed and on the pitch of "
        "the siren; at the speed of sound, 343 m/s, the formula has a pole. The script below uses only the standard "
        "library to write a table of synthetic measurements."
    ),
    Write("measure.py", MEASURE),
    Run("python measure.py"),
    Run("head -n 4 siren.csv", shows="speed,pitch,heard"),
    Say("## A formula"),
    Run("ceql fit siren.csv --target heard --save siren.ceql --report siren.html", shows="pole: speed"),
    Run("ls", shows="siren.html"),
    Say(
        "`ceql` found a formula for the column `heard` in terms of the other two. The printed table is the *front*: "
        "the best formula of each size. `siren.html` is a report that opens in any browser. You can look at the saved "
        "model again at any time:"
    ),
    Run("ceql show siren.ceql", shows="Training data: 80 rows"),
    Say("## New rows"),
    Run("ceql predict siren.ceql new.csv --out predicted.csv"),
    Run("cat predicted.csv", shows="440"),
    Say("## The formula in C"),
    Run("ceql export siren.ceql --to c --out siren.c"),
    Run("cat siren.c", shows="double heard(double speed, double pitch)"),
    Say(
        "A small C program applies this function to the rows of `new.csv`, and a Python script compares the results "
        "with `predicted.csv`."
    ),
    Write("main.c", MAIN),
    Run("cc -O2 main.c siren.c -lm -o siren"),
    Write("compare.py", COMPARE),
    Run("python compare.py", shows="at most 1e-12 apart: True"),
    Say("## The formula in Python, another day"),
    Write("use.py", USE),
    Run("python use.py", shows="440"),
    Say("## Slips of the finger\n\nA misspelt option, a misspelt column and a misspelt command:"),
    Run("ceql fit siren.csv --traget heard", shows="--target", code=2),
    Run("ceql fit siren.csv --target herad", shows="Did you mean 'heard'?", code=1),
    Run("ceql ft siren.csv", shows="Did you mean 'fit'?", code=2),
)


def run(step: Run, folder: Path) -> str:
    """What the command printed, with errors included, as in a terminal."""
    name, *arguments = shlex.split(step.command)
    command = [*_PROGRAMS.get(name, [name]), *arguments]
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS
    )
    if done.returncode != step.code or step.shows not in done.stdout:
        raise SystemExit(f"{step.command}: exit code {done.returncode}, and it printed\n{done.stdout}")
    return _TIMES.sub("… s", done.stdout)


def transcript() -> str:
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for step in STEPS:
            if isinstance(step, Say):
                parts += [textwrap.fill(paragraph, WIDTH) for paragraph in step.text.split("\n\n")]
            elif isinstance(step, Write):
                (Path(folder) / step.name).write_text(step.content, encoding="utf-8")
                parts.append(f"`{step.name}`:\n\n```{step.language}\n{step.content.rstrip()}\n```")
            else:
                printed = run(step, Path(folder)).rstrip()
                parts.append("\n".join([_CONSOLE, f"$ {step.command}", *([printed] if printed else []), "```"]))
                if len(parts) > 1 and parts[-2].startswith(_CONSOLE):
                    # Consecutive commands share one block.
                    parts[-2:] = [parts[-2].removesuffix("```") + parts[-1].removeprefix(f"{_CONSOLE}\n")]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(transcript(), encoding="utf-8")
