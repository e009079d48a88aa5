"""The numbers that decide which forms of a formula are tried, and how their constants are judged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SimplifyPolicy:
    """How widely another form is searched; an `Effort` limits the work."""

    samples: int = 48  # points at which a part of a formula is compared with its forms
    most_rows: int = 1500  # rows on which the whole formula is compared: enough to catch a wrong rewrite
    value_tolerance: float = 1e-9  # relative difference up to which values count as equal
    forms_written: int = 8  # shortest drafts of a fraction that become formulas
    folded_forms: int = 3  # shortest forms in which constants are moved in and out of functions
    scales_tried: int = 6  # coefficients of an argument that are made one
    deepest_fraction: int = 3  # deepest nesting of fractions within fractions
    highest_partial_degree: int = 8  # highest degree of a denominator that is split into partial fractions
    most_terms_turned_over: int = 5  # most terms of a denominator in several variables that its numerator may divide
    most_terms_for_search: int = 14  # up to this many terms, each variable is factored out and squares are completed
    most_terms_for_scales: int = 5  # up to this many terms, every coefficient is made one; with more terms, only two
    largest_power: int = 24  # largest power that is multiplied out
    largest_log_power: int = 4  # largest n in log(u) + n*log(v) = log(u*v**n)
    most_terms_of_square: int = 300  # most terms, multiplied out, of a part of a fraction tested for a perfect square
    same_coefficients: float = 1e-6  # relative difference up to which coefficients of a perfect square count as equal
    accuracies: tuple[float, ...] = (1e-12, 1e-9)  # accuracies, tried in order, for replacing constants by short ones
    accuracies_with_data: tuple[float, ...] = (1e-12, 1e-9, 1e-7)  # the same if there are data to check the result
    most_digits: int = 5  # most digits of a short constant
    forms_tried: int = 8  # most readable forms in which constants are moved
    largest_reference: int = 999  # largest value, in hundredths, of the smallest coefficient after scaling
    largest_coefficient: int = 9999  # largest value, in hundredths, of any coefficient after scaling
    likely_chance: float = 0.01  # largest chance that a scale makes all coefficients short by luck
    most_scales: int = 24  # most scales that are returned


SIMPLIFY = SimplifyPolicy()
