"""Builds the wheels for all systems on one machine, with zig, and checks each: `python tools/cross_wheels.py`.

    python tools/cross_wheels.py linux-aarch64 --python python3.12 --out dist

Each `--python` makes one wheel per target: Python 3.11 a wheel for 3.11 only, a later one a wheel of the stable ABI,
for 3.12 and all later versions. The headers of these Pythons are used. The build tools are installed below build/cross.
docs/installing.md says which of the results have been tried, and how.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import wheel_check
import windows_python
from wheel_targets import TARGETS, Target, module_ending

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "cross"
REQUIREMENTS = ("scikit-build-core", "nanobind", "cmake", "ninja", "ziglang", "wheel")
_ASK = """
import json, nanobind, sys, sysconfig, ziglang
print(json.dumps([sys.version_info[1], sysconfig.get_path("include"), nanobind.__file__, ziglang.__file__]))
"""


@dataclass(frozen=True)
class Builder:
    """An environment with the build tools."""

    python: Path
    minor: int
    headers: Path
    nanobind: Path
    zig: Path


def builder(python: str) -> Builder:
    """The build environment for this Python, created or updated."""
    name = subprocess.check_output([python, "-c", "import sys; print('cp3%d' % sys.version_info[1])"], text=True)
    folder = FOLDER / name.strip()
    own = folder / "bin" / "python"
    if not own.exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
    pip = [own, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "-c", ROOT / "constraints.txt"]
    subprocess.run([*pip, *REQUIREMENTS], check=True)
    minor, headers, nanobind, zig = json.loads(subprocess.check_output([own, "-c", _ASK], text=True))
    return Builder(own, minor, Path(headers), Path(nanobind).parent, Path(zig).with_name("zig"))


def definitions(target: Target, minor: int) -> dict[str, str]:
    """The CMake definitions for the target. Without the last two, nanobind would ask the running Python."""
    told = {
        "CMAKE_SYSTEM_NAME": target.system,
        "CMAKE_SYSTEM_PROCESSOR": target.processor,
        "NB_SUFFIX": module_ending(target, minor),
        "SKBUILD_SOSABI": target.stable_ending.rpartition(".")[0],
    }
    if target.is_macos:  # CMake insists on this program, and a module that is found by its path needs none
        told["CMAKE_INSTALL_NAME_TOOL"] = shutil.which("true") or "true"
    return told


def environment(target: Target, builder: Builder) -> dict[str, str]:
    """The environment variables of a build for the target."""
    told = definitions(target, builder.minor)
    variables = {
        "PATH": f"{builder.python.parent}{os.pathsep}{os.environ['PATH']}",
        "CEQL_USE_ZIG": "1",
        "CEQL_ZIG_TARGET": target.zig,
        "_PYTHON_HOST_PLATFORM": target.python,
        "SETUPTOOLS_EXT_SUFFIX": module_ending(target, builder.minor),
    }
    if target.is_windows:
        folder = FOLDER / f"{target.name}-3{builder.minor}"
        given = builder.minor, builder.headers, builder.nanobind, builder.zig
        variables["DIST_EXTRA_CONFIG"] = str(windows_python.prepare(folder, *given))
        told["Python_INCLUDE_DIR"] = str(folder / "include")
    arguments = [f"-D{name}={value}" for name, value in told.items()]
    return variables | {"CMAKE_ARGS": shlex.join(arguments)}


def build(target: Target, builder: Builder, out: Path) -> Path:
    """Builds the wheel for the target and gives it the right tag."""
    folder = FOLDER / "wheels" / f"{target.name}-3{builder.minor}"
    shutil.rmtree(folder, ignore_errors=True)
    pip = [builder.python, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--no-index"]
    command = [*pip, "--no-build-isolation", "-w", folder, ROOT]
    subprocess.run(command, env=os.environ | environment(target, builder), check=True)
    (made,) = folder.glob("*.whl")
    tag = [builder.python, "-m", "wheel", "tags", "--remove", "--platform-tag", target.tag, made]
    subprocess.run(tag, check=True, stdout=subprocess.DEVNULL)
    (tagged,) = folder.glob("*.whl")
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(tagged, out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all without any")
    parser.add_argument("--python", action="append", help="to build with; python3.11 and python3.12 without any")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    given = parser.parse_args()
    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no such target: {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    wrong = 0
    for python in given.python or ["python3.11", "python3.12"]:
        made_with = builder(python)
        for name in given.targets or TARGETS:
            path = build(TARGETS[name], made_with, given.out)
            faults = wheel_check.faults(path, TARGETS[name], made_with.minor)
            wrong += bool(faults)
            print(f"{path.stat().st_size / 1e6:5.2f} MB  {path.name}", *faults, sep="\n    ", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
