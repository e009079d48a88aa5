"""Formulas as numbers: values, derivatives by the constants, domains and poles."""
