"""Calls that run ahead give their results to whoever asks for the same, and to nobody else."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest

from ceql.engine.ahead import Ahead, Key, Plan, Planned
from ceql.engine.fit import StopFlag


@pytest.fixture
def ahead():
    made = Ahead[str](2)
    yield made
    made.give_up()


@pytest.fixture
def wide():
    """Two calls at a time."""
    made = Ahead[str](6, 2)
    yield made
    made.give_up()


def keys(*names: object) -> Plan[str]:
    """One after the other, without a result that the next depends on."""
    for name in names:
        yield Planned("one", 1, lambda before, name=name: (name,))


def turns(chains: str, begin: str | None = None, size: int = 1) -> Plan[str]:
    """By turns of chains in which what comes next depends on what came before; the first key is the chain's name."""
    for chain in itertools.cycle(chains):
        first = begin if begin is not None and begin.startswith(chain) else chain
        yield Planned(chain, size, lambda before, first=first: (before or first,))


def longer(key: Key, stop: StopFlag) -> str:
    return f"{key[0]}x"


def until_stopped(key: Key, stop: StopFlag) -> str:
    while not stop.is_set():
        time.sleep(1e-3)
    return "stopped"


def test_it_runs_on_another_thread_and_each_is_given_once(ahead):
    ahead.follow(keys(1, 2), lambda key, stop: f"{key[0]} {threading.current_thread().name}")
    number, _, thread = ahead.result("one", (1,)).partition(" ")
    assert number == "1"
    assert thread != threading.current_thread().name
    assert ahead.is_on_course
    assert ahead.result("one", (1,)) is None  # the next one is another, so that the chain is given up
    assert ahead.result("one", (2,)) is None
    assert not ahead.is_on_course


def test_results_come_in_order_and_lead_to_the_next(ahead):
    ahead.follow(turns("a"), longer)
    text = "a"
    for _ in range(20):
        assert ahead.is_on_course
        text = ahead.result("a", (text,))
    assert text == "a" + "x" * 20


def test_chains_run_at_the_same_time_and_do_not_wait_for_each_other(wide):
    made, others = [], threading.Event()

    def call(key: Key, stop: StopFlag) -> str:
        if key[0] == "b":
            assert others.wait(10.0)
        made.append(key[0])
        if key[0] == "axx":
            others.set()
        return longer(key, stop)

    wide.follow(turns("ab"), call)
    wanted = ["a", "b", "ax", "bx", "axx", "bxx"]
    assert [wide.result(key[0], (key,)) for key in wanted] == [f"{key}x" for key in wanted]
    assert made.index("axx") < made.index("b")


def test_no_more_calls_are_made_at_once_than_allowed(wide):
    at_work, most_at_work = [], []

    def call(key: Key, stop: StopFlag) -> str:
        at_work.append(key)
        most_at_work.append(len(at_work))
        time.sleep(2e-3)
        at_work.remove(key)
        return longer(key, stop)

    wide.follow(turns("abcd"), call)
    texts = {chain: chain for chain in "abcd"}
    for _ in range(5):
        for chain in "abcd":
            texts[chain] = wide.result(chain, (texts[chain],)) or "nothing"
    assert set(texts.values()) == {chain + 5 * "x" for chain in "abcd"}
    assert max(most_at_work) == 2


def test_another_order_changes_no_result_and_the_next_plan_takes_over_what_is_there(wide):
    made: list[Key] = []

    def noted(key: Key, stop: StopFlag) -> str:
        made.append(key)
        return longer(key, stop)

    wide.follow(turns("ab"), noted)
    assert wide.result("a", ("a",)) == "ax"
    assert wide.result("a", ("ax",)) == "axx"  # before it is the turn of b
    assert not wide.is_on_course
    wide.follow(turns("ab", "axx"), noted)
    assert wide.is_on_course
    wanted = ["axx", "b", "axxx", "bx"]
    assert [wide.result(key[0], (key,)) for key in wanted] == [f"{key}x" for key in wanted]
    assert len(made) == len(set(made))


def test_what_the_next_plan_has_otherwise_is_given_up(wide):
    stopped = threading.Event()

    def call(key: Key, stop: StopFlag) -> str:
        if key[0] == "b":
            until_stopped(key, stop)
            stopped.set()
        return longer(key, stop)

    wide.follow(turns("ab"), call)
    assert wide.result("a", ("a",)) == "ax"
    wide.follow(turns("a", "ax"), call)
    assert stopped.wait(10.0)
    assert wide.result("a", ("ax",)) == "axx"
    wide.follow(turns("a", "ay"), call)  # where the chain has come to something else meanwhile
    assert wide.result("a", ("ay",)) == "ayx"


def test_a_plan_may_wait_for_what_is_under_way(wide):
    def growing() -> Plan[str]:
        there: list[str] = []
        for name in "abc":
            yield Planned(name, 1, lambda before, name=name: (name, *there), there.append)
            while name not in "".join(there):
                yield None

    wide.follow(growing(), longer)
    assert wide.result("a", ("a",)) == "ax"
    assert wide.result("b", ("b", "ax")) == "bx"
    wide.follow(growing(), longer)  # which has nothing in common with what is there
    assert [wide.result(name, key) for name, key in (("a", ("a",)), ("b", ("b", "ax")))] == ["ax", "bx"]
    assert wide.result("c", ("c", "ax", "bx")) == "cx"


def test_a_plan_that_ends_leaves_its_results(ahead):
    ahead.follow(keys(1, 2), longer)
    assert [ahead.result("one", (1,)), ahead.result("one", (2,)), ahead.result("one", (3,))] == ["1x", "2x", None]
    ahead.follow(keys(), longer)
    assert ahead.result("one", (1,)) is None


def begun_at_last(ahead: Ahead[str], plan: Plan[str], wanted: int) -> list[Key]:
    """What is begun while nobody asks."""
    begun: list[Key] = []

    def noted(key: Key, stop: StopFlag) -> str:
        begun.append(key)
        return longer(key, stop)

    ahead.follow(plan, noted)
    deadline = time.monotonic() + 10.0
    while len(begun) < wanted and time.monotonic() < deadline:
        time.sleep(1e-3)
    time.sleep(0.02)
    return begun


def test_no_more_are_begun_than_allowed(ahead):
    begun = begun_at_last(ahead, keys(*range(10)), 2)
    assert len(begun) == 2
    ahead.result("one", (0,))
    deadline = time.monotonic() + 10.0
    while len(begun) < 3 and time.monotonic() < deadline:
        time.sleep(1e-3)
    assert begun == [(0,), (1,), (2,)]


@pytest.mark.parametrize(("size", "most"), [(1, 20), (10, 4), (5, 8)])
def test_there_is_room_for_few_large_ones_or_many_small_ones(size, most):
    ahead = Ahead[str](20, 2, room=40)
    assert len(begun_at_last(ahead, turns("a", size=size), most)) == most
    ahead.give_up()


def test_another_key_gives_its_chain_up(ahead):
    ahead.follow(keys(1), until_stopped)
    assert ahead.result("one", (2,)) is None
    assert ahead.result("one", (1,)) is None


def test_another_plan_gives_it_up(ahead):
    ahead.follow(keys(1), until_stopped)
    ahead.follow(keys(2), longer)
    assert ahead.result("one", (2,)) == "2x"


def test_the_end_gives_it_up(ahead):
    ahead.follow(keys(1, 2, 3), until_stopped)
    ahead.give_up()
    assert not ahead.is_on_course


def test_an_error_comes_to_whoever_asks_for_the_result(ahead):
    def failing(key: Key, stop: StopFlag) -> str:
        raise ValueError("no")

    ahead.follow(keys(1, 2), failing)
    with pytest.raises(ValueError, match="no"):
        ahead.result("one", (1,))
    assert ahead.result("one", (2,)) is None


def test_it_runs_in_the_context_of_who_begins_it(ahead):
    with np.errstate(divide="ignore"):
        ahead.follow(keys(1), lambda key, stop: np.geterr()["divide"])
    assert ahead.result("one", (1,)) == "ignore"
