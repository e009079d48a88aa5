"""Wheels for other machines: what they are called, and that a wrong one is found out."""

import importlib.machinery
import struct
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))  # as for a program of that folder

import cross_wheels  # noqa: E402
import native_module  # noqa: E402
import wheel_check  # noqa: E402
import windows_python  # noqa: E402
from wheel_targets import TARGETS, Target, is_stable, module_ending, wheel_tag  # noqa: E402

sys.path.remove(str(TOOLS))

MINORS = (11, 12, 13, 14)
CASES = [(target, minor) for target in TARGETS.values() for minor in MINORS]
HERE = TARGETS.get(sysconfig.get_platform())


# ---- modules and wheels made by hand --------------------------------------------------------------------------------


def elf(machine: int = 62, libraries: tuple[str, ...] = ("libc.so.6",), versions: tuple[str, ...] = ("2.17",)) -> bytes:
    names = [*libraries, *(f"GLIBC_{version}" for version in versions)]
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    return b"\x7fELF\x02\x01".ljust(18, b"\0") + struct.pack("<H", machine) + bytes(44) + strings


def macho(machine: int = 0x0100000C, libraries: tuple[str, ...] = ("/usr/lib/libSystem.B.dylib",), macos=(11, 0)):
    commands = [struct.pack("<6I", 0x32, 24, 1, macos[0] << 16 | macos[1] << 8, 0, 0)]
    for name in libraries:
        text = name.encode().ljust(len(name) + 8 - len(name) % 8, b"\0")
        commands.append(struct.pack("<6I", 0xC, 24 + len(text), 24, 0, 0, 0) + text)
    body = b"".join(commands)
    return struct.pack("<8I", 0xFEEDFACF, machine, 0, 6, len(commands), len(body), 0, 0) + body + b"\0libc++.1.dylib\0"


def pe(machine: int = 0x8664, libraries: tuple[str, ...] = ("KERNEL32.dll", "python3.dll")) -> bytes:
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in libraries)
    return b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + b"PE\0\0" + struct.pack("<H", machine) + strings


def module_for(target: Target, minor: int) -> bytes:
    if target.is_windows:
        return pe(libraries=("KERNEL32.dll", "python3.dll" if is_stable(minor) else f"python3{minor}.dll"))
    if target.is_macos:
        return macho({"arm64": 0x0100000C, "x86_64": 0x01000007}[target.processor])
    return elf({"x86_64": 62, "aarch64": 183}[target.processor])


def wheel(folder: Path, tag: str, module: str, data: bytes, inside: str = "") -> Path:
    path = folder / f"ceql-0.1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"ceql/{module}", data)
        archive.writestr("ceql-0.1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nTag: {inside or tag}\n")
    return path


# ---- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(HERE is None, reason="no wheels are built for this machine")
def test_names_are_those_of_the_python_that_runs_here() -> None:
    assert HERE is not None
    minor = sys.version_info.minor
    assert module_ending(HERE, 11).replace("311", f"3{minor}") == sysconfig.get_config_var("EXT_SUFFIX")
    assert module_ending(HERE, minor) in importlib.machinery.EXTENSION_SUFFIXES
    assert wheel_tag(HERE, minor) in {str(tag) for tag in sys_tags()}


@pytest.mark.parametrize(("target", "minor"), CASES)
def test_a_wheel_has_one_tag_that_installers_understand(target: Target, minor: int) -> None:
    _, _, _, tags = parse_wheel_filename(f"ceql-0.1.0-{wheel_tag(target, minor)}.whl")
    (tag,) = tags
    assert tag.interpreter == ("cp311" if minor == 11 else "cp312")
    assert tag.abi == ("cp311" if minor == 11 else "abi3")


@pytest.mark.parametrize(("target", "minor"), CASES)
def test_nothing_of_the_host_gets_into_a_name(target: Target, minor: int) -> None:
    """The module's ending is told to scikit-build-core and to nanobind, who would ask the Python that runs here."""
    told = cross_wheels.definitions(target, minor)
    assert told["NB_SUFFIX"] == module_ending(target, minor)
    stable = f".{told['SKBUILD_SOSABI']}." if told["SKBUILD_SOSABI"] else "."
    assert module_ending(target, 12) == stable + module_ending(target, 12).rpartition(".")[2]
    others = {other.processor for other in TARGETS.values()} - {target.processor}
    assert not any(f"-{other}-" in module_ending(target, minor) for other in others)


# ---- checks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "minor"), CASES)
def test_only_the_right_wheel_has_no_faults(target: Target, minor: int, tmp_path: Path) -> None:
    tag, module = wheel_tag(target, minor), f"_core{module_ending(target, minor)}"
    path = wheel(tmp_path, tag, module, module_for(target, minor))
    assert wheel_check.faults(path, target, minor) == []
    for other in TARGETS.values():
        if other is not target:
            assert wheel_check.faults(path, other, minor)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (elf(machine=62), "Linux on x86_64"),
        (elf(machine=183, libraries=("libstdc++.so.6",)), "libstdc++.so.6"),
        (elf(machine=183, versions=("2.17", "2.28")), "version 2.28"),
        (elf(machine=183, versions=("ABI_GNU2_TLS",)), "of the system"),
        (macho(), "Darwin on arm64"),
    ],
)
def test_a_module_that_would_not_load_is_found_out(data: bytes, sentence: str, tmp_path: Path) -> None:
    target = TARGETS["linux-aarch64"]
    (fault, *_) = wheel_check.faults(wheel(tmp_path, wheel_tag(target, 12), "_core.abi3.so", data), target, 12)
    assert sentence in fault


def test_libraries_of_macos_are_those_that_are_loaded() -> None:
    module = native_module.read_module(macho(libraries=("/usr/lib/libSystem.B.dylib", "@rpath/a.dylib"), macos=(13, 2)))
    assert module.libraries == {"/usr/lib/libSystem.B.dylib", "@rpath/a.dylib"}  # and no text that looks like one
    faults = wheel_check.module_faults(module, TARGETS["macos-arm64"], 12)
    assert ["@rpath/a.dylib" in faults[0], "version 13.2" in faults[1]] == [True, True]


def test_a_stable_module_for_windows_asks_for_no_certain_python() -> None:
    module = native_module.read_module(pe(libraries=("KERNEL32.dll", "python312.dll")))
    (fault,) = wheel_check.module_faults(module, TARGETS["windows-x86_64"], 12)
    assert "python312.dll" in fault


def test_the_name_of_the_host_in_the_module_is_found_out(tmp_path: Path) -> None:
    target = TARGETS["linux-aarch64"]
    path = wheel(tmp_path, wheel_tag(target, 11), "_core.cpython-311-x86_64-linux-gnu.so", module_for(target, 11))
    (fault,) = wheel_check.faults(path, target, 11)
    assert "_core.cpython-311-aarch64-linux-gnu.so" in fault


def test_the_tag_inside_has_to_be_that_of_the_name(tmp_path: Path) -> None:
    target = TARGETS["linux-x86_64"]
    path = wheel(tmp_path, wheel_tag(target, 12), "_core.abi3.so", elf(), inside="cp312-abi3-linux_x86_64")
    (fault,) = wheel_check.faults(path, target, 12)
    assert "cp312-abi3-linux_x86_64" in fault


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(ValueError, match="no module"):
        native_module.read_module(b"#!/bin/sh\n")


def test_import_libraries_have_the_names_that_nanobind_lists() -> None:
    assert windows_python.interface_names("-U _PyErr_Clear\n-U __Py_Dealloc\n") == ["PyErr_Clear", "_Py_Dealloc"]
    nanobind = pytest.importorskip("nanobind", reason="it comes with the dev extra")
    symbols = Path(nanobind.__file__).parent / "cmake" / "darwin-ld-cpython.sym"
    names = windows_python.interface_names(symbols.read_text())
    assert {"PyModule_Create2", "_Py_NoneStruct", "PyExc_ValueError"} <= set(names)
