"""Formulas without a search: what is linear in its constants is one step of linear algebra, if there is no noise."""

from ceql.closed_form.fractions import Fraction, fraction, images
from ceql.closed_form.noisy import proposals
from ceql.closed_form.products import product
from ceql.closed_form.sums import sparse_sum

__all__ = ["Fraction", "fraction", "images", "product", "proposals", "sparse_sum"]
