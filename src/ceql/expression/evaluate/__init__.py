"""Numerical evaluation of formulas: values, derivatives by the constants, domains and poles."""
