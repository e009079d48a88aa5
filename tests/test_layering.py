"""Who may import what, and what no module may do, read off the syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ceql"
FILES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
# A module, and the files or folders that may import it.
HOMES = {
    "sympy": ("operators/", "expression/", "formula.py", "bench/", "templates/", "export/"),
    "sklearn": ("estimator.py", "bench/"),
    "matplotlib": ("plots/",),
    "ceql._core": ("engine/",),
    # A search reads the clock in one place. The others show the time, or space out what is written to disk.
    "time": ("deadline.py", "keeper.py", "progress.py", "demo.py", "engine/gpu.py", "bench/"),
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "sympify", "lambdify", "parse_expr", "literal_eval"}
FORBIDDEN_MODULES = {"pickle", "dill", "cloudpickle", "marshal", "shelve"}
PRINTS = ("cli.py", "bench/cli.py")
MAXIMUM_LINES = 500


def tree(name: str) -> ast.Module:
    return ast.parse(FILES[name].read_text(encoding="utf-8"))


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """Every node except those below `if TYPE_CHECKING`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not is_for_types_only(child):
            yield from at_run_time(child)


def imported(name: str) -> set[str]:
    """Full names of imported modules; `from a import b` counts as a and as a.b."""
    found: set[str] = set()
    for node in at_run_time(tree(name)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found.add(module)
            found.update(f"{module}.{alias.name}" for alias in node.names)
    return found


def is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


def called(name: str) -> set[str]:
    calls = (node.func for node in ast.walk(tree(name)) if isinstance(node, ast.Call))
    return {f.id if isinstance(f, ast.Name) else f.attr for f in calls if isinstance(f, ast.Name | ast.Attribute)}


@pytest.mark.parametrize("module", HOMES)
def test_a_dependency_is_imported_only_where_it_belongs(module):
    strangers = [
        name
        for name in FILES
        if any(is_within(i, module) for i in imported(name)) and not name.startswith(HOMES[module])
    ]
    assert strangers == []


@pytest.mark.parametrize("module", HOMES)
def test_the_homes_above_are_in_use(module):
    assert any(any(is_within(i, module) for i in imported(name)) for name in FILES)


def test_nothing_is_evaluated_or_unpickled():
    def own_compile(name: str) -> set[str]:
        # re.compile and a module's own function of that name are harmless; the builtin is not
        source = ast.walk(tree(name))
        plain = {n.func.id for n in source if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        return called(name) - ({"compile"} - plain)

    guilty = {name: own_compile(name) & FORBIDDEN_CALLS for name in FILES}
    assert {name: calls for name, calls in guilty.items() if calls} == {}
    pickled = {name: {i.split(".")[0] for i in imported(name)} & FORBIDDEN_MODULES for name in FILES}
    assert {name: modules for name, modules in pickled.items() if modules} == {}


def test_only_the_command_line_prints():
    assert [name for name in FILES if "print" in called(name) and name not in PRINTS] == []


def test_no_file_is_long():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}
    assert {name: length for name, length in lengths.items() if length > MAXIMUM_LINES} == {}


def test_no_error_is_swallowed():
    """`except:` and `except Exception: pass` hide what nobody thought of; named errors may be passed over."""
    broad = {"None", "Exception", "BaseException"}
    guilty = [
        f"{name}:{node.lineno}"
        for name in FILES
        for node in ast.walk(tree(name))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (ast.unparse(node.type) in broad and isinstance(node.body[0], ast.Pass)))
    ]
    assert guilty == []


def test_every_module_begins_with_a_sentence():
    assert [name for name in FILES if not ast.get_docstring(tree(name))] == []


def test_there_is_no_module_called_utils():
    assert [name for name in FILES if Path(name).stem in {"utils", "util", "helpers", "misc", "common"}] == []
