"""The public surface is frozen: a name comes or goes on purpose, here and in the package at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ceql

PUBLIC = [
    "CEQLRegressor",
    "CeqlError",
    "CeqlWarning",
    "Constraints",
    "Dataset",
    "Discovery",
    "Formula",
    "InputError",
    "Network",
    "ODERegressor",
    "Parameter",
    "Recipe",
    "RelationFinder",
    "Settings",
    "Template",
    "Terms",
    "Unknown",
    "__version__",
    "discover",
    "load",
    "node_count",
    "operators",
    "recipes",
]


def test_the_exported_names_are_these():
    assert sorted(ceql.__all__) == PUBLIC


def test_every_exported_name_exists():
    assert [name for name in ceql.__all__ if not hasattr(ceql, name)] == []


def test_nothing_else_looks_public():
    assert dir(ceql) == PUBLIC
    with pytest.raises(AttributeError, match="CEQLRegresor"):
        ceql.CEQLRegresor  # noqa: B018


def test_the_import_is_light():
    heavy = "{'sympy', 'pandas', 'sklearn', 'scipy', 'matplotlib'}"
    code = f"import sys, ceql; sys.exit(str({heavy} & set(sys.modules)) if {heavy} & set(sys.modules) else 0)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("before", ["enable", "disable"])
def test_an_import_leaves_the_collection_of_garbage_as_it_was(before):
    code = (
        f"import gc, weakref; gc.{before}(); was = gc.isenabled()\n"
        "class Thing: pass\n"
        "thing = Thing(); thing.itself = thing; watched = weakref.ref(thing); del thing\n"
        "from ceql import CEQLRegressor\n"
        "assert gc.isenabled() is was and gc.get_freeze_count() == 0\n"
        "gc.collect(); assert watched() is None\n"
        "gc.freeze(); frozen = gc.get_freeze_count(); from ceql import discover\n"
        "assert gc.get_freeze_count() >= frozen // 2\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_errors_form_one_tree():
    from ceql import errors

    for name in ("InputError", "UnknownNameError", "MissingExtraError"):
        assert issubclass(getattr(errors, name), ceql.CeqlError)
    assert issubclass(ceql.CeqlError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
    assert issubclass(ceql.CeqlWarning, UserWarning)


def test_a_missing_extra_names_the_command():
    from ceql.errors import missing_extra

    assert str(missing_extra("matplotlib", "plot", "Plotting")) == (
        "Plotting needs matplotlib, which is not installed: pip install 'ceql[plot]'"
    )


def test_importing_brings_in_no_optional_package():
    program = "import sys, ceql; print(sorted({'matplotlib', 'torch', 'dask', 'ray', 'cupy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
