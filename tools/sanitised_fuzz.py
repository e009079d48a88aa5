"""Compiles the core with the address and undefined-behaviour sanitisers and runs `fuzz_core.py` on it.

    python tools/sanitised_fuzz.py                    # 20,000 calls
    python tools/sanitised_fuzz.py --first 4711 --calls 1

Needs gcc with the sanitisers' run-time libraries, and the packages of the dev extra. The first finding ends the run,
with the sanitiser's report and the number of the call that caused it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FUZZER = Path(__file__).with_name("fuzz_core.py")
BIN = Path(sys.executable).parent  # cmake and ninja come with the dev extra
PRELOADED = ("libasan.so", "libstdc++.so")  # Python is linked with neither, and they must come first
COMPILERS = ("c++", "g++", "clang++")


class NoSanitiserError(RuntimeError):
    """The compiler or its sanitisers are missing on this machine."""


def compiler() -> str:
    named = os.environ.get("CXX")
    found = named or next(filter(None, map(shutil.which, COMPILERS)), None)
    if found is None:
        raise NoSanitiserError("There is no C++ compiler on this machine: install gcc or clang.")
    return found


def preloaded() -> str:
    """The libraries that must be loaded before Python."""
    paths = [_library(name) for name in PRELOADED]
    return " ".join(map(str, paths))


def _library(name: str) -> Path:
    asked = [compiler(), f"-print-file-name={name}"]
    path = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    if not path.is_absolute() or not path.exists():
        raise NoSanitiserError(f"{asked[0]} comes without {name}: install gcc and its sanitisers.")
    return path.resolve()


def build(folder: Path) -> Path:
    """Compiles the core's own tests and the extension module into this folder; returns the module's path."""
    cmake, environment = str(BIN / "cmake"), os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    nanobind = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    # -O1 keeps assertions and line numbers and still finishes the optimisers in seconds
    options = ["-DCEQL_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g"]
    python = [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind}"]
    for command in (
        [cmake, "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options, *python],
        [cmake, "--build", str(folder)],
    ):
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise RuntimeError(f"The build ended with {done.returncode}:\n{done.stdout[-8000:]}")
    (module,) = folder.glob("_core.*.so")
    return module


def fuzz(module: Path, calls: int, first: int = 0) -> str:
    """Runs the fuzzer on this module and returns its output; raises RuntimeError with the sanitiser's report."""
    environment = os.environ | {"LD_PRELOAD": preloaded(), "ASAN_OPTIONS": "detect_leaks=0"}  # Python's own leaks
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "call"
        done = subprocess.run(
            [sys.executable, str(FUZZER), str(module), f"--calls={calls}", f"--first={first}", f"--note={note}"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            at = note.read_text().strip() if note.exists() else "none"
            raise RuntimeError(f"The fuzzer ended with {done.returncode} at call {at}:\n{done.stdout[-8000:]}")
    return done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "sanitised", help="where the build goes")
    arguments = parser.parse_args()
    try:
        print(fuzz(build(arguments.folder), arguments.calls, arguments.first))
    except (NoSanitiserError, RuntimeError) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
