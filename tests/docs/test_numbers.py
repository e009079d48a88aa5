"""Numbers in the documentation that the code decides are those of the code.

In the text such a number is followed by a comment with the name of its field: 400<!-- turns.first_rows --> rows.
"""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import pytest

from ceql.search.policy import SearchPolicy

DOCS = Path(__file__).parents[2] / "docs"
MARKED = re.compile(r"([\w.,-]+)( %)?<!-- ([a-z_.]+) -->")
WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def number(text: str, percent: str) -> float:
    value = float(WORDS.index(text)) if text in WORDS else float(text.replace(",", ""))
    return value / 100 if percent else value


MARKS = [
    pytest.param(*match.groups(default=""), id=f"{path.name}-{match[3]}")
    for path in sorted(DOCS.glob("*.md"))
    for match in MARKED.finditer(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("text", "percent", "field"), MARKS)
def test_a_number_of_the_docs_is_that_of_the_code(text, percent, field):
    assert number(text, percent) == pytest.approx(float(reduce(getattr, field.split("."), SearchPolicy())))


def test_there_are_such_numbers():
    assert len(MARKS) > 10
