"""Every law of the catalogue can be read, says what it means, and is the same to SymPy and to the arrays."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from ceql.catalogue.law import Start, catalogue, read_laws
from ceql.errors import InputError
from ceql.expression import compile_numpy
from ceql.formula import make_symbols

LAWS = catalogue()
LAW = """field = "test"
[[law]]
name = "test"
formula = "V*x1/(K + x1)"
columns.x1 = { is = "input", from = 0.0, to = 1.0 }
constants.V = { is = "largest", value = 1.0 }
constants.K = { is = "half", value = 1.0, start = "size of x1", above = 0.0 }
"""


def middle_of(law) -> np.ndarray:
    share = np.linspace(0.1, 0.9, 7)[:, None]
    lower, upper = (np.array([getattr(c, side) for c in law.columns]) for side in ("lower", "upper"))
    return lower + (upper - lower) * share if law.columns else np.zeros((7, 0))


def test_there_are_laws_of_many_fields():
    assert len(LAWS) >= 150
    assert len({law.field for law in LAWS}) >= 12
    assert {len(law.columns) for law in LAWS} == {0, 1, 2, 3}


def test_a_name_is_given_once():
    names = [name for law in LAWS for name in (law.name, *(alias.name for alias in law.others))]
    assert len(set(names)) == len(names)


def test_no_formula_is_there_twice():
    """The same family under another name is an alias."""
    seen: dict[str, str] = {}
    for law in LAWS:
        text = law.formula
        for k, name in enumerate(law.names):
            text = "".join(f"c{k}" if part == name else part for part in re.split(r"(\w+)", text))
        assert text not in seen, (law.name, seen.get(text))
        seen[text] = law.name


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_sympy_and_the_arrays_agree(law):
    values = [constant.typical for constant in law.constants]
    names = tuple(column.name for column in law.columns)
    x = middle_of(law)
    by_arrays = law.program.value(x, np.array(values))
    by_sympy = compile_numpy(law.with_numbers(values, names), make_symbols(names))(x)
    assert np.isfinite(by_arrays).all()
    np.testing.assert_allclose(by_arrays, by_sympy, rtol=1e-9, atol=1e-12 * np.abs(by_sympy).max())


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_constants_without_a_start_are_linear(law):
    rng = np.random.default_rng(0)
    x = middle_of(law)
    values = np.array([constant.typical for constant in law.constants])
    linear = list(law.linear)
    one, other = values.copy(), values.copy()
    one[linear] *= rng.uniform(0.5, 2.0, len(linear))
    other[linear] *= rng.uniform(0.5, 2.0, len(linear))
    between = law.program.value(x, 0.5 * (one + other))
    mean = 0.5 * (law.program.value(x, one) + law.program.value(x, other))
    np.testing.assert_allclose(between, mean, rtol=1e-9, atol=1e-12 * np.abs(mean).max())


def test_nothing_is_read_when_the_package_is_imported():
    program = (
        "import ceql.catalogue.fitting, ceql.catalogue.law as l; assert l.catalogue.cache_info().currsize == 0; "
        "l.catalogue(); assert not any('expression' in vars(law) for law in l.catalogue())"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_quantities_of_starts():
    (law,) = read_laws(LAW.replace("size of x1", "rate of y/x1**2"))
    assert law.constants[1].start == Start("rate", (("y", 1.0), ("x1", -2.0)))


@pytest.mark.parametrize(
    ("wrong", "right", "complaint"),
    [
        ("V*x1/(Q + x1)", "V*x1/(K + x1)", "does not say what Q is"),
        ("V*x1/(1 + x1)", "V*x1/(K + x1)", "does not use K"),
        ("size of z1", "size of x1", "which is not known"),
        ("girth of x1", "size of x1", "which is not known"),
        ("size of x1+y", "size of x1", "not a product of powers"),
        ("value = -1.0, start", "value = 1.0, start", "outside the bounds"),
        ("columns.x2", "columns.x1", "must call its columns|does not say"),
    ],
)
def test_a_mistake_is_named(wrong, right, complaint):
    with pytest.raises(InputError, match=complaint):
        read_laws(LAW.replace(right, wrong))


def test_a_formula_that_cannot_be_read_is_named():
    (law,) = read_laws(LAW.replace("V*x1/(K + x1)", "V*x1/(K + x1"))
    with pytest.raises(InputError, match="'test' cannot be read"):
        _ = law.expression


def test_a_linear_constant_below_the_line_is_refused():
    (law,) = read_laws(LAW.replace(', start = "size of x1", above = 0.0', ""))
    with pytest.raises(InputError, match="not linear in V, K together"):
        _ = law.program


@pytest.mark.parametrize("law", catalogue(), ids=lambda law: law.name)
def test_no_constant_is_called_as_a_column_is(law):
    """Columns that have the names of its constants, in any place, and a further one."""
    columns = [law.names[k % len(law.names)] if law.names else "q" for k in range(len(law.columns))]
    columns = [f"{name}{'0' * (columns[:k].count(name))}" for k, name in enumerate(columns)]
    table = [*columns, "unused"]
    names = law.names_beside(table)
    assert not {*names} & {*table}
    assert len({*names}) == len(law.names)
    text = law.text(columns, table)
    known = {*names, *columns}
    words = set(re.findall(r"[A-Za-z_]\w*", text)) - known
    assert not words & {*law.names}
