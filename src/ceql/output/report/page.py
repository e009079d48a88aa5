"""The whole page."""

from __future__ import annotations

from ceql.output.report import sections
from ceql.output.report.markup import escape
from ceql.output.report.stylesheet import STYLE
from ceql.output.report.subject import Subject

_PARTS = (
    sections.header,
    sections.domain,
    sections.front,
    sections.fit,
    sections.behaviour,
    sections.constants,
    sections.how_found,
    sections.reproduction,
)


def report_page(subject: Subject) -> str:
    """One HTML document that refers to nothing outside itself."""
    body = "\n".join(part(subject) for part in _PARTS)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A formula for {escape(subject.target)}</title>
<style>{STYLE}</style>
</head>
<body>
{body}
</body>
</html>
"""
