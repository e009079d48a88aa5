"""Build backend: scikit-build-core, with zig as a replacement if no C++ compiler is installed.

`pip install ceql` has to work on a machine that has only Python. zig is a C++ compiler that pip can install like any
other build requirement, so it is requested if the usual compilers are missing or if CEQL_USE_ZIG=1 is set.
CEQL_ZIG_TARGET names another machine to compile for (tools/cross_wheels.py). On Windows CMake finds Visual Studio by
itself and is told to use its Clang, for which the core is written.
"""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scikit_build_core import build as skbuild
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, list[str] | str] | None

# zig compiles for the machine it runs on unless told otherwise, and the wheel would fail elsewhere; the
# faster instruction sets are added per file and chosen at run time. -O3 and -s are for CMake's trial
# programs: linked with other options than the extension, they make zig compile its C++ library twice.
COMPILE = "-mcpu=baseline -O3 -s"


def needs_zig() -> bool:
    """Whether this build compiles with zig."""
    if sys.platform == "win32":
        return False
    if os.environ.get("CEQL_USE_ZIG") == "1":
        return True
    return not (os.environ.get("CXX") or any(map(shutil.which, ("c++", "g++", "clang++"))))


@contextmanager
def compiler() -> Iterator[None]:
    """Points CMake to the compiler of this build for its duration, if CMake would not find it."""
    before = os.environ.copy()
    with tempfile.TemporaryDirectory(prefix="ceql-zig-") as folder:
        if needs_zig():
            os.environ |= _zig(Path(folder))
        elif sys.platform == "win32" and not before.keys() & {"CXX", "CMAKE_GENERATOR", "CMAKE_GENERATOR_TOOLSET"}:
            os.environ["CMAKE_GENERATOR_TOOLSET"] = "ClangCL"
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def zig_tools(target: str | None) -> dict[str, str]:
    """The arguments of `zig` for each tool; without a target it compiles for this machine."""
    flags = f"{COMPILE} -target {target}" if target else COMPILE
    return {"cc": f"cc {flags}", "c++": f"c++ {flags}", "ar": "ar", "ranlib": "ranlib"}


def _zig(folder: Path) -> dict[str, str]:
    """The environment variables that point CMake to zig."""
    import ziglang  # a build requirement of these builds alone

    zig = Path(ziglang.__file__).with_name("zig")
    # CMake needs an archiver that is a single program, but `zig ar` is two words, hence these one-line scripts.
    words = zig_tools(os.environ.get("CEQL_ZIG_TARGET"))
    tools = {name: _script(folder / f"zig-{name}", zig, rest) for name, rest in words.items()}
    archiver = f"-DCMAKE_AR={tools['ar']} -DCMAKE_RANLIB={tools['ranlib']}"
    arguments = f"{os.environ.get('CMAKE_ARGS', '')} {archiver}".strip()
    return {"CC": str(tools["cc"]), "CXX": str(tools["c++"]), "CMAKE_ARGS": arguments}


def _script(path: Path, zig: Path, words: str) -> Path:
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(str(zig))} {words} "$@"\n')
    path.chmod(0o755)
    return path


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return skbuild.get_requires_for_build_wheel(config_settings) + ["ziglang"] * needs_zig()


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return skbuild.get_requires_for_build_editable(config_settings) + ["ziglang"] * needs_zig()


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    with compiler():
        return skbuild.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    with compiler():
        return skbuild.build_editable(wheel_directory, config_settings, metadata_directory)
