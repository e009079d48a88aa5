"""What is done to finish a search is planned in counts, and the plan keeps to the time there is."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.engine.deadline import NEVER, Deadline, Stopwatch
from ceql.search.finishing import finishing, planned, reserve, seconds_for_simpler, sketches_within
from ceql.search.policy import FinishingPolicy, MemoryPolicy

POLICY = FinishingPolicy()
laws = settings(derandomize=True, deadline=None, max_examples=100)


@laws
@given(st.integers(0, 400), st.integers(0, 400))
def test_more_time_never_means_less_attention(one, other):
    fewer, more = (astuple(planned(sketches)) for sketches in sorted((one, other)))
    assert all(a <= b for a, b in zip(fewer, more, strict=True))
    assert all(a <= b <= c for a, b, c in zip(astuple(POLICY.least), fewer, astuple(POLICY.everything), strict=True))


@laws
@given(st.floats(0.1, 1e5), st.integers(2, 10**7))
def test_a_long_table_gets_more_time_and_fewer_formulas(time_limit, rows):
    assert reserve(time_limit, 2) <= reserve(time_limit, rows) <= 0.75 * time_limit
    assert sketches_within(1.0, rows) <= sketches_within(1.0, 2)


@laws
@given(st.floats(0.1, 1e5), st.integers(2, 10**5), st.integers(1, 200))
def test_a_wide_table_gets_more_time_and_no_more_formulas(time_limit, rows, columns):
    assert reserve(time_limit, rows) <= reserve(time_limit, rows, columns=columns) <= 0.75 * time_limit
    assert sketches_within(1.0, rows, columns=columns) <= sketches_within(1.0, rows)


def test_what_is_kept_for_a_wide_table_is_more():
    assert reserve(60.0, 700, columns=57) > 2.0 * reserve(60.0, 700)


def test_a_time_limit_that_is_far_away_plays_no_part():
    assert finishing(3600.0, Deadline.after(3000.0), 1000) == finishing(60.0, NEVER, 1000) == POLICY.everything


@pytest.mark.parametrize("time_limit", [0.1, 1.0, 10.0, 60.0, 3600.0])
def test_when_the_time_is_up_the_plan_is_that_of_the_reserve(time_limit):
    plan = finishing(time_limit, Deadline.after(-5.0), 200)
    assert plan == finishing(time_limit, Deadline.after(reserve(time_limit, 200) - 1e-3), 200)
    assert plan == planned(sketches_within(reserve(time_limit, 200), 200))


def test_the_time_for_simpler_numbers_is_a_share_of_the_limit_up_to_a_few_sketches():
    assert seconds_for_simpler(1.0, 100) == pytest.approx(POLICY.reserved_simpler)
    assert seconds_for_simpler(1e6, 100) < seconds_for_simpler(1e6, 100_000) < seconds_for_simpler(1e9, 10**9)


def test_a_deadline_is_over_once():
    assert NEVER.left == float("inf")
    assert not NEVER.over
    assert Deadline.after(-1.0).over
    assert not Deadline.after(3600.0).over
    assert Deadline.after(3600.0).earlier(7200.0).over
    assert (NEVER.of_a_fit, Deadline.after(float("inf")).of_a_fit) == (0.0, 0.0)  # none
    assert Deadline.after(-5.0).of_a_fit > 0.0


def test_a_stopwatch_with_a_head_start():
    watch = Stopwatch().ahead(100.0)
    assert watch.seconds >= 100.0
    assert watch.until(50.0).over
    assert not watch.until(3600.0).over


def test_halfway_to_a_deadline():
    assert NEVER.halfway.left == float("inf")
    assert 1700.0 < Deadline.after(3600.0).halfway.left < 1801.0
    assert Deadline.after(-1.0).halfway.over


def test_memory_is_a_share_of_the_machine_up_to_a_limit():
    policy = MemoryPolicy(share=0.25, most=4e9, copies=8)
    assert policy.rows(10, machine=4e9) == int(1e9 / 640)
    assert policy.rows(10, machine=1e12) == int(4e9 / 640)
    assert policy.rows(20, machine=4e9) < policy.rows(10, machine=4e9)
    assert policy.rows(10) > 0
