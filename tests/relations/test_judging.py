"""What is no relation: identities, surfaces that are everywhere, columns without a part, copies of a known one."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.expression import parse_formula
from ceql.relations.finishing import Finished, scored, thickness
from ceql.relations.fitting import fitted, measured
from ceql.relations.judging import is_another, leaves_a_pattern, leaves_room, verdict_on
from ceql.relations.policy import POLICY
from ceql.relations.rows import Rows
from ceql.relations.surface import Equation, put_onto

NAMES = ("x", "y", "z")


def equation(left: str, right: str) -> Equation:
    return Equation(parse_formula(left, NAMES), parse_formula(right, NAMES))


def plane(noise: float, seed: int = 0, count: int = 200) -> Rows:
    """z = x + y**2, noise in z alone."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0.0, 2.0, (2, count))
    return Rows.of(np.column_stack([x, y, x + y**2 + noise * rng.normal(size=count)]), NAMES)


def found_in(rows: Rows, left: str, right: str) -> Finished:
    fit = measured(equation(left, right), rows, POLICY.fitting)
    assert fit is not None
    return scored(fit, rows, POLICY)


def test_the_truth_holds():
    rows = plane(0.02)
    verdict = verdict_on(found_in(rows, "z", "x + y**2"), rows, POLICY)
    assert verdict.fault == ""
    assert verdict.share > 0.99


@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_the_share_of_a_column_is_r2(noise):
    rows = plane(noise, count=2000)
    shares = dict(verdict_on(found_in(rows, "z", "x + y**2"), rows, POLICY).shares)
    left = rows.x[:, 2] - rows.x[:, 0] - rows.x[:, 1] ** 2
    assert shares[2] == pytest.approx(1.0 - np.mean(left**2) / np.var(rows.x[:, 2]), abs=0.01)


@pytest.mark.parametrize(
    ("left", "right", "why"),
    [
        ("x**2", "2*x - 1", "one column"),
        ("z", "x - y", "shuffled"),
        ("z", "3 + 3*sin(2000*x)", "everywhere"),
        ("x*y", "x*y*z/z", "one column"),  # nothing is left of it
    ],
)
def test_what_says_nothing_is_refused(left, right, why):
    rows = plane(0.01)
    assert why in verdict_on(found_in(rows, left, right), rows, POLICY).fault


def test_what_does_not_hold_elsewhere_is_refused():
    rows, others = plane(0.0), plane(0.1, seed=1)
    assert "held out" in verdict_on(found_in(rows, "z", "x + y**2"), others, POLICY).fault


def test_a_square_is_not_nearer_than_what_it_is_a_square_of():
    rows = plane(0.03)
    one = found_in(rows, "z", "x + y**2")
    square = found_in(rows, "z**2", "2*z*(x + y**2) - (x + y**2)**2")
    assert square.fit.distance < one.fit.distance
    assert thickness(one.fit, rows, POLICY) == 1.0
    assert square.fit.distance / thickness(square.fit, rows, POLICY) > 0.7 * one.fit.distance
    assert square.criterion > one.criterion


def test_what_follows_from_a_relation_is_no_other():
    rows = put_onto([equation("z", "x + y**2")], plane(0.02), POLICY.fitting.flat, 3)
    assert not is_another(equation("z*x", "x**2 + x*y**2"), rows, POLICY)
    assert is_another(equation("x", "y"), rows, POLICY)


def test_independent_columns_leave_no_room_for_a_second_relation():
    rows = plane(0.02)
    assert not leaves_room([equation("z", "x + y**2")], rows, POLICY.judging)
    beside = rows.at(np.column_stack([rows.x[:, 0], rows.x[:, 0] ** 2, rows.x[:, 1]]))
    assert not leaves_room([equation("y", "x**2")], beside, POLICY.judging)
    curve = rows.at(np.column_stack([rows.x[:, 0], rows.x[:, 0] ** 2, rows.x[:, 0] ** 3]))
    assert leaves_room([equation("y", "x**2")], curve, POLICY.judging)


def test_what_is_missing_shows_as_a_pattern():
    rows = plane(0.02)
    whole = fitted(equation("z", "1.1*x + y**2"), rows, POLICY.fitting)
    part = fitted(equation("z", "1.1*x + 2.1*y - 0.6"), rows, POLICY.fitting)
    assert whole is not None
    assert part is not None
    assert not leaves_a_pattern(scored(whole, rows, POLICY), rows, POLICY)
    assert leaves_a_pattern(scored(part, rows, POLICY), rows, POLICY)
