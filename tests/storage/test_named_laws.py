"""Laws and struck formulas in model files: kept as they are, checked when they are read."""

from __future__ import annotations

import functools
import json
import math
import operator
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import sympy

from ceql import load
from ceql.choice.sifting import Struck
from ceql.storage.model_file import ModelFileError


def kept(model, path):
    model.save(path)
    return load(path)


def test_laws_and_what_is_struck_come_back(law_model, tmp_path):
    model = law_model()
    again = kept(model, tmp_path / "m.ceql")
    found, before = again.discovery_, model.discovery_
    assert [f.law for f in found.formulas] == [f.law for f in before.formulas]
    assert math.isinf(again.constants_.loc["K", "standard_error"])
    assert [(str(s.formula), s.formula.law, s.why) for s in found.struck] == [
        (str(s.formula), s.formula.law, s.why) for s in before.struck
    ]
    pd.testing.assert_frame_equal(again.equations_, model.equations_)
    pd.testing.assert_frame_equal(again.constants_, model.constants_)
    pd.testing.assert_frame_equal(again.struck_, model.struck_)


def test_several_targets_keep_theirs(law_model, tmp_path):
    again = kept(law_model(2), tmp_path / "m.ceql")
    assert [len(table) for table in again.struck_] == [2, 2]
    assert [table.index.name for table in again.constants_] == ["Michaelis-Menten"] * 2


def test_an_error_that_is_no_number_comes_back(law_model, tmp_path):
    model = law_model()
    found = model.discovery_
    constants = (replace(found.best.law.constants[0], error=math.nan),)
    best = replace(found.best, law=replace(found.best.law, constants=constants))
    model._take([replace(found, front=(found.front[0], best))], model._targets, from_frame=True)
    assert math.isnan(kept(model, tmp_path / "m.ceql").constants_.loc["V", "standard_error"])


def test_a_struck_formula_that_no_reader_takes_is_left_out(law_model, tmp_path):
    model = law_model()
    found = model.discovery_
    beyond = replace(found.best, expression=found.best.symbols[0] * sympy.Float(3e305), law=None)
    endless = replace(found.best, loss=math.inf)
    struck = (*found.struck, Struck(beyond, "is out of all proportion"), Struck(endless, "has no end"))
    model._take([replace(found, struck=struck)], model._targets, from_frame=True)
    assert len(model.struck_) == 4
    assert kept(model, tmp_path / "m.ceql").struck_["why"].tolist() == [one.why for one in found.struck]


def test_a_file_of_version_0_1_0_has_neither():
    old = load(Path(__file__).with_name("model-0.1.0.ceql"))
    assert old.struck_.columns.tolist() == ["equation", "why"]
    assert old.struck_.empty
    assert all(formula.law is None for formula in old.discovery_.formulas)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("front[1].law", 5, "5 is not a table with the field 'name'"),
        ("front[1].law.name", 7, "'name' is 7 and no text"),
        ("front[1].law.name", "  ", "'name' is '  ', which cannot be read as words"),
        ("front[1].law.formula", "\ud800", "'formula' is '\\ud800', which cannot be read as words"),
        ("front[1].law.known", 5, "'known' is 5, which is not a whole number from 0 to 4"),
        ("front[1].law.others", ["a", 3], "'others' holds 3, which is not a name"),
        ("front[1].law.constants", {}, "'constants' is {} and no list"),
        ("front[1].law.constants[0]", "V", "'V' is not a table"),
        ("front[1].law.constants[0].value", math.inf, "'value' is inf, which is not a finite number"),
        ("front[1].law.constants[0].error", -1.0, "'error' is -1.0"),
        ("front[1].law.constants[0].error", "small", "'error' is 'small', which is not a number"),
        ("front[1].law.constants[0].meaning", None, "'meaning' is None and no text"),
        ("shortlist[0].law.field", None, "'field' is None and no text"),
        ("struck", {}, "'struck' is {} and no list"),
        ("struck[0]", "x", "'x' is not a table with the field 'expression'"),
        ("struck[0].why", 3, "'why' is 3 and no text"),
        ("struck[0].why", "", "'why' is '', which cannot be read as words"),
        ("struck[1].law.name", 3, "'name' is 3 and no text"),
        ("struck[0].expression", "__import__('os')", ""),
        ("struck[0].expression", "x" * 300_000, "its formulas are too long"),
    ],
)
def test_a_damaged_entry_is_named(law_model, tmp_path, place, value, words):
    path = tmp_path / "model.ceql"
    law_model().save(path)
    content = json.loads(path.read_text())
    *way, last = [int(k) if k.isdecimal() else k for k in re.findall(r"\w+", place)]
    functools.reduce(operator.getitem, way, content)[last] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=f"model.ceql is damaged: .*{re.escape(words)}"):
        load(path)


@pytest.mark.parametrize("name", ["name", "field", "formula", "constants", "known", "others"])
def test_a_missing_part_of_a_law_is_named(law_model, tmp_path, name):
    path = tmp_path / "model.ceql"
    law_model().save(path)
    content = json.loads(path.read_text())
    del content["front"][1]["law"][name]
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=f"damaged: the field '{name}' is missing"):
        load(path)
