"""Formulas found without a search. Without noise, constants that enter linearly follow from one linear solve."""

from ceql.closed_form.fractions import Fraction, fraction, images, squares
from ceql.closed_form.long_sums import growing_sums
from ceql.closed_form.noisy import noisy_forms
from ceql.closed_form.policy import ClosedFormPolicy
from ceql.closed_form.products import product
from ceql.closed_form.pure import pure_law
from ceql.closed_form.shapes import shape
from ceql.closed_form.sums import sparse_sum
from ceql.closed_form.waves import wave

__all__ = [
    "ClosedFormPolicy",
    "Fraction",
    "fraction",
    "growing_sums",
    "images",
    "noisy_forms",
    "product",
    "pure_law",
    "shape",
    "sparse_sum",
    "squares",
    "wave",
]
