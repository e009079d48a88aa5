"""What `ceql fit` and `ceql show` say of laws, of formulas beside the front and of those that are struck."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ceql.cli.front_table import CHOSEN
from ceql.cli.summary import as_json, in_words


@pytest.fixture
def saved(law_model, tmp_path):
    path = tmp_path / "m.ceql"
    law_model().save(path)
    return path


def with_best(model, **changes):
    """The same model with another law for its chosen formula."""
    found = model.discovery_
    best = replace(found.best, law=replace(found.best.law, **changes))
    model._take([replace(found, front=(found.front[0], best))], model._targets, from_frame=True)
    return model


def test_the_law_stands_under_the_formula_with_its_constants_by_name(law_model):
    lines = in_words(law_model()._finding()).splitlines()
    assert lines[:5] == [
        "rate = 2.0*dose/(dose + 1.5)",
        "Michaelis-Menten: V*dose/(K + dose)",
        "  V = 2 ± 0.02 (largest rate)",
        "  K = 1.5, which the rows do not determine (dose of half the largest rate)",
        "  also known as Langmuir isotherm, Monod growth, Emax model and 1 more",
    ]
    assert not [line for line in lines if line.startswith("constant: ")]


def test_a_constant_that_is_known_exactly_has_no_error(law_model):
    model = law_model()
    exact = replace(model.discovery_.best.law.constants[0], error=0.0)
    assert "  V = 2 (largest rate)" in in_words(with_best(model, constants=(exact,), others=())._finding())


def test_a_row_without_a_law_has_its_constants_as_before(law_model):
    words = in_words(law_model()._finding(row=3))
    assert words.count("constant: ") == 2
    assert "V = " not in words


def test_the_table_names_the_laws_in_short(law_model):
    words = in_words(with_best(law_model(), name="heat capacity of a metal at low temperature")._finding())
    assert "heat capacity of a metal at..." in words
    assert "law " in words
    plain = law_model()
    nameless = [replace(f, law=None) for f in plain.discovery_.formulas]
    found = replace(plain.discovery_, front=tuple(nameless[:2]), shortlist=tuple(nameless[2:]))
    plain._take([found], plain._targets, from_frame=True)
    assert "law " not in in_words(plain._finding())


def rows_beside(words):
    lines = words.splitlines()
    first = lines.index("beside the front:") + 1
    table = (line.removeprefix(CHOSEN).split() for line in lines[first:] if "0." in line)
    return [int(words[0]) for words in table if words[0].isdigit()]


def test_formulas_without_a_chance_are_not_printed_unless_asked_for(law_model):
    model = law_model()
    words = in_words(model._finding())
    assert rows_beside(words) == [2, 3, 4, 5, 6]
    assert "3 more beside the front are less likely; see them with --more 8." in words
    assert rows_beside(in_words(model._finding(), more=7)) == [*range(2, 9)]
    assert "1 more beside the front is less likely; see it with --more 8." in in_words(model._finding(), more=7)
    assert rows_beside(in_words(model._finding(), more=8)) == [*range(2, 10)]
    assert "beside the front:" not in in_words(model._finding(), more=0)


def test_the_chosen_row_and_the_one_asked_for_are_always_printed(law_model):
    model = law_model()
    assert rows_beside(in_words(model._finding(row=9))) == [2, 3, 4, 5, 6, 9]
    model._take([replace(model.discovery_, chosen=8)], model._targets, from_frame=True)
    assert rows_beside(in_words(model._finding(), more=0)) == [8]


def test_struck_formulas_are_counted_or_told(law_model):
    model = law_model()
    found = model._finding()
    assert "2 formulas were struck; see them with --struck." in in_words(found)
    told = in_words(found, struck=True)
    for one in model.discovery_.struck:
        assert f"  {one.formula}\n      {one.why}\n" in told
    assert "--struck" not in told
    only = replace(found, discovery=replace(found.discovery, struck=found.discovery.struck[:1]))
    assert "1 formula was struck; see it with --struck." in in_words(only)
    none = replace(found, discovery=replace(found.discovery, struck=()))
    assert "struck" not in in_words(none)
    assert "No formula was struck." in in_words(none, struck=True)


def test_json_has_laws_prices_and_what_is_struck(law_model):
    model = law_model()
    content = json.loads(json.dumps(as_json(model._finding()), allow_nan=False))
    law = content["front"][1]["law"]
    assert (law["name"], law["field"], law["formula"]) == ("Michaelis-Menten", "kinetics", "V*dose/(K + dose)")
    first, second = law["constants"]
    assert first == {"name": "V", "meaning": "largest rate", "value": 2.0, "standard_error": 0.02}
    assert math.isinf(model.discovery_.best.law.constants[1].error)
    assert second["standard_error"] is None
    assert law["others"][0] == "Langmuir isotherm"
    assert content["law"] == law
    assert content["shortlist"][1]["law"] is None
    prices = [row["price"] for row in content["front"] + content["shortlist"]]
    assert prices == model.equations_["price"].tolist()
    assert content["struck"] == [{"expression": str(s.formula), "why": s.why} for s in model.discovery_.struck]


def test_show_has_the_same_options(ceql, saved):
    code, out, err = ceql("show", saved)
    assert (code, err) == (0, "")
    assert "Michaelis-Menten: V*dose/(K + dose)" in out
    assert "  K = 1.5, which the rows do not determine" in out
    assert rows_beside(out) == [2, 3, 4, 5, 6]
    out = ceql("show", saved, "--struck", "--more", "8")[1]
    assert rows_beside(out) == [*range(2, 10)]
    assert "that no row shows" in out
    assert json.loads(ceql("show", saved, "--json", "-")[1])["struck"][0]["why"].startswith("has a pole")


@pytest.mark.parametrize("options", [(), ("--more", "12", "--struck")])
def test_a_fit_names_the_law(ceql, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    dose = np.geomspace(0.1, 20, 40)
    pd.DataFrame({"dose": dose, "rate": 2.0 * dose / (1.5 + dose) + 0.02 * rng.normal(size=40)}).to_csv("rates.csv")
    quick = ("--features", "dose", "--operators", "mul,div", "--time-limit", "4", "--no-checkpoint")
    code, out, _ = ceql("fit", "rates.csv", "--target", "rate", *quick, *options, "--json", "found.json")
    assert code == 0
    assert "Michaelis-Menten: V*dose/(K + dose)\n  V = " in out
    assert " (largest rate)\n" in out
    content = json.loads((tmp_path / "found.json").read_text())
    assert content["law"]["name"] == "Michaelis-Menten"
    assert "struck" in content
    if options:
        assert len(rows_beside(out)) == len(content["shortlist"])
        assert ("Struck, and why:" in out) == bool(content["struck"])


def test_quiet_prints_the_formula_alone(ceql, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.linspace(1, 2, 20)
    pd.DataFrame({"x": x, "y": 2 * x}).to_csv("data.csv", index=False)
    assert ceql("fit", "data.csv", "--target", "y", "--quiet", "--struck")[1].count("\n") == 1
