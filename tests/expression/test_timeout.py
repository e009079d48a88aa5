"""Time limits in the main thread and in others."""

import threading
import time

import pytest

from ceql.expression import TimeLimitExceeded, call_with_limit


def endless():
    while True:
        try:
            sum(range(100))
        except Exception:
            continue


def test_result_passes_through():
    assert call_with_limit(lambda: 42, 5.0) == 42


def test_errors_pass_through():
    with pytest.raises(KeyError):
        call_with_limit(lambda: {}["missing"], 5.0)


def test_endless_work_is_stopped_even_if_it_catches_everything():
    start = time.monotonic()
    with pytest.raises(TimeLimitExceeded):
        call_with_limit(endless, 0.05)
    assert time.monotonic() - start < 5.0


def test_no_time_is_refused():
    with pytest.raises(TimeLimitExceeded):
        call_with_limit(lambda: 1, 0.0)


def test_works_in_another_thread_and_nested():
    outcomes = []

    def work():
        def inner():
            with pytest.raises(TimeLimitExceeded):
                call_with_limit(endless, 0.05)
            return "outer lives"

        outcomes.append(call_with_limit(inner, 20.0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert outcomes == ["outer lives"]


def test_no_interrupt_arrives_late():
    for _ in range(200):
        try:
            call_with_limit(lambda: sum(range(300)), 1e-5)
        except TimeLimitExceeded:
            continue
    time.sleep(0.01)
