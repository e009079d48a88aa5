"""The choice of an instruction set is global: a test that makes one hands it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ceql import _core


@pytest.fixture
def use_instruction_set() -> Iterator[Callable[[str], None]]:
    before = _core.instruction_set()
    yield _core.use_instruction_set
    _core.use_instruction_set(before)


@pytest.fixture(params=_core.instruction_sets())
def instruction_set(request: pytest.FixtureRequest, use_instruction_set: Callable[[str], None]) -> str:
    use_instruction_set(request.param)
    return request.param
