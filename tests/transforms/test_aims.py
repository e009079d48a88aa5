"""Whatever an aim does to the data, its way back must lead to y."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.data.dataset import Dataset
from ceql.expression import compile_numpy
from ceql.formula import make_symbols
from ceql.transforms import Aim, only, plain, sampled, towards, usable_targets, with_logs
from ceql.transforms.fewer_columns import _steps
from ceql.transforms.outermost import TARGETS

ROWS = 40


def table(seed: int, columns: int = 3, low: float = 0.5) -> Aim:
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, 3.0, (ROWS, columns))
    names = tuple(f"x{k}" for k in range(columns))
    return plain(Dataset.of(pd.DataFrame(x, columns=names), rng.normal(2.0, 0.5, ROWS)), make_symbols(names))


def values(expression, aim: Aim, start: Aim) -> np.ndarray:
    """An expression over the columns of `start`, in which z stands for the values of `aim`."""
    z = make_symbols(("z",))[0]
    columns = np.column_stack([start.x, aim.y])
    return np.broadcast_to(compile_numpy(expression, [*start.symbols, z])(columns), ROWS)


def assert_leads_back(aim: Aim, start: Aim) -> None:
    z = make_symbols(("z",))[0]
    np.testing.assert_allclose(values(aim.back(z), aim, start), start.y, rtol=1e-12)
    for column, symbol in zip(aim.x.T, aim.symbols, strict=True):
        np.testing.assert_allclose(values(symbol, aim, start), column, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 1000), st.sampled_from([-3.0, 0.5]))
@settings(max_examples=10, deadline=None)
def test_every_step_to_fewer_variables_leads_back(seed, low):
    start = table(seed, low=low)
    steps = list(_steps(start))
    assert len(steps) > 12
    for step in steps:
        assert step.x.shape[1] == start.x.shape[1] - 1
        assert_leads_back(step, start)
        for second in _steps(step):
            assert_leads_back(second, start)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_target_leads_back(target):
    start = table(3)
    start = Aim(start.x, np.abs(start.y) + 0.1, start.weight, start.symbols)
    assert_leads_back(towards(start, target), start)
    below = Aim(start.x, -start.y, start.weight, start.symbols)
    if target.name not in ("exp y", "y^2, signed"):
        assert_leads_back(towards(below, target), below)


def test_targets_need_their_operators_and_values_in_their_domain():
    y = np.array([1.0, 2.0, 3.0])
    assert [t.name for t in usable_targets(y, ("mul",))] == ["y"]
    signed = {"y^2, signed"}
    all_but_signed = {t.name for t in TARGETS} - signed
    assert {t.name for t in usable_targets(y, ("exp", "log", "sqrt", "div"))} == all_but_signed
    assert signed <= {t.name for t in usable_targets(y - 2.5, ("sqrt", "div"))}
    assert "log y" not in {t.name for t in usable_targets(y - 2.5, ("exp",))}
    assert "1/y" not in {t.name for t in usable_targets(y - 1.0, ("div",))}


def test_logarithms_stand_beside_columns_of_one_sign():
    start = table(1, columns=3)
    x = start.x.copy()
    x[:, 1] *= -1.0
    x[:, 2] -= 1.5
    start = Aim(x, start.y, start.weight, start.symbols)
    seen = with_logs(start)
    assert seen is not None
    assert seen.x.shape[1] == 5
    assert_leads_back(seen, start)
    assert seen.is_direct


def test_without_a_column_of_one_sign_there_are_no_logarithms():
    start = table(1)
    assert with_logs(Aim(start.x - 1.5, start.y, start.weight, start.symbols)) is None


def test_chosen_columns_keep_their_names():
    start = table(2)
    assert only(start, [2, 0]).symbols == (start.symbols[2], start.symbols[0])
    np.testing.assert_array_equal(only(start, [2, 0]).x, start.x[:, [2, 0]])


def test_only_y_itself_is_direct():
    start = table(0)
    by_name = {target.name: target for target in TARGETS}
    assert start.is_direct
    assert towards(start, by_name["y"]).is_direct
    assert not towards(start, by_name["1/y"]).is_direct


def moved(aim: Aim, start: Aim, remade) -> np.ndarray:
    """How far the values of the aim move with those it was made of, by a difference."""
    step = 1e-5
    return np.abs(remade(Aim(start.x, start.y + step, start.weight, start.symbols)).y - aim.y) / step


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_slope_of_a_target_says_how_far_noise_moves_it(target):
    start = table(3)
    start = Aim(start.x, np.abs(start.y) + 0.5, start.weight, start.symbols)
    aim = towards(start, target)
    slope = np.broadcast_to(aim.slope, ROWS)
    np.testing.assert_allclose(slope, moved(aim, start, lambda base: towards(base, target)), rtol=1e-3)


def test_the_slope_of_fewer_variables_says_it_too():
    start = table(4)
    for k, step in enumerate(_steps(start)):
        slope = np.broadcast_to(step.slope, ROWS)
        again = moved(step, start, lambda base, k=k: list(_steps(base))[k])
        np.testing.assert_allclose(slope, again, rtol=1e-6)


def test_a_sample_keeps_the_slopes_of_its_rows():
    aim = towards(table(5), next(target for target in TARGETS if target.name == "exp y"))
    few = sampled(aim, 10)
    np.testing.assert_allclose(few.slope, few.y, rtol=1e-5)
