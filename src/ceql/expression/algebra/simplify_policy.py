"""Every number that decides which forms of a formula are tried, and how their constants are judged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SimplifyPolicy:
    """How wide the search for another form is; how long it may take is said by an `Effort`."""

    samples: int = 48  # points at which a part of a formula is compared with its forms
    most_rows: int = 1500  # of the data at which the whole is compared: enough to catch a wrong rewrite
    value_tolerance: float = 1e-9  # relative difference of values that are the same
    forms_written: int = 8  # of the shortest drafts of a fraction that become formulas
    folded_forms: int = 3  # of the shortest forms in which constants are moved in and out of functions
    scales_tried: int = 6  # coefficients of an argument that are made one
    deepest_fraction: int = 3  # fractions within fractions
    highest_partial_degree: int = 8  # of a denominator that is split into partial fractions
    most_terms_turned_over: int = 5  # of a denominator in several variables that is divided by its numerator
    most_terms_for_search: int = 14  # of a polynomial of which every variable is taken out once, and squares completed
    most_terms_for_scales: int = 5  # of a polynomial of which every coefficient is made one; of a longer one, two
    largest_power: int = 24  # that is multiplied out
    largest_log_power: int = 4  # n in log(u) + n*log(v) = log(u*v**n)
    most_terms_of_square: int = 300  # of a part of a fraction, multiplied out, that may be a perfect square
    same_coefficients: float = 1e-6  # relative difference of coefficients that are the same in a perfect square
    accuracies: tuple[float, ...] = (1e-12, 1e-9)  # to which constants agree with short ones, one after the other
    accuracies_with_data: tuple[float, ...] = (1e-12, 1e-9, 1e-7)  # the same where data judge the result
    most_digits: int = 5  # of a short constant
    forms_tried: int = 8  # of the most readable forms in which constants are moved
    largest_reference: int = 999  # hundredths that the smallest of several coefficients becomes
    largest_coefficient: int = 9999  # hundredths that any of them becomes
    likely_chance: float = 0.01  # that a scale makes all of them short by luck
    most_scales: int = 24  # that are offered


SIMPLIFY = SimplifyPolicy()
