"""Errors of a benchmark before it runs."""

from __future__ import annotations

from ceql.errors import CeqlError


class BenchError(CeqlError):
    """A benchmark cannot run as asked."""


class SuiteError(BenchError):
    """A suite or problem is unknown, badly written or cannot be sampled."""


class MethodError(BenchError):
    """A method is unknown, not installed, badly configured or not suited to the problem."""


class RecordError(BenchError):
    """A file of records cannot be read or written."""
