"""A search leaves lines with the logger `ceql`, and nothing else happens because of them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from ceql import Dataset, Discovery, Settings, discover, recipes
from ceql.discovery import Progress
from ceql.search.logged import log_beginning

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 3, (40, 1))
TABLE = Dataset.of(X, np.exp(X[:, 0]) + 0.05 * RNG.normal(size=40))
SHORT = Settings(operators=("mul", "exp"), max_starts=64, time_limit=30.0, threads=1, catalogue=False)


class Lines(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def at(self, level: int) -> list[str]:
        return [record.getMessage() for record in self.records if record.levelno == level]


@contextmanager
def listening(level: int) -> Iterator[Lines]:
    logger, lines = logging.getLogger("ceql"), Lines()
    logger.addHandler(lines)
    logger.setLevel(level)
    try:
        yield lines
    finally:
        logger.setLevel(logging.NOTSET)
        logger.removeHandler(lines)


@pytest.fixture(scope="module")
def heard() -> tuple[Discovery, list[Progress], Lines]:
    told: list[Progress] = []
    with listening(logging.DEBUG) as lines:
        return discover(TABLE, SHORT, told.append), told, lines


def test_beginning_and_end_are_told_at_info(heard: tuple[Discovery, list[Progress], Lines]) -> None:
    found, _, lines = heard
    begins, ends = lines.at(logging.INFO)
    assert "40 rows, 1 columns, recipe search, time limit 30 s, seed 0" in begins
    assert found.outcome.name in ends
    assert f"{found.starts} starts" in ends


def test_every_report_is_a_line_at_debug(heard: tuple[Discovery, list[Progress], Lines]) -> None:
    _, told, lines = heard
    rounds = lines.at(logging.DEBUG)
    assert len(rounds) == len(told) > 1
    for line, progress in zip(rounds, told, strict=True):
        assert f"{progress.starts} starts, loss {progress.best_loss:.3g}" in line
        assert progress.formula is not None
        assert progress.formula() in line


def test_lines_change_no_formula(heard: tuple[Discovery, list[Progress], Lines]) -> None:
    with listening(logging.WARNING) as lines:
        silent = discover(TABLE, SHORT)
    assert lines.records == []
    assert [f.expression for f in silent.formulas] == [f.expression for f in heard[0].formulas]


def test_a_recipe_of_ones_own_is_named() -> None:
    with listening(logging.INFO) as lines:
        log_beginning(TABLE, Settings(recipe=replace(recipes.authors(), name="mine")))
    assert "recipe mine," in lines.at(logging.INFO)[0]


def test_the_library_sets_up_no_logging() -> None:
    assert logging.getLogger("ceql").handlers == []
    assert logging.getLogger("ceql").level == logging.NOTSET
