"""The machines that wheels are built for, and what a wheel and the module in it have to be called there."""

from __future__ import annotations

from dataclasses import dataclass

STABLE_FROM = 12  # of Python 3: from this version on one wheel serves all later ones
MOST_BYTES = 3_000_000  # of a wheel


@dataclass(frozen=True)
class Target:
    """A machine, in the words of each program that has to know it."""

    name: str
    zig: str  # with the oldest glibc or macOS that the module shall run on
    python: str  # sysconfig.get_platform() there
    tag: str  # of the wheel
    system: str  # for CMake
    processor: str  # likewise
    ending: str  # of a module for one version of Python, {} being 311 or the like
    stable_ending: str  # of a module for the stable ABI

    @property
    def is_windows(self) -> bool:
        return self.system == "Windows"

    @property
    def is_macos(self) -> bool:
        return self.system == "Darwin"


def _linux(processor: str) -> Target:
    # glibc 2.17 is the oldest that PyPI's wheels are tagged for; NumPy's and SciPy's need a newer one anyway
    zig, tag, ending = f"{processor}-linux-gnu.2.17", f"manylinux_2_17_{processor}", f"{processor}-linux-gnu.so"
    python = f"linux-{processor}"
    return Target(python, zig, python, tag, "Linux", processor, "cpython-{}-" + ending, "abi3.so")


def _macos(processor: str, zig: str) -> Target:
    names = f"macos-{processor}", f"{zig}-macos.11.0", f"macosx-11.0-{processor}", f"macosx_11_0_{processor}"
    return Target(*names, "Darwin", processor, "cpython-{}-darwin.so", "abi3.so")


TARGETS = {
    target.name: target
    for target in (
        _linux("x86_64"),
        _linux("aarch64"),
        _macos("x86_64", "x86_64"),
        _macos("arm64", "aarch64"),
        Target(
            "windows-x86_64", "x86_64-windows-gnu", "win-amd64", "win_amd64", "Windows", "AMD64",
            "cp{}-win_amd64.pyd", "pyd",
        ),
    )
}  # fmt: skip


def is_stable(minor: int) -> bool:
    """Whether what is built with Python 3.`minor` uses the stable ABI."""
    return minor >= STABLE_FROM


def module_ending(target: Target, minor: int) -> str:
    """What follows `_core` in the name of the module."""
    return "." + (target.stable_ending if is_stable(minor) else target.ending.format(f"3{minor}"))


def wheel_tag(target: Target, minor: int) -> str:
    """Python, ABI and platform, as they stand at the end of the wheel's name."""
    python = f"cp3{min(minor, STABLE_FROM)}"
    return f"{python}-{'abi3' if is_stable(minor) else python}-{target.tag}"
