"""The machines that wheels are built for, and the names of wheels and modules for them."""

from __future__ import annotations

from dataclasses import dataclass

STABLE_FROM = 12  # minor version of Python 3 from which one wheel serves all later versions
MOST_BYTES = 3_000_000  # largest size of a wheel


@dataclass(frozen=True)
class Target:
    """A machine, as named by each program that needs to know it."""

    name: str
    zig: str  # with the oldest glibc or macOS that the module shall run on
    python: str  # sysconfig.get_platform() there
    tag: str  # platform tag of the wheel
    system: str  # for CMake
    processor: str  # likewise
    ending: str  # ending of a module for one version of Python, where {} is 311 or the like
    stable_ending: str  # ending of a module for the stable ABI

    @property
    def is_windows(self) -> bool:
        return self.system == "Windows"

    @property
    def is_macos(self) -> bool:
        return self.system == "Darwin"


def _linux(processor: str) -> Target:
    # glibc 2.17 is the oldest version in PyPI's tags; NumPy's and SciPy's wheels need a newer one anyway
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
    """Whether builds with Python 3.`minor` use the stable ABI."""
    return minor >= STABLE_FROM


def module_ending(target: Target, minor: int) -> str:
    """The part of the module's file name after `_core`."""
    return "." + (target.stable_ending if is_stable(minor) else target.ending.format(f"3{minor}"))


def wheel_tag(target: Target, minor: int) -> str:
    """Python, ABI and platform, as at the end of the wheel's name."""
    python = f"cp3{min(minor, STABLE_FROM)}"
    return f"{python}-{'abi3' if is_stable(minor) else python}-{target.tag}"
