"""CEQLRegressor(per_group=...): a template with constants of groups, predictions, new groups, files and pictures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import LeaveOneGroupOut

from ceql import CeqlError, CEQLRegressor, CeqlWarning, Parameter, Template, load
from ceql.groups.grouped_formula import GroupedFormula

LENS = Template("f*p/(p - f)", parameters={"f": Parameter(low=0.0)})
LINE = Template("a + b*x", parameters={"a": Parameter(), "b": Parameter()})
FOCAL = {"A": 8.0, "B": 10.0, "C": 12.5}


def lenses(noise: float = 0.002, rows: int = 8) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    p = np.tile(np.linspace(15.0, 60.0, rows), 3)
    lens = np.repeat(list(FOCAL), rows)
    f = np.array([FOCAL[label] for label in lens])
    q = f * p / (p - f) * (1.0 + noise * rng.normal(size=len(p)))
    return pd.DataFrame({"lens": lens, "p": p, "q": q})


def fitted(table: pd.DataFrame | None = None, **more) -> CEQLRegressor:
    table = lenses() if table is None else table
    model = CEQLRegressor(template=LENS, **{"per_group": ["f"], **more})
    return model.fit(table[["lens", "p"]], table["q"], groups="lens")


@pytest.fixture(scope="module")
def model() -> CEQLRegressor:
    return fitted()


@pytest.mark.parametrize("per_group", [["f"], 1, "auto"])
def test_a_template_has_a_constant_of_each_group(per_group):
    model = fitted(per_group=per_group)
    table = model.group_constants_
    assert model.groups_ == ["A", "B", "C"]
    assert list(table.index) == ["A", "B", "C"]
    np.testing.assert_allclose(table["f"]["value"], list(FOCAL.values()), rtol=2e-3)
    assert (np.abs(table["f"]["value"] - list(FOCAL.values())) < 4 * table["f"]["standard_error"]).all()
    assert len(model.constants_) == 0
    assert str(model.sympy()) == "f[lens]*p/(-f[lens] + p)"
    assert list(model.feature_names_in_) == ["p"]


def test_shared_and_own_constants_stand_in_their_tables():
    rng = np.random.default_rng(1)
    x, g = np.tile(np.arange(8.0), 4), np.repeat(list("wxyz"), 8)
    y = 3.0 * x + np.repeat([1.0, 4.0, 2.0, 9.0], 8) + 0.05 * rng.normal(size=32)
    model = CEQLRegressor(template=LINE, per_group="auto").fit(pd.DataFrame({"x": x}), y, groups=g)
    assert list(model.constants_.index) == ["b"]
    assert model.constants_.loc["b", "value"] == pytest.approx(3.0, abs=0.05)
    np.testing.assert_allclose(model.group_constants_["a"]["value"], [1.0, 4.0, 2.0, 9.0], atol=0.15)
    assert model.covariance_.shape == (5, 5)
    assert np.sqrt(model.covariance_.loc["b", "b"]) == pytest.approx(
        model.constants_.loc["b", "standard_error"], rel=0.01
    )


@given(st.permutations(range(24)), st.permutations(["u", "v", "w"]))
@settings(max_examples=10, deadline=None)
def test_neither_the_order_of_rows_nor_the_labels_matter(order, names):
    table = lenses()
    moved = table.iloc[list(order)].copy()
    renamed = dict(zip(FOCAL, names, strict=True))
    moved["lens"] = moved["lens"].map(renamed)
    here, there = fitted(table).group_constants_, fitted(moved).group_constants_
    for old, new in renamed.items():
        assert here.loc[old].tolist() == pytest.approx(there.loc[new].tolist())


def test_one_group_is_an_ordinary_fit():
    table = lenses().head(8)
    with pytest.warns(CeqlWarning, match="same label, 'A'"):
        alone = fitted(table)
    ordinary = CEQLRegressor(template=LENS).fit(table[["p"]], table["q"])
    assert alone.sympy() == ordinary.sympy()
    assert alone.groups_ == []
    np.testing.assert_array_equal(alone.predict(table), ordinary.predict(table[["p"]]))


def test_rows_are_predicted_by_their_group(model):
    table = lenses()
    values = model.predict(table)
    np.testing.assert_array_equal(values, model.predict(table[["p"]], groups=table["lens"]))
    np.testing.assert_array_equal(values, model.predict(table[["p"]].to_numpy(), groups=list(table["lens"])))
    np.testing.assert_allclose(values, table["q"], rtol=0.02)
    low, high = model.predict_interval(table)
    assert np.mean((low <= table["q"]) & (table["q"] <= high)) > 0.8
    assert model.score(table, table["q"]) > 0.999
    of_a = model.group_formula("A")
    np.testing.assert_allclose(of_a(table[["p"]].to_numpy()[:8]), values[:8])


def test_a_new_group_needs_a_few_rows(model):
    p = np.array([20.0, 45.0])
    grown = model.adapt(pd.DataFrame({"p": p}), 7.0 * p / (p - 7.0), groups="D")
    assert grown.groups_ == ["A", "B", "C", "D"]
    assert model.groups_ == ["A", "B", "C"]
    assert grown.group_constants_.loc["D", ("f", "value")] == pytest.approx(7.0, rel=1e-4)
    assert grown.predict([[30.0]], groups=["D"])[0] == pytest.approx(7.0 * 30.0 / 23.0, rel=1e-4)
    before, after = model.group_constants_, grown.group_constants_
    pd.testing.assert_frame_equal(before, after.loc[["A", "B", "C"]])


def test_a_model_is_the_same_after_a_file(model, tmp_path):
    grown = model.adapt([[20.0], [30.0]], [10.8, 9.1], groups="D")
    for one in (model, grown):
        one.save(tmp_path / "lens.ceql")
        again = load(tmp_path / "lens.ceql")
        assert again.groups_ == one.groups_
        assert again.get_params()["per_group"] == ["f"]
        pd.testing.assert_frame_equal(again.group_constants_, one.group_constants_)
        np.testing.assert_array_equal(again.predict(lenses()), one.predict(lenses()))
        assert isinstance(again.discovery_.best, GroupedFormula)
        assert str(again.sympy()) == str(one.sympy())


def test_damaged_files_are_refused_in_a_sentence(model, tmp_path):
    path = tmp_path / "lens.ceql"
    model.save(path)
    text = path.read_text()
    for old, new in (('"groups": ["A", "B", "C"]', '"groups": ["A", "B"]'), ('"own": ["f"]', '"own": ["p"]')):
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(CeqlError, match="damaged"):
            load(path)


def test_the_page_and_the_pictures_have_the_groups(model, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    ax = model.plot_fit()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A", "B", "C"]
    model.plot_poles(group="A")
    model.plot_network(group="B")
    model.report(tmp_path / "lens.html", table="lens.csv")
    page = (tmp_path / "lens.html").read_text()
    for word in ("Group by group", "<td>B</td>", "groups=table["):
        assert word in page
    assert "9.9" in model.export("python", group="B")
    assert "f" in model.latex()


def test_the_folds_take_their_share_of_every_group():
    table = lenses()
    model = CEQLRegressor(template=LENS, per_group=["f"], cv=4).fit(table[["p"]], table["q"], groups=table["lens"])
    assert model.discovery_.r2_cv[0] > 0.999
    whole = CEQLRegressor(template=LENS, per_group=["f"], cv=LeaveOneGroupOut())
    with pytest.raises(CeqlError, match=r"cannot split|holds out"):
        whole.fit(table[["p"]], table["q"], groups=table["lens"])


def test_groups_alone_still_hold_rows_out_together():
    table = lenses()
    model = CEQLRegressor(template=LENS).fit(table[["p"]], table["q"], groups=table["lens"])
    assert model.groups_ == []
    by_name = CEQLRegressor(template=LENS).fit(table[["p", "lens"]], table["q"], groups="lens")
    assert by_name.discovery_.r2_cv == model.discovery_.r2_cv
    assert list(by_name.feature_names_in_) == ["p"]


def test_weights_and_errors_of_measurement_count():
    table = lenses()
    table.loc[0, "q"] = 100.0
    weight = np.ones(24)
    weight[0] = 0.0
    model = CEQLRegressor(template=LENS, per_group=["f"])
    model.fit(table[["p"]], table["q"], sample_weight=weight, groups=table["lens"])
    assert model.group_constants_.loc["A", ("f", "value")] == pytest.approx(8.0, rel=2e-3)
    known = CEQLRegressor(template=LENS, per_group=["f"])
    known.fit(table[["p"]].iloc[1:], table["q"].iloc[1:], groups=table["lens"].iloc[1:], sigma=np.full(23, 0.04))
    assert known.chi_square_ is not None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"groups": None}, "needs labels of the rows"),
        ({"groups": [None] + ["A"] * 23}, "no label in row 0"),
        ({"groups": list(range(24))}, "as many groups of group as rows"),
        ({"groups": ["A"] * 12 + ["B"] * 11 + ["C"]}, "'C' of group has 1 row"),
        ({"groups": ["A"] * 5}, "one label for each row"),
        ({"per_group": ["g"]}, "no parameter to be found in the template 'g'"),
        ({"per_group": 2}, "only 1 parameters"),
        ({"per_group": 0}, "at least 1"),
        ({"per_group": "each"}, "'auto', a number"),
        ({"per_group": 1.5}, "'auto', a number"),
        ({"template": None}, "only a template has"),
        ({"loss": "huber"}, "loss='squared'"),
        ({"recipe": "paper", "template": None, "per_group": "auto"}, "recipe='search'"),
        ({"checkpoint": "x"}, "cannot use a checkpoint"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(change, sentence):
    table = lenses()
    groups = change.pop("groups", table["lens"])
    model = CEQLRegressor(**{"template": LENS, "per_group": ["f"], **change})
    with pytest.raises(CeqlError, match=sentence):
        model.fit(table[["p"]], table["q"], groups=groups)


def test_what_a_model_cannot_say_is_said_in_a_sentence(model):
    with pytest.raises(CeqlError, match="give the group of each row"):
        model.predict([[20.0]])
    with pytest.raises(CeqlError, match="knows no group 'Z' of lens"):
        model.predict([[20.0]], groups=["Z"])
    with pytest.raises(CeqlError, match="knows group 'A' already"):
        model.adapt([[20.0], [30.0]], [10.0, 9.0], groups="A")
    with pytest.raises(CeqlError, match="name the group, such as"):
        model.export("c")
    plain = CEQLRegressor(template=LENS).fit(lenses()[["p"]], lenses()["q"])
    with pytest.raises(CeqlError, match="adapt needs a model with constants of groups"):
        plain.adapt([[20.0]], [10.0], groups="D")
    with pytest.raises(CeqlError, match="no constants of groups"):
        plain.group_formula("A")
    two = CEQLRegressor(template=LINE, per_group=["a", "b"])
    table = pd.DataFrame({"x": np.tile(np.arange(6.0), 2), "g": np.repeat(["u", "v"], 6)})
    two.fit(table, np.tile(np.arange(6.0), 2) * np.repeat([1.0, 2.0], 6) + np.sin(np.arange(12.0)), groups="g")
    with pytest.raises(CeqlError, match="'z' has 1 row, too few for its 2 constants"):
        two.adapt([[1.0], [2.0], [3.0]], [2.0, 3.0, 4.0], groups=["w", "w", "z"])
