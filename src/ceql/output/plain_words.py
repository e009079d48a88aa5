"""Rewords sentences of the library that name parameters, for pages that do not show parameters."""

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
