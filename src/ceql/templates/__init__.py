"""Structured models: what is known of a formula is written down, the search finds the rest."""

from ceql.templates.template import Parameter, Template, Terms, Unknown

__all__ = ["Parameter", "Template", "Terms", "Unknown"]
