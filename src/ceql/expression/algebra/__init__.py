"""Formulas as polynomials and fractions over building blocks: the rewrites that look for a shorter form."""
