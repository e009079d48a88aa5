"""One law for all groups: which structure, and which constants each group has for itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ceql import CEQLRegressor
from ceql.catalogue.law import catalogue
from ceql.data.dataset import Dataset
from ceql.data.groups import labels_of
from ceql.discovery import Outcome, Settings
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols
from ceql.groups.discovering import Wanted, discover_groups
from ceql.groups.grouped_formula import GroupedFormula
from ceql.groups.policy import POLICY
from ceql.groups.rows import GroupedRows
from ceql.groups.splitting import Splitter, Structure
from ceql.groups.structures import skeleton, substituted, with_offset

SHARED_DATA = Path(__file__).parents[2].parent / "shared" / "data" / "groups"
LAWS = {law.name: law for law in catalogue()}


def lenses(noise: float = 0.002) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = np.tile(np.linspace(15.0, 60.0, 8), 3)
    f = np.repeat([8.0, 10.0, 12.5], 8)
    return p[:, None], f * p / (p - f) * (1.0 + noise * rng.normal(size=24)), np.repeat(["A", "B", "C"], 8)


def discovered(x: np.ndarray, y: np.ndarray, labels: np.ndarray, **more):
    data = Dataset.of(x, y)
    settings = Settings(time_limit=600.0, **more)
    return discover_groups(data, labels_of(labels, len(y)), settings, Wanted(), lambda table: ())


@pytest.fixture(scope="module")
def three_lenses():
    return discovered(*lenses())


def test_three_lenses_have_a_focal_length_each(three_lenses):
    best = three_lenses.best
    assert isinstance(best, GroupedFormula)
    assert best.law is not None
    assert best.law.name == "thin lens"
    assert best.parts.shared == ()
    np.testing.assert_allclose(best.parts.table(best.values)[:, 0], [8.0, 10.0, 12.5], rtol=5e-3)


def test_neither_order_nor_names_matter(three_lenses):
    x, y, labels = lenses()
    order = np.random.default_rng(1).permutation(len(y))
    names = {"A": "zeta", "B": "beta", "C": "3"}
    moved = discovered(x[order], y[order], np.array([names[label] for label in labels[order]]))
    here, there = three_lenses.best, moved.best
    assert isinstance(there, GroupedFormula)
    assert str(here) == str(there)
    for old, new in names.items():
        one, other = here.of_group(old), there.of_group(new)
        assert one.expression == other.expression
        np.testing.assert_allclose(one.constants, other.constants)
    assert [str(formula) for formula in three_lenses.formulas] == [str(formula) for formula in moved.formulas]


def test_without_noise_the_constants_are_exact():
    x, y, labels = lenses(noise=0.0)
    found = discovered(x, y, labels)
    assert found.outcome is Outcome.EXACT
    best = found.best
    assert isinstance(best, GroupedFormula)
    assert best.parts.table(best.values)[:, 0].tolist() == [8.0, 10.0, 12.5]


def test_one_constant_of_two_is_found_to_be_shared():
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(5), 9)
    x = rng.uniform(0.2, 6.0, len(codes))
    y = rng.uniform(1.0, 4.0, 5)[codes] * x / (1.3 + x) + 0.01 * rng.normal(size=len(codes))
    rows = GroupedRows.of(Dataset.of(x[:, None], y), codes)
    law = LAWS["Michaelis-Menten"]
    structure = Structure(law, (0,), np.full((5, 2), 1.5))
    best = Splitter(structure, rows, POLICY).all_splits()[0]
    assert dict(zip(law.names, best.fit.own, strict=True)) == {"V": True, "K": False}


def steps(noise: float = 0.02) -> tuple[GroupedRows, np.ndarray]:
    """Logistic steps of one height, and their constants c, L, k and m in the order of the groups."""
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(9), 14)
    c, k, m = rng.uniform(1.0, 3.0, 9), rng.uniform(1.0, 3.0, 9), rng.uniform(2.5, 5.5, 9)
    x = rng.uniform(0.5, 8.0, len(codes))
    y = c[codes] + 5.0 / (1.0 + np.exp(-k[codes] * (x - m[codes]))) + noise * rng.normal(size=len(codes))
    rows = GroupedRows.of(Dataset.of(x[:, None], y), codes)
    return rows, np.column_stack([c, np.full(9, 5.0), k, m])[rows.order]


def mirrored(values: np.ndarray) -> np.ndarray:
    """The same steps, seen from above."""
    c, height, k, m = values.T
    return np.column_stack([c + height, -height, -k, m])


def lost(values: np.ndarray) -> np.ndarray:
    """As a group ends whose rows do not determine a step."""
    return np.tile([25.0, -8e25, 0.2, 1e4], (len(values), 1))


@pytest.mark.parametrize(
    ("changed", "which"), [(mirrored, slice(0, 9, 2)), (mirrored, slice(3, 9)), (lost, slice(8, 9))]
)
def test_where_some_groups_begin_is_no_matter_for_what_is_shared(changed, which):
    rows, values = steps()
    start = values.copy()
    start[which] = changed(values[which])
    law = LAWS["logistic with floor"]
    assert law.names == ("c", "L", "k", "m")
    best = Splitter(Structure(law, (0,), start), rows, POLICY).all_splits()[0]
    assert best.fit.own == (True, False, True, True)
    assert abs(best.fit.values[0, 1]) == pytest.approx(5.0, rel=0.01)


def test_a_sine_of_less_than_a_period_is_kept_where_nothing_else_fits():
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(6), 16)
    x = np.column_stack([rng.uniform(0.5, 8.0, len(codes)), rng.uniform(1.0, 5.0, len(codes))])
    clean = 2.5 * x[:, 1] ** rng.uniform(0.8, 2.0, 6)[codes] * np.sin(0.7 * x[:, 0])
    found = discovered(x, clean + 0.01 * clean.std() * rng.normal(size=len(codes)), codes.astype(str))
    assert "x2**a[group]*sin(" in str(found.best)
    assert found.r2[found.chosen] > 0.999


def test_structures_are_freed_and_put_together():
    symbols = make_symbols(("t",))
    found = skeleton(parse_formula("2.5*exp(-3*t) + 4", ["t"]), symbols)
    assert found is not None
    law, places = found
    assert places == (0,)
    assert len(law.constants) == 3
    longer = with_offset(LAWS["Michaelis-Menten"])
    assert longer is not None
    assert len(longer.constants) == 3
    assert with_offset(longer) is None
    k = longer.names.index("K")
    fixed = substituted(longer, {k: parse_formula("2", [])})
    assert fixed is not None
    assert "K" not in fixed.names


def test_the_clock_ends_the_search_and_something_is_found():
    x, y, labels = lenses()
    data = Dataset.of(x, y)
    found = discover_groups(data, labels_of(labels, 24), Settings(time_limit=0.05), Wanted(), lambda table: ())
    assert found.outcome is Outcome.OUT_OF_TIME
    assert np.isfinite(found.best(np.column_stack([x, np.repeat([0, 1, 2], 8)]))).all()


def test_an_interrupt_keeps_what_was_found():
    x, y, labels = lenses()
    told = []

    def interrupt(progress):
        told.append(progress)
        if len(told) == 2:  # laws have been fitted by then
            raise KeyboardInterrupt

    found = discover_groups(
        Dataset.of(x, y), labels_of(labels, 24), Settings(time_limit=600.0), Wanted(), lambda table: (), interrupt
    )
    assert found.outcome is Outcome.INTERRUPTED
    assert isinstance(found.best, Formula)


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the measured tables are not here")
def test_puromycin_is_michaelis_menten_with_a_shared_constant():
    table = pd.read_csv(SHARED_DATA / "puromycin.csv")
    model = CEQLRegressor(per_group="auto", time_limit=600.0, threads=1)
    model.fit(table[["conc", "state"]], table["rate"], groups="state")
    law = model.discovery_.best.law
    assert law is not None
    assert law.name == "Michaelis-Menten"
    assert model.constants_.loc["K", "value"] == pytest.approx(0.058, rel=0.01)
    found = model.group_constants_["V"]["value"]
    assert found["treated"] == pytest.approx(208.6, rel=0.01)
    assert found["untreated"] == pytest.approx(166.6, rel=0.01)
