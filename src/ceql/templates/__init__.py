"""Structured models: what is known of a formula is written down, the search finds the rest."""

from ceql.templates.complex_data import complex_template, complex_values, stacked
from ceql.templates.template import Parameter, Template, Terms, Unknown

__all__ = ["Parameter", "Template", "Terms", "Unknown", "complex_template", "complex_values", "stacked"]
