"""Structured models: the user writes down the known part of a formula, and the search finds the rest."""

from ceql.templates.template import Parameter, Template, Terms, Unknown

__all__ = ["Parameter", "Template", "Terms", "Unknown"]
