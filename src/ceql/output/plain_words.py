"""What the library says of its parameters, said on a page, where there are none."""

from __future__ import annotations

from ceql.errors import in_terms_of

CALLED = {
    "time_limit": "the time limit",
    "max_complexity": "the limit on nodes",
    "max_starts": "the number of starts",
    "per_group": "constants of groups",
    "constants": "constants with units:",
}


def plainly(sentence: str) -> str:
    return in_terms_of(sentence, CALLED)
