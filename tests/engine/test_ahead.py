"""A call that runs ahead gives its result to whoever asks for the same, and to nobody else."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from ceql.engine.ahead import Ahead
from ceql.engine.fit import StopFlag


@pytest.fixture
def ahead():
    made = Ahead[str]()
    yield made
    made.close()


def until_stopped(stop: StopFlag) -> str:
    while not stop.is_set():
        time.sleep(1e-3)
    return "stopped"


def test_it_runs_on_another_thread_and_is_given_once(ahead):
    key = object(), 3
    ahead.begin(key, lambda stop: threading.current_thread().name)
    assert ahead.result(key) != threading.current_thread().name
    assert ahead.result(key) is None


def test_another_key_gives_it_up(ahead):
    ahead.begin((1,), until_stopped)
    assert ahead.result((2,)) is None
    assert ahead.result((1,)) is None


def test_another_call_gives_it_up(ahead):
    ahead.begin((1,), until_stopped)
    ahead.begin((2,), lambda stop: "second")
    assert ahead.result((2,)) == "second"


def test_the_end_gives_it_up(ahead):
    ahead.begin((1,), until_stopped)
    ahead.close()


def test_an_error_comes_to_whoever_asks_for_the_result(ahead):
    def failing(stop: StopFlag) -> str:
        raise ValueError("no")

    ahead.begin((1,), failing)
    with pytest.raises(ValueError, match="no"):
        ahead.result((1,))


def test_it_runs_in_the_context_of_who_begins_it(ahead):
    with np.errstate(divide="ignore"):
        ahead.begin((1,), lambda stop: np.geterr()["divide"])
    assert ahead.result((1,)) == "ignore"
