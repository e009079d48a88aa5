"""What a user asked `ceql bench` for, as typed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """The arguments of `ceql bench`; empty text and None stand for the suite's own."""

    suite: str
    problems: str
    methods: str
    seeds: str
    time_limit: float | None
    jobs: int
    json: Path | None
    markdown: Path | None
    latex: Path | None
    resume: bool
    noise: str = ""
