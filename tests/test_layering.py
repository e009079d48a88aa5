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
    "sympy": (
        "operators/",
        "expression/",
        "shapes/",
        "constraints.py",
        "network/",
        "formula.py",
        "bench/",
        "templates/",
        "catalogue/",
        "sums/",
        "output/export/",
        "search/",
        "dimensions/",
        "closed_form/pure.py",
        "groups/",
        "dynamics/",
        "relations/",
    ),
    "sklearn": ("estimator/", "bench/", "dynamics/estimator.py", "relations/estimator.py"),
    "matplotlib": ("output/plots/",),
    "ceql._core": ("operators/tape.py", "network/compiled.py", "network/sampling.py", "engine/"),
    "time": (
        "engine/deadline.py",
        "engine/gpu.py",
        "storage/keeper.py",
        "output/progress.py",
        "bench/",
        "output/notebook.py",
        "app/worker.py",
    ),
    "pint": ("estimator/unit_texts.py",),
    "starlette": ("app/",),
    "uvicorn": ("app/cli.py",),
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "sympify", "lambdify", "parse_expr", "literal_eval"}
FORBIDDEN_MODULES = {"pickle", "dill", "cloudpickle", "marshal", "shelve"}
PRINTS = ()
MAXIMUM_LINES = 500
MOST_IN_ROOT = 8
# The packages and the modules of the root, the lowest first: each may import those that are named beside it.
LAYERS = {
    "errors": "",
    "data": "errors",
    "operators": "errors",
    "expression": "operators",
    "dimensions": "operators expression",
    "shapes": "errors operators expression",
    "constraints": "errors operators expression dimensions shapes",
    "network": "errors data operators expression",
    "engine": "errors operators network",
    "formula": "data expression constraints engine",
    "training": "expression network engine",
    "transforms": "data operators expression dimensions engine",
    "closed_form": "data operators engine",
    "templates": "errors data operators expression network engine",
    "choice": "errors data expression engine formula",
    "catalogue": "errors data operators expression constraints engine formula choice",
    "sums": "operators expression engine",
    "search": "errors data operators expression dimensions shapes constraints network engine formula training "
    "transforms closed_form templates choice catalogue sums",
    "discovery": "data expression dimensions formula choice search",
    "groups": "errors data operators expression engine formula templates choice catalogue search discovery",
    "storage": "errors data operators expression constraints formula choice search discovery groups",
    "pipeline": "errors data expression dimensions network engine formula training choice catalogue search discovery "
    "storage",
    "output": "errors data operators expression dimensions formula templates choice discovery groups storage",
    "estimator": "errors data expression dimensions shapes constraints network formula templates choice search "
    "discovery groups storage pipeline output",
    "app": "errors data operators expression discovery storage output estimator",
    "cli": "errors data expression dimensions network engine formula choice catalogue discovery groups storage "
    "estimator",
    "dynamics": "errors data operators expression network engine formula choice discovery storage pipeline output "
    "estimator cli",
    "bench": "errors data operators expression network engine formula training choice catalogue search storage output "
    "estimator dynamics",
    "frf": "errors data templates storage output cli",
    "relations": "errors data operators expression engine formula choice discovery storage pipeline output cli",
    "__main__": "errors operators app cli dynamics bench frf relations",
}


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


# ---- layers -------------------------------------------------------------------------------------------------------


def package(module: str) -> str:
    """The first name below ceql; empty for ceql itself."""
    return module.split(".")[1] if module.startswith("ceql.") else ""


def home(name: str) -> str:
    return name.split("/")[0].removesuffix(".py")


def own_imports(source: str) -> set[str]:
    """The packages of ceql that a file imports, wherever in it: lazily and for types alone as well."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {package(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "ceql":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(package(node.module or ""))
    return found & set(LAYERS)


def trespasses(name: str, source: str) -> list[str]:
    here = home(name)
    strangers = own_imports(source) - {here, *LAYERS.get(here, "").split()}
    return [f"{name} imports {there}" for there in sorted(strangers)]


@pytest.mark.parametrize("name", [name for name in FILES if name != "__init__.py"])
def test_a_package_imports_what_the_table_allows(name):
    assert home(name) in LAYERS
    assert trespasses(name, FILES[name].read_text(encoding="utf-8")) == []


def test_no_layer_imports_one_above_it():
    order = list(LAYERS)
    for place, (here, below) in enumerate(LAYERS.items()):
        assert set(below.split()) <= set(order[:place]), here


def test_the_table_allows_nothing_that_is_not_in_use():
    used = {here: set[str]() for here in LAYERS}
    for name, path in FILES.items():
        if name != "__init__.py":
            used[home(name)] |= own_imports(path.read_text(encoding="utf-8")) - {home(name)}
    idle = {here: sorted(set(below.split()) - used[here]) for here, below in LAYERS.items()}
    assert {here: names for here, names in idle.items() if names} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "from ceql.search.driver import Rounds",
        "import ceql.bench.runner",
        "def f():\n    from ceql import pipeline",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ceql.frf import analysis",
    ],
)
def test_a_planted_trespass_is_seen(planted):
    assert len(trespasses("network/masks.py", planted)) == 1


def test_the_root_is_small():
    assert len([name for name in FILES if "/" not in name]) <= MOST_IN_ROOT


def test_contributing_shows_the_same_table():
    text = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for here, below in LAYERS.items():
        assert f"| `{here}` | {below.replace(' ', ', ')} |" in text, here
