"""The ways in which the core is compiled other than the one that installed it: sanitised, and by zig."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent  # cmake and ninja come with the dev extra

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these builds are for gcc, clang and zig")


def run(*command: str | Path, **environment: str) -> str:
    """The output of a command; a failure shows what it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        pytest.fail(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-8000:]}", pytrace=False)
    return done.stdout


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def backend() -> ModuleType:
    return tool("build_backend")


@pytest.fixture(scope="module")
def sanitised(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, Path]:
    """The tool that builds with sanitisers, and the extension module that it built."""
    fuzzing = tool("sanitised_fuzz")
    try:
        fuzzing.compiler()  # zig does not ship the sanitisers' run-time libraries
    except fuzzing.NoSanitiserError as error:
        pytest.skip(str(error))
    return fuzzing, fuzzing.build(tmp_path_factory.mktemp("sanitised"))


@pytest.fixture(scope="module")
def zig_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built where PATH holds no compiler, linker or archiver."""
    pytest.importorskip("ziglang", reason="zig comes with the dev extra")
    folder = tmp_path_factory.mktemp("wheel")
    programs = tmp_path_factory.mktemp("programs")
    for name in ("cmake", "ninja"):
        (programs / name).symlink_to(TOOLS / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    run(*pip, "-w", folder, ".", PATH=str(programs), CEQL_USE_ZIG="1")
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_core_tests_pass_under_sanitisers(sanitised: tuple[ModuleType, Path]) -> None:
    run(sanitised[1].parent / "core_tests")


def test_random_calls_pass_under_sanitisers(sanitised: tuple[ModuleType, Path]) -> None:
    fuzzing, module = sanitised
    try:
        fuzzing.preloaded()
    except fuzzing.NoSanitiserError as error:
        pytest.skip(str(error))
    assert "1000 calls" in fuzzing.fuzz(module, 1000)  # `make sanitise` makes more of them


def test_core_built_by_zig_loads(zig_wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(zig_wheel) as wheel:
        (member,) = [name for name in wheel.namelist() if name.startswith("ceql/_core.") and ".pyi" not in name]
        extension = Path(wheel.extract(member, tmp_path))
    # a fresh interpreter and an explicit file, since `import ceql` would find the editable install
    program = f"""
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("ceql._core", {str(extension)!r})
module = module_from_spec(spec)
spec.loader.exec_module(module)
print(*[name for name in vars(module) if not name.startswith("__")])
"""
    assert run(sys.executable, "-I", "-c", program).strip()
    # zig brings its own C++ library; a trace of the system's would mean that another compiler was used
    assert b"libstdc++" not in extension.read_bytes()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, True),
        ({"CXX": "some-compiler"}, False),
        ({"CXX": "some-compiler", "CEQL_USE_ZIG": "1"}, True),
    ],
)
def test_zig_is_asked_for_where_no_compiler_is_found(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: bool
) -> None:
    for name in ("CXX", "CEQL_USE_ZIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert backend.needs_zig() is expected


def test_environment_is_restored_after_a_zig_build(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang", reason="zig comes with the dev extra")
    monkeypatch.setenv("CEQL_USE_ZIG", "1")
    before = os.environ.copy()
    with backend.compiler():
        assert Path(os.environ["CXX"]).exists()
    assert os.environ.copy() == before
