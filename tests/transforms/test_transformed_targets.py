"""Whatever a transform does to the data, its way back must lead to y."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.data.dataset import Dataset
from ceql.expression import compile_numpy
from ceql.formula import make_symbols
from ceql.transforms import TransformedTarget, only, plain, sampled, towards, usable_targets, with_logs
from ceql.transforms.fewer_columns import steps
from ceql.transforms.outermost import TARGETS

ROWS = 40


def table(seed: int, columns: int = 3, low: float = 0.5) -> TransformedTarget:
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, 3.0, (ROWS, columns))
    names = tuple(f"x{k}" for k in range(columns))
    return plain(Dataset.of(pd.DataFrame(x, columns=names), rng.normal(2.0, 0.5, ROWS)), make_symbols(names))


def values(expression, transformed: TransformedTarget, start: TransformedTarget) -> np.ndarray:
    """An expression over the columns of `start`, in which z stands for the values of `transformed`."""
    z = make_symbols(("z",))[0]
    columns = np.column_stack([start.x, transformed.y])
    return np.broadcast_to(compile_numpy(expression, [*start.symbols, z])(columns), ROWS)


def assert_leads_back(transformed: TransformedTarget, start: TransformedTarget) -> None:
    z = make_symbols(("z",))[0]
    np.testing.assert_allclose(values(transformed.back(z), transformed, start), start.y, rtol=1e-12)
    for column, symbol in zip(transformed.x.T, transformed.symbols, strict=True):
        np.testing.assert_allclose(values(symbol, transformed, start), column, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 1000), st.sampled_from([-3.0, 0.5]))
@settings(max_examples=10, deadline=None)
def test_every_step_to_fewer_variables_leads_back(seed, low):
    start = table(seed, low=low)
    found = steps(start)
    assert len(found) > 12
    for step in found:
        assert step.x.shape[1] == start.x.shape[1] - 1
        assert_leads_back(step, start)
        for second in steps(step):
            assert_leads_back(second, start)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_target_leads_back(target):
    start = table(3)
    # Angles have an inverse between zero and a right one.
    start = replace(start, y=np.abs(start.y) / 3.0 + 0.1)
    assert_leads_back(towards(start, target), start)
    below = replace(start, y=-start.y)
    if target.name not in ("exp y", "y^2, signed", "cos y"):
        assert_leads_back(towards(below, target), below)


def test_targets_need_their_operators_and_values_in_their_domain():
    y = np.array([1.0, 2.0, 3.0])
    assert [t.name for t in usable_targets(y, ("mul",))] == ["y"]
    signed = {"y^2, signed"}
    angles = {"sin y", "cos y", "tan y"}
    rest = {t.name for t in TARGETS} - signed - angles
    assert {t.name for t in usable_targets(y, ("exp", "log", "sqrt", "div"))} == rest
    assert {t.name for t in usable_targets(y / 2.0, ("asin", "acos", "atan"))} == {"y", "sin y", "cos y", "tan y"}
    assert {t.name for t in usable_targets(y, ("asin", "acos", "atan"))} == {"y", "cos y"}
    assert {t.name for t in usable_targets(y / 20.0, ("asin", "acos", "atan"))} == {"y"}
    assert signed <= {t.name for t in usable_targets(y - 2.5, ("sqrt", "div"))}
    assert "log y" not in {t.name for t in usable_targets(y - 2.5, ("exp",))}
    assert "1/y" not in {t.name for t in usable_targets(y - 1.0, ("div",))}


def test_logarithms_stand_beside_columns_of_one_sign():
    start = table(1, columns=3)
    x = start.x.copy()
    x[:, 1] *= -1.0
    x[:, 2] -= 1.5
    start = replace(start, x=x)
    seen = with_logs(start)
    assert seen is not None
    assert seen.x.shape[1] == 5
    assert_leads_back(seen, start)
    assert seen.is_direct


def test_without_a_column_of_one_sign_there_are_no_logarithms():
    start = table(1)
    assert with_logs(replace(start, x=start.x - 1.5)) is None


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


def moved(transformed: TransformedTarget, start: TransformedTarget, remade) -> np.ndarray:
    """How far the values move with those it was made of, by a difference."""
    step = 1e-5
    return np.abs(remade(replace(start, y=start.y + step)).y - transformed.y) / step


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_slope_of_a_target_says_how_far_noise_moves_it(target):
    start = table(3)
    start = replace(start, y=np.abs(start.y) + 0.5)
    transformed = towards(start, target)
    slope = np.broadcast_to(transformed.slope, ROWS)
    np.testing.assert_allclose(slope, moved(transformed, start, lambda base: towards(base, target)), rtol=1e-3)


def test_the_slope_of_fewer_variables_says_it_too():
    start = table(4)
    for k, step in enumerate(steps(start)):
        slope = np.broadcast_to(step.slope, ROWS)
        again = moved(step, start, lambda base, k=k: steps(base)[k])
        np.testing.assert_allclose(slope, again, rtol=1e-6)


def test_a_sample_keeps_the_slopes_of_its_rows():
    transformed = towards(table(5), next(target for target in TARGETS if target.name == "exp y"))
    few = sampled(transformed, 10)
    np.testing.assert_allclose(few.slope, few.y, rtol=1e-5)
