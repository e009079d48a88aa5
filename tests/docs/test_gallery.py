"""The gallery: every table has a page, and the pages say what the command says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ceql.dynamics.system import System
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols

ROOT = Path(__file__).parents[2]
GALLERY = runpy.run_path(str(ROOT / "tools" / "gallery.py"), run_name="gallery")
EXAMPLES = {example.table: example for example in GALLERY["examples"]()}
FORMULAS = [name for name, example in EXAMPLES.items() if not example.states]
SERIES = [name for name, example in EXAMPLES.items() if example.states]
QUICK = ("ptolemy", "hubble")  # the others take seconds each; `python tools/gallery.py` runs them all


def page_of(name: str) -> str:
    return (GALLERY["PAGES"] / f"{name}.md").read_text(encoding="utf-8")


def test_every_table_has_an_entry_and_every_entry_a_page_and_a_picture():
    assert {path.stem for path in GALLERY["TABLES"].glob("*.csv")} == set(EXAMPLES)
    for name in EXAMPLES:
        assert (GALLERY["PAGES"] / f"{name}.png").stat().st_size < 60_000
        assert page_of(name)
    assert sum(not example.made for example in EXAMPLES.values()) >= 20


def test_a_table_that_was_not_measured_says_so():
    made = {name for name, example in EXAMPLES.items() if example.made}
    assert {name for name in EXAMPLES if "synthetic, not measured" in page_of(name)} == made


def test_the_fields_are_those_that_people_ask_for():
    asked = {"optics", "kinetics", "growth", "thermodynamics", "mechanics", "astronomy", "materials", "electronics"}
    assert asked | {"resonances", "dynamics"} <= {example.field for example in EXAMPLES.values()}


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f"gallery/{name}.md" in navigation for name in (*EXAMPLES, "index"))


def test_the_index_has_the_formula_of_every_page():
    assert (GALLERY["PAGES"] / "index.md").read_text(encoding="utf-8") == GALLERY["index"](list(EXAMPLES.values()))


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula_of_a_page_describes_its_table(name):
    table = pd.read_csv(EXAMPLES[name].path)
    x, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy(float)
    text = re.search(r"^`.+? = (.+)`$", page_of(name), re.MULTILINE)
    assert text is not None
    names = EXAMPLES[name].columns[:-1]
    predicted = Formula(parse_formula(text[1], names), make_symbols(names), 0.0)(x)
    shown = re.search(r"^R2 (\S+) on the rows", page_of(name), re.MULTILINE)
    assert shown is not None
    assert 1.0 - np.var(y - predicted) / np.var(y) == pytest.approx(float(shown[1]), abs=2e-3)


@pytest.mark.parametrize("name", SERIES)
def test_the_equations_of_a_page_simulate_its_series(name):
    example, page = EXAMPLES[name], page_of(name)
    table = pd.read_csv(example.path)
    shown = re.search(r"^`(d.+)`$", page, re.MULTILINE)
    begin = re.search(r"^Initial state, at .+?: (.+)$", page, re.MULTILINE)
    scores = re.search(r"^R2 of the trajectory.+?: (.+) \(", page, re.MULTILINE)
    assert shown is not None
    assert begin is not None
    assert scores is not None
    symbols = make_symbols(example.states)
    texts = [equation.partition(" = ")[2] for equation in shown[1].split("; ")]
    formulas = tuple(Formula(parse_formula(text, example.states), symbols, 0.0) for text in texts)
    initial = [float(part.split(" = ")[1].split(" ")[0]) for part in begin[1].split(", ")]
    states = System(tuple(example.states), formulas).simulate(initial, table.iloc[:, 0].to_numpy(float))
    for k, (state, score) in enumerate(zip(example.states, scores[1].split(", "), strict=True)):
        measured = table[state].to_numpy(float)
        found = 1.0 - np.mean((states[:, k] - measured) ** 2) / np.var(measured)
        assert found == pytest.approx(float(score.split(" ")[1]), abs=0.03)  # numbers are rounded to their errors


@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if example.law])
def test_a_law_is_called_by_its_name(name):
    assert re.search(rf"^{re.escape(EXAMPLES[name].law)}: ", page_of(name), re.MULTILINE)


@pytest.mark.parametrize("name", QUICK)
def test_a_page_shows_what_the_command_prints(name, tmp_path):
    printed, model = GALLERY["fitted"](EXAMPLES[name], tmp_path)
    assert GALLERY["page"](EXAMPLES[name], printed) == page_of(name)
    assert model.exists()
