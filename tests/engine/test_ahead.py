"""Calls that run ahead give their results to whoever asks for the same in the same order, and to nobody else."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest

from ceql.engine.ahead import Ahead, Key, Plan
from ceql.engine.fit import StopFlag


@pytest.fixture
def ahead():
    made = Ahead[str](2)
    yield made
    made.give_up()


def keys(*names: object) -> Plan[str]:
    """One after the other, without a result that the next depends on."""
    for name in names:
        yield "one", lambda before, name=name: (name,)


def counting(*chains: str) -> Plan[str]:
    """By turns of chains in which what comes next depends on what came before."""
    for chain in itertools.cycle(chains):
        yield chain, lambda before, chain=chain: (before or chain,)


def longer(key: Key, stop: StopFlag) -> str:
    return f"{key[0]}x"


def until_stopped(key: Key, stop: StopFlag) -> str:
    while not stop.is_set():
        time.sleep(1e-3)
    return "stopped"


def test_it_runs_on_another_thread_and_each_is_given_once(ahead):
    ahead.begin(keys(1, 2), lambda key, stop: f"{key[0]} {threading.current_thread().name}")
    number, _, thread = ahead.result((1,)).partition(" ")
    assert number == "1"
    assert thread != threading.current_thread().name
    assert ahead.result((1,)) is None  # the next one is another, so that all is given up
    assert ahead.result((2,)) is None
    assert not ahead.is_running


def test_results_come_in_order_and_lead_to_the_next(ahead):
    ahead.begin(counting("a"), longer)
    text = "a"
    for _ in range(20):
        assert ahead.is_running
        text = ahead.result((text,))
    assert text == "a" + "x" * 20


def test_chains_run_at_the_same_time_and_do_not_wait_for_each_other():
    made, others = [], threading.Event()

    def call(key: Key, stop: StopFlag) -> str:
        if key[0] == "b":
            assert others.wait(10.0)
        made.append(key[0])
        if key[0] == "axx":
            others.set()
        return longer(key, stop)

    ahead = Ahead[str](6, 2)
    ahead.begin(counting("a", "b"), call)
    wanted = ["a", "b", "ax", "bx", "axx", "bxx"]
    assert [ahead.result((key,)) for key in wanted] == [f"{key}x" for key in wanted]
    assert made.index("axx") < made.index("b")
    ahead.give_up()


def test_no_more_calls_are_made_at_once_than_allowed():
    at_work, most_at_work = [], []

    def call(key: Key, stop: StopFlag) -> str:
        at_work.append(key)
        most_at_work.append(len(at_work))
        time.sleep(2e-3)
        at_work.remove(key)
        return longer(key, stop)

    ahead = Ahead[str](8, 2)
    ahead.begin(counting("a", "b", "c", "d"), call)
    texts = {chain: chain for chain in "abcd"}
    for _ in range(5):
        for chain in "abcd":
            texts[chain] = ahead.result((texts[chain],)) or "nothing"
    assert set(texts.values()) == {chain + 5 * "x" for chain in "abcd"}
    assert max(most_at_work) == 2
    ahead.give_up()


def test_a_plan_that_ends_leaves_its_results(ahead):
    ahead.begin(keys(1, 2), longer)
    assert [ahead.result((1,)), ahead.result((2,)), ahead.result((3,))] == ["1x", "2x", None]
    ahead.begin(keys(), longer)
    assert ahead.result((1,)) is None


def test_no_more_are_begun_than_allowed(ahead):
    begun = []

    def noted(key: Key, stop: StopFlag) -> str:
        begun.append(key)
        return "done"

    ahead.begin(keys(*range(10)), noted)
    deadline = time.monotonic() + 10.0
    while len(begun) < 2 and time.monotonic() < deadline:
        time.sleep(1e-3)
    time.sleep(0.02)
    assert len(begun) == 2
    ahead.result((0,))
    while len(begun) < 3 and time.monotonic() < deadline:
        time.sleep(1e-3)
    assert begun == [(0,), (1,), (2,)]


def test_another_key_gives_it_up(ahead):
    ahead.begin(keys(1), until_stopped)
    assert ahead.result((2,)) is None
    assert ahead.result((1,)) is None


def test_another_plan_gives_it_up(ahead):
    ahead.begin(keys(1), until_stopped)
    ahead.begin(keys(2), longer)
    assert ahead.result((2,)) == "2x"


def test_the_end_gives_it_up(ahead):
    ahead.begin(keys(1, 2, 3), until_stopped)
    ahead.give_up()
    assert not ahead.is_running


def test_an_error_comes_to_whoever_asks_for_the_result(ahead):
    def failing(key: Key, stop: StopFlag) -> str:
        raise ValueError("no")

    ahead.begin(keys(1, 2), failing)
    with pytest.raises(ValueError, match="no"):
        ahead.result((1,))
    assert ahead.result((2,)) is None


def test_it_runs_in_the_context_of_who_begins_it(ahead):
    with np.errstate(divide="ignore"):
        ahead.begin(keys(1), lambda key, stop: np.geterr()["divide"])
    assert ahead.result((1,)) == "ignore"
