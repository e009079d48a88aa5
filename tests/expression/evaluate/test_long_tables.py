"""Long tables are worked on block by block: the same numbers as in one piece, and the same formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Symbol

from ceql.expression import compile_numpy, parametrise, parse_formula, refit, round_to_errors, snap
from ceql.expression.constants.snapping import influence
from ceql.expression.evaluate import residual_problem as problem
from ceql.expression.evaluate.residual_problem import make_problem
from ceql.operators import program

NAMES = ["x1", "x2"]
SYMBOLS = [Symbol(name, real=True) for name in NAMES]
TEXTS = [
    "1.56*x1 + 1.59*x2 - 2.91",
    "-2.05*log(1.56*x1**2 - 0.55*x1 + 2.15)",
    "(1.5*x1 + 2.48)/(2.26*x1 - 0.91*x2 + 5.94)",
    "2.31*sqrt(x1**2 + 0.24) + 0.7*sin(1.3*x2)",
]
ROWS = 500


@pytest.fixture
def small_blocks(monkeypatch):
    for module in (program, problem):
        monkeypatch.setattr(module, "BLOCK", 64)


def table(text: str, noise: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(1.0, 3.0, (ROWS, 2))
    expr = parse_formula(text, NAMES)
    y = compile_numpy(expr, SYMBOLS)(x)
    return expr, x, y + noise * rng.normal(size=ROWS), rng.uniform(0.5, 2.0, ROWS)


def posed(text: str, noise: float, seed: int = 0):
    expr, x, y, weights = table(text, noise, seed)
    form = parametrise(expr)
    return form, make_problem(form, SYMBOLS, x, y, weights)


@pytest.mark.parametrize("text", TEXTS)
def test_values_do_not_depend_on_blocks(text, small_blocks):
    expr, x, *_ = table(text, 0.0)
    function = compile_numpy(expr, SYMBOLS)
    one_by_one = np.concatenate([function(row[None]) for row in x])
    np.testing.assert_allclose(function(x), one_by_one, rtol=1e-13)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 5), st.lists(st.floats(-0.1, 0.1), min_size=8, max_size=8))
def test_few_rows_say_the_same_of_every_step(text, seed, step):
    form, whole = posed(text, 0.1, seed)
    with pytest.MonkeyPatch.context() as patch:
        residuals, jacobian = whole.linearise(form.values)
        patch.setattr(problem, "BLOCK", 64)
        few, slopes = whole.linearise(form.values)
    step = np.array(step[: len(form.values)])
    assert len(few) <= len(form.values) + 1
    assert np.sum((slopes @ step + few) ** 2) == pytest.approx(np.sum((jacobian @ step + residuals) ** 2), rel=1e-9)


@pytest.mark.parametrize("text", TEXTS)
def test_near_the_constants_the_short_problem_has_the_same_misfit(text, small_blocks):
    form, whole = posed(text, 0.1)
    near = whole.near(form.values)
    assert len(near.y) <= len(form.values) + 2
    assert (near.rows, near.power) == (whole.rows, pytest.approx(whole.power))
    assert near.misfit(form.values) == pytest.approx(whole.misfit(form.values))
    moved = form.values * (1 + 1e-5)
    rise = whole.misfit(moved) - whole.misfit(form.values)
    assert near.misfit(moved) - near.misfit(form.values) == pytest.approx(rise, rel=1e-2, abs=1e-10)


@pytest.mark.parametrize("noise", [0.0, 1e-3, 1e-2])
@pytest.mark.parametrize("text", TEXTS)
def test_same_constants_errors_and_round_numbers(text, noise, monkeypatch):
    expr, x, y, weights = table(text, noise)
    start = expr.xreplace({number: number * 1.001 for number in expr.atoms() if number.is_Float})

    def results():
        fitted = refit(start, SYMBOLS, x, y, weights)
        shown = [function(fitted.expr, SYMBOLS, x, y, weights) for function in (snap, round_to_errors)]
        return fitted, shown

    whole, shown_whole = results()
    for module in (program, problem):
        monkeypatch.setattr(module, "BLOCK", 64)
    blocks, shown_blocks = results()
    np.testing.assert_allclose(blocks.values, whole.values, rtol=1e-5 if noise else 1e-9)
    if noise:
        np.testing.assert_allclose(blocks.standard_errors, whole.standard_errors, rtol=1e-4)
        for one, other in zip(shown_blocks, shown_whole, strict=True):
            # The last digits of constants that are free are those that the last step of the fit left.
            np.testing.assert_allclose(parametrise(one).values, parametrise(other).values, rtol=1e-5)
    else:
        assert compile_numpy(shown_blocks[0], SYMBOLS)(x) == pytest.approx(y, rel=1e-12)
        assert parametrise(shown_blocks[0]).values == pytest.approx(parametrise(shown_whole[0]).values, rel=1e-12)


def test_derivatives_that_are_not_finite_are_no_influence_of_zero(small_blocks):
    form = parametrise(parse_formula("1.5*sqrt(x1 - 1.25) + 0.3", NAMES))
    x = np.full((ROWS, 2), 2.0)
    x[0, 0] = 1.25  # the root's derivative is infinite here
    whole = make_problem(form, SYMBOLS, x, np.ones(ROWS), None)
    assert np.isinf(influence(whole, form.values)).all()
    assert whole.near(form.values) is whole


def test_constants_too_loose_for_the_tangent_stay_as_they_are(small_blocks):
    """One of the five constants of this fraction is not determined, and the others hardly."""
    expr, x, y, weights = table(TEXTS[2], 0.05)
    fitted = refit(expr, SYMBOLS, x, y, weights)
    assert len(parametrise(snap(fitted.expr, SYMBOLS, x, y, weights)).values) == len(fitted.values)
